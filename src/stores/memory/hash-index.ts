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
 * copy costs nothing. Keys of kinds that are never looked up are left out: catalogs only walk half of their keys. Of
 * kinds that no write looks up, it has the keys that were read: most records of transactions are read once or never. A
 * kind is the first character of a key.
 *
 * For a million tables the index takes 40 MiB, a tenth of the size of the tables. A put in a batch takes 8 µs, 1 µs of
 * them for the index.
 */
export class HashIndex {
  /** Grows on first use: room for all maps would be a tenth of a fork. */
  readonly #maps: (Map<string, Value> | undefined)[] = []
  /** The kinds that were looked up, and whether new records of them are added. */
  readonly #kinds = new Map<number, boolean>()

  /** The value under `code` in `records`, which must be the newest of the store. */
  get(code: string, records: Pick<OrderedMap<Value>, 'find'>): Value | undefined {
    const known = this.#maps[mapOf(code)]?.get(code)
    if (known !== undefined) return known
    const found = records.find(code)
    if (found === undefined) return undefined
    const kind = kindOf(code)
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, false)
    // The index uses the key string of the records, so that memory holds it once.
    this.#add(found.key, found.value)
    return found.value
  }

  /** Makes the index cache new records of this kind, since writes look them up. */
  expect(code: string): void {
    this.#kinds.set(kindOf(code), true)
  }

  /** Updates the value under `code`; undefined when it was removed. */
  set(code: string, value: Value | undefined): void {
    const addsNew = this.#kinds.get(kindOf(code))
    if (addsNew === undefined) return
    const map = this.#maps[mapOf(code)]
    if (value === undefined) map?.delete(code)
    else if (addsNew || map?.has(code)) this.#add(code, value)
  }

  #add(code: string, value: Value): void {
    const at = mapOf(code)
    this.#maps[at] ??= new Map()
    this.#maps[at].set(code, value)
  }
}

/** The map for a code. The last characters decide, because codes differ most there. */
function mapOf(code: string): number {
  const last = code.length - 1
  return (code.charCodeAt(last) + 8 * code.charCodeAt(last - 1)) & (maps - 1)
}
