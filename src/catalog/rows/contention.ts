import { performance } from '../../base/time.ts'
import type { Contention, RowsContext } from './context.ts'

/*
 * A turn binds only processes that take turns. So a process remembers at which branches it met others, and takes turns
 * at these.
 */

/** How long a process takes turns at a branch after others committed to it, in milliseconds. */
const contendedMillis = 1_000

/** How long it does so after it met a slow turn, in milliseconds: the next change there may come much later. */
const slowMillis = 5_000

/** A free turn is granted sooner than this, in milliseconds. */
const shortMillis = 100

/** A wait longer than this, in milliseconds, ended without a turn: the process that holds it may be suspended. */
const longMillis = 9_000

/** How long a process asks for no turns after it waited for one in vain, in milliseconds. */
const restMillis = 10_000

/** How often a process asks whether others take turns at a branch, in milliseconds. */
export const askMillis = 250

/** Branches whose contention is remembered. */
const maxContended = 1_000

/** The name of the turns that processes take at a branch, whose key has the id of the table and the name of the branch. */
export function turnAt(key: string): string {
  return `rows/${key}`
}

/** Whether others committed to a branch a short while ago, or took a turn for it. */
export function isContended({ contended }: RowsContext, key: string): boolean {
  const known = contended.get(key)
  return known !== undefined && performance.now() < known.until
}

/** Remembers that others commit to a branch. */
export function rememberContended({ contended }: RowsContext, key: string, millis = contendedMillis): void {
  const now = performance.now()
  const until = Math.max(now + millis, contended.get(key)?.until ?? 0)
  remember(contended, key, { until, askedAt: now })
}

/** Runs work in the turn of a process at a branch where it met others. */
export function inTurnAt<T>(core: RowsContext, key: string, work: () => Promise<T>): Promise<T> {
  const asked = performance.now()
  return inProcessTurn(core, turnAt(key), () => {
    // The process that had the turn before takes turns, even if it did not commit.
    rememberWait(core, key, performance.now() - asked)
    return work()
  })
}

/** Remembers what a wait for a turn shows about the processes that had it. */
function rememberWait(core: RowsContext, key: string, millis: number): void {
  if (millis <= shortMillis) return
  if (millis <= longMillis) {
    rememberContended(core, key, slowMillis)
    return
  }
  const askedAt = performance.now() + restMillis
  remember(core.contended, key, { until: Number.NEGATIVE_INFINITY, askedAt })
}

/** Checks now and then whether a slower process takes turns, and is overtaken in them. Does not block the change. */
export function askForTurns(core: RowsContext, key: string): void {
  const { contended, store } = core
  const now = performance.now()
  const known = contended.get(key)
  if (known !== undefined && now - known.askedAt < askMillis) return
  remember(contended, key, { until: Number.NEGATIVE_INFINITY, askedAt: now })
  // A single change need not check: it does not overtake a rival again and again.
  if (known === undefined) return
  store.isTurnTaken?.(turnAt(key)).then(
    (isTaken) => {
      if (isTaken) rememberContended(core, key, slowMillis)
    },
    // The commit under way reports errors of the store.
    () => {},
  )
}

function remember(contended: Map<string, Contention>, key: string, contention: Contention): void {
  contended.delete(key)
  contended.set(key, contention)
  if (contended.size > maxContended) contended.delete(contended.keys().next().value!)
}

/** Runs work in a turn among processes, if the store supports turns, and counts the time of the wait. */
export function inProcessTurn<T>(
  { store, counts }: RowsContext,
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
