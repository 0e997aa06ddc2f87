import { setImmediate as nodeSetImmediate } from 'node:timers'
import { secretIdSource } from '../../src/base/model/ids.ts'
import { performance, runtime } from '../../src/base/time.ts'
import { countFillings, seedRandom } from './random.ts'
import { beginning, type Scheduler } from './scheduler.ts'

/** A turn of the real event loop. */
export const realTurn = (work: () => void): unknown => nodeSetImmediate(work)

/**
 * Replaces all timers, clocks and random numbers of the package by those of a scheduler, until the returned function is
 * called. The actor of the current event determines whose clock is read and who waits.
 */
export function takeOverTime(scheduler: Scheduler, seed: number): () => void {
  const { timers, dateNow } = runtime
  const { now } = performance
  runtime.timers = timersOf(scheduler)
  runtime.dateNow = () => Math.floor(beginning + scheduler.now + scheduler.current.machine.offset)
  performance.now = () => scheduler.now
  seedRandom(seed ^ 0x5eed)
  // Random bytes are buffered. Uses up those of the previous run, so that all runs begin equally.
  const fillings = countFillings()
  const use = secretIdSource(() => 0)
  while (countFillings() === fillings) use()
  return () => {
    Object.assign(runtime, { timers, dateNow })
    performance.now = now
  }
}

function timersOf(scheduler: Scheduler): NonNullable<typeof runtime.timers> {
  interface Called {
    event: { isCalledOff: boolean }
  }
  const callOff = (timer: unknown) => {
    if (timer !== undefined) (timer as Called).event.isCalledOff = true
  }
  const timer = (event: Called['event']): Called & { unref(): void } => ({ event, unref: () => {} })
  return {
    setTimeout: (work, millis = 0) => timer(scheduler.after(scheduler.current, late(millis), 'timer', work)),
    setInterval: (work, millis = 0) => {
      const by = scheduler.current
      const again = timer({ isCalledOff: false })
      const next = () => {
        again.event = scheduler.after(by, late(millis), 'interval', () => {
          next()
          work()
        })
      }
      next()
      return again
    },
    setImmediate: (work) => timer(scheduler.after(scheduler.current, 0, 'turn', work, true)),
    clearTimeout: callOff,
    clearInterval: callOff,
    clearImmediate: callOff,
  }

  /** Timers come a little late, and never at once. */
  function late(millis: number): number {
    return Math.max(1, millis) + scheduler.draw.next()
  }
}
