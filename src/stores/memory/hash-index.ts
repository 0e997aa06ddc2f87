import type { OrderedMap } from '../../base/memory/ordered-map.ts'
import type { Value } from '../../base/store/store.ts'
import { kindOf } from './code.ts'

/** A `Map` that grows is copied whole, which takes seconds for millions of entries. Many smaller maps grow fast. */
const maps = 64

/**
 * Caches the newest records of one store, by the codes of their keys. To find one of a million entries, the ordered map
 * compares twenty strings all over the memory, each a cache miss. The index takes a half to a third of that time.
 *
 * Every commit updates the index. A copy of a store begins with an empty index, which fills with what is read. So a
 * copy costs nothing. Keys of kinds that are never looked up are left out: catalogs only walk half of their keys. A
 * kind is the first character of a key.
 *
 * For a million tables the index takes 40 MiB, a tenth of the size of the tables. A put in a batch takes 8 µs, 1 µs of
 * them for the index.
 */
export class HashIndex {
  /** Grows on first use: room for all maps would be a tenth of a fork. */
  readonly #maps: (Map<string, Value> | undefined)[] = []
  readonly #kinds = new Set<number>()

  /** The value under `code` in `records`, which must be the newest of the store. */
  get(code: string, records: Pick<OrderedMap<Value>, 'find'>): Value | undefined {
    const known = this.#maps[mapOf(code)]?.get(code)
    if (known !== undefined) return known
    this.expect(code)
    const found = records.find(code)
    // The index uses the key string of the records, so that memory holds it once.
    if (found !== undefined) this.set(found.key, found.value)
    return found?.value
  }

  /** Makes the index cache keys of this kind. */
  expect(code: string): void {
    this.#kinds.add(kindOf(code))
  }

  /** Updates the value under `code`; undefined when it was removed. */
  set(code: string, value: Value | undefined): void {
    if (!this.#kinds.has(kindOf(code))) return
    const at = mapOf(code)
    if (value === undefined) {
      this.#maps[at]?.delete(code)
    } else {
      this.#maps[at] ??= new Map()
      this.#maps[at].set(code, value)
    }
  }
}

/** The map for a code. The last characters decide, because codes differ most there. */
function mapOf(code: string): number {
  const last = code.length - 1
  return (code.charCodeAt(last) + 8 * code.charCodeAt(last - 1)) & (maps - 1)
}
