import { performance } from '../../base/time.ts'
import type { CommitContext } from './context.ts'

/** Runs work in a turn among processes, if the store supports turns, and counts the time of the wait. */
export function inProcessTurn<T>(
  { store, counts }: CommitContext,
  name: string | readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  if (store.inTurn === undefined) return work()
  const asked = performance.now()
  return store.inTurn(name, () => {
    counts.turnWaits++
    counts.turnWaitMillis += performance.now() - asked
    return work()
  })
}
