import { monitorEventLoopDelay } from 'node:perf_hooks'
import { alone } from '../../base/scheduling/alone.ts'
import { clearInterval, setInterval } from '../../base/time.ts'

/** Watches how late the event loop is. */
export interface EventLoopWatch {
  /** Whether the loop was later than the limit, on average over the last second. */
  isLate(): boolean
  close(): void
}

/** Milliseconds between two looks at the event loop. */
const resolution = 10
const sampleMillis = 1_000

/** Watches for delays longer than so many milliseconds; 0 watches nothing. */
export function watchEventLoop(mostMillis: number): EventLoopWatch {
  if (mostMillis <= 0) return { isLate: () => false, close: () => {} }
  let late = false
  const histogram = monitorEventLoopDelay({ resolution })
  histogram.enable()
  const timer = alone(
    setInterval(() => {
      const { mean } = histogram
      // Without a single look within a second, the loop stood still for all of it.
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
