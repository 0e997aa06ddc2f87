import { sleep } from '../time.ts'

/** The longest turn in milliseconds. Longer work goes on without its turn. */
export const turnMillis = 5_000

/** Runs work in a turn, and calls `end` when the turn is over. */
export async function runTurn<T>(work: () => Promise<T>, end: () => void): Promise<T> {
  const done = work()
  const ended = new AbortController()
  // The timer keeps the process alive: its work may wait for what only `end` releases.
  const late = sleep(turnMillis, { signal: ended.signal })
  try {
    await Promise.race([done, late])
  } catch {
    // The returned promise reports the failure.
  } finally {
    ended.abort()
  }
  end()
  return done
}
