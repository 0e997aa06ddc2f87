import type { Core } from '../catalog/core.ts'
import { performance } from '../time.ts'

/*
 * A turn binds only those who take it. So a process remembers at which branches it met others, and takes turns at these.
 */

/** What a process knows of others that change a branch, in milliseconds of `performance.now`. */
export interface Contention {
  /** How long the process takes turns there. */
  readonly until: number
  /** When the process last asked. */
  readonly askedAt: number
}

/** How long a process takes turns at a branch after others committed to it, in milliseconds. */
const contendedMillis = 1_000

/** How long it does so after it heard of a turn that takes long, in milliseconds: its next change may come much later. */
const slowMillis = 5_000

/** How often a process asks whether others take turns at a branch, in milliseconds. */
export const askMillis = 250

/** Branches whose contention is remembered. */
const mostContended = 1_000

/** The name of the turns that processes take at a branch, whose key has the id of the table and the name of the branch. */
export function turnAt(key: string): string {
  return `rows/${key}`
}

/** Whether others committed to a branch a short while ago, or took a turn for it. */
export function isContended({ contended }: Core, key: string): boolean {
  const known = contended.get(key)
  return known !== undefined && performance.now() < known.until
}

/** Remembers that others commit to a branch. */
export function rememberContended({ contended }: Core, key: string, millis = contendedMillis): void {
  const now = performance.now()
  const until = Math.max(now + millis, contended.get(key)?.until ?? 0)
  remember(contended, key, { until, askedAt: now })
}

/** Remembers that somebody has turns at a branch who may be slow. */
export function rememberSlow(core: Core, key: string): void {
  rememberContended(core, key, slowMillis)
}

/** Finds out now and then whether a slower process takes turns, and is overtaken in them. Nobody waits for it. */
export function askForTurns(core: Core, key: string): void {
  const { contended, store } = core
  const now = performance.now()
  const known = contended.get(key)
  if (known !== undefined && now - known.askedAt < askMillis) return
  remember(contended, key, { until: Number.NEGATIVE_INFINITY, askedAt: now })
  // A single change need not know: it has no rival that it overtakes again and again.
  if (known === undefined) return
  store.isTurnTaken?.(turnAt(key)).then(
    (isTaken) => {
      if (isTaken) rememberSlow(core, key)
    },
    // The commit under way tells what is wrong with the store.
    () => {},
  )
}

function remember(contended: Core['contended'], key: string, contention: Contention): void {
  contended.delete(key)
  contended.set(key, contention)
  if (contended.size > mostContended) contended.delete(contended.keys().next().value!)
}
