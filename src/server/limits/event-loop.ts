import { monitorEventLoopDelay } from 'node:perf_hooks'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { clearInterval, setInterval } from '../../base/time.ts'

/** Measures the delay of the event loop. */
export interface EventLoopWatch {
  /** Whether the average delay of the last second was above the limit. */
  isLate(): boolean
  close(): void
}

/** The sampling interval of the histogram, in milliseconds. */
const resolution = 10
const sampleMillis = 1_000

/** Watches for average delays above `mostMillis` milliseconds; 0 disables the watch. */
export function watchEventLoop(mostMillis: number): EventLoopWatch {
  if (mostMillis <= 0) return { isLate: () => false, close: () => {} }
  let late = false
  const histogram = monitorEventLoopDelay({ resolution })
  histogram.enable()
  const timer = unrefTimer(
    setInterval(() => {
      const { mean } = histogram
      // Without a sample in a second, the loop was blocked for all of it.
      late = Number.isNaN(mean) || mean / 1e6 - resolution > mostMillis
      histogram.reset()
    }, sampleMillis),
  )
  return {
    isLate: () => late,
    close: () => {
      clearInterval(timer)
      histogram.disable()
    },
  }
}
