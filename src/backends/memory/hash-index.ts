import type { Value } from '../../store/store.ts'
import type { Found } from './tree.ts'

/** A map that grows is copied whole, which takes seconds for millions of entries: of many maps, each is soon done. */
const maps = 64

/** An ordered tree of entries, or a change of one under way. */
interface Entries {
  find(code: string): Found | undefined
}

/**
 * Remembers what the newest entries of one store hold, by the codes of their keys. Finding one in a tree of a million
 * takes twenty comparisons with strings that lie all over the memory, each a cache miss; here it takes four or five.
 * What is put is remembered at once, what a copy of a store began with when it is read: so copies go on costing
 * nothing. Kinds of keys that nobody asks for, by the character they begin with, are left out: half of what a catalog
 * puts is there to be walked.
 */
export class HashIndex {
  readonly #maps: (Map<string, Value> | undefined)[] = new Array(maps)
  readonly #asked = new Set<number>()

  /** What `entries`, those this index is kept of, hold under `code`. */
  get(code: string, entries: Entries): Value | undefined {
    const known = this.#maps[mapOf(code)]?.get(code)
    if (known !== undefined) return known
    this.#asked.add(kindOf(code))
    const found = entries.find(code)
    // The tree's own string, so that no second one is kept.
    if (found !== undefined) this.put(found.code, found.value)
    return found?.value
  }

  put(code: string, value: Value): void {
    if (!this.#asked.has(kindOf(code))) return
    const at = mapOf(code)
    this.#maps[at] ??= new Map()
    this.#maps[at].set(code, value)
  }

  remove(code: string): void {
    this.#maps[mapOf(code)]?.delete(code)
  }
}

/** The first character of a key's first part. */
function kindOf(code: string): number {
  return code.charCodeAt(1)
}

/**
 * Which map a code is in: by its last characters, in which codes differ most. Looking at one also makes the code a
 * string in one piece, which maps find in half the time.
 */
function mapOf(code: string): number {
  const last = code.length - 1
  return (code.charCodeAt(last) + 8 * code.charCodeAt(last - 1)) & (maps - 1)
}
