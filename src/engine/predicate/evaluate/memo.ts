import type { Scalar } from '../plan/plan.ts'
import { bytesOf } from './scalar.ts'

/** The most bytes of cached values in all memos of a thread. */
const maxRemembered = 32 << 20
/** Bytes of an entry besides those of its value. */
const entryBytes = 64

/** The memos with cached values, in the order in which they got their first one. */
const memos = new Set<Memo>()
let remembered = 0

/**
 * A cache of values by number, such as results for the entries of a dictionary. Values are dropped when all memos
 * together take too much memory, so the caller must be able to compute each of them again.
 */
export class Memo {
  readonly #values = new Map<number, Scalar>()
  #bytes = 0

  /** The cached value, if any. */
  get(key: number): Scalar | undefined {
    return this.#values.get(key)
  }

  set(key: number, value: Scalar): void {
    const bytes = entryBytes + bytesOf(value)
    if (bytes > maxRemembered) return
    while (remembered + bytes > maxRemembered) for (const first of memos) if (first.#forget()) break
    this.#values.set(key, value)
    this.#bytes += bytes
    remembered += bytes
    memos.add(this)
  }

  #forget(): boolean {
    this.#values.clear()
    remembered -= this.#bytes
    this.#bytes = 0
    return memos.delete(this)
  }
}
