import { onTestFinished } from 'vitest'
import { runtime } from '../../../src/base/time.ts'

/** Holds timers of so many milliseconds back until it is called. */
export function holdTimers(millis: number): () => void {
  const own = runtime.timers!
  const held: (() => void)[] = []
  const setTimeout: typeof own.setTimeout = (work, after) => {
    if (after !== millis) return own.setTimeout(work, after)
    held.push(work)
    return {}
  }
  runtime.timers = { ...own, setTimeout }
  onTestFinished(() => {
    runtime.timers = own
  })
  return () => {
    for (const work of held.splice(0)) work()
  }
}
