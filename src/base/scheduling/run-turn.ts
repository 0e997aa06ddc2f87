import { sleep } from '../time.ts'

/** A turn ends after so many milliseconds. Its work goes on without it then. */
export const turnMillis = 5_000

/** Runs work in a turn that processes take, and calls `end` when the turn is over. */
export async function runTurn<T>(work: () => Promise<T>, end: () => void): Promise<T> {
  const done = work()
  const ended = new AbortController()
  // It keeps the process, whose work may wait for what only `end` gives back.
  const late = sleep(turnMillis, { signal: ended.signal })
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
