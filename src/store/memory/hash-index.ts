import type { Value } from '../store.ts'
import type { OrderedTree } from './tree.ts'

/** A map that grows is copied whole, which takes seconds for millions of entries: of many maps, each is soon done. */
const maps = 64

/**
 * Remembers what the newest tree of one store holds, by the codes of keys. Finding an entry in a tree of a million
 * takes twenty comparisons with strings that lie all over the memory, each a cache miss: two to three times as long as
 * here. Every commit tells what it changed, and what a copy of a store began with is remembered when it is read: so
 * copies go on costing nothing. Kinds of keys that nobody looks for, by the character they begin with, are left out:
 * half of what a catalog puts is there to be walked. For a million tables it takes 40 MiB, a tenth of what they take,
 * and a put in a batch takes 1 µs more, of eight.
 */
export class HashIndex {
  readonly #maps: (Map<string, Value> | undefined)[] = new Array(maps)
  readonly #kinds = new Set<number>()

  /** What `tree`, the one this index is of, holds under `code`. */
  get(code: string, tree: OrderedTree): Value | undefined {
    const known = this.#maps[mapOf(code)]?.get(code)
    if (known !== undefined) return known
    this.expect(code)
    const found = tree.find(code)
    // The tree's own string, so that no second one is kept.
    if (found !== undefined) this.set(found.code, found.value)
    return found?.value
  }

  /** Says that keys of this kind are looked for. */
  expect(code: string): void {
    this.#kinds.add(kindOf(code))
  }

  /** Takes in that the tree holds another value under `code`, or none. */
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

/** The first character of a key's first part. */
function kindOf(code: string): number {
  return code.charCodeAt(1)
}

/** Which map a code is in: by its last characters, in which codes differ most. */
function mapOf(code: string): number {
  const last = code.length - 1
  return (code.charCodeAt(last) + 8 * code.charCodeAt(last - 1)) & (maps - 1)
}
