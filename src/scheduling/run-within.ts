import { setTimeout as sleep } from 'node:timers/promises'

/** Runs work, and calls `end` after it, or after so many milliseconds, when the work goes on alone. */
export async function runWithin<T>(work: () => Promise<T>, millis: number, end: () => void): Promise<T> {
  const done = work()
  const ended = new AbortController()
  // It keeps the process, whose work may wait for what only `end` gives back.
  const late = sleep(millis, undefined, { signal: ended.signal })
  try {
    await Promise.race([done, late])
  } catch {
    // The caller learns how the work failed.
  } finally {
    ended.abort()
  }
  end()
  return done
}
