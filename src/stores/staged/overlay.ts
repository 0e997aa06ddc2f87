import { MapEdit, OrderedMap } from '../../base/memory/ordered-map.ts'
import type { Key, Value } from '../../base/store/store.ts'

/** A staged change. */
export interface Staged {
  readonly key: Key
  /** Undefined when the record is removed. */
  readonly value: Value | undefined
  /** The group of records that the value depends on, if it depends on partial reads only. */
  readonly group: string | undefined
}

interface Undo {
  readonly code: string
  readonly before: Staged | undefined
}

/** The most changes, besides one for each record, that wait for their place in the order. */
const mostBehind = 1_000

/** The staged changes, by the codes of their keys. The changes of one body can be rolled back. */
export class Overlay {
  readonly #changes = new Map<string, Staged>()
  /** The same in order, made when a range is read: most transactions read few. */
  readonly #edit = new MapEdit<Staged>(OrderedMap.empty)
  #map: OrderedMap<Staged> = OrderedMap.empty
  /** What changed since that map was made. */
  #behind: string[] = []
  #undo: Undo[] = []
  /** The number of changed records. */
  size = 0
  /** About how many bytes these records take. */
  bytes = 0

  find(code: string): Staged | undefined {
    return this.#changes.get(code)
  }

  /** All changes, in no order of keys. */
  all(): Iterable<readonly [code: string, staged: Staged]> {
    return this.#changes
  }

  /** All changes in order, as they are now. */
  map(): OrderedMap<Staged> {
    if (this.#behind.length === 0) return this.#map
    for (const code of this.#behind) {
      const staged = this.#changes.get(code)
      if (staged === undefined) this.#edit.remove(code)
      else this.#edit.put(code, staged)
    }
    this.#behind = []
    this.#map = this.#edit.map()
    return this.#map
  }

  set(code: string, staged: Staged, before: Staged | undefined): void {
    this.#undo.push({ code, before })
    this.#replace(code, before, staged)
  }

  remove(code: string): void {
    this.#replace(code, this.find(code), undefined)
  }

  /** Keeps the changes since the last `keep`. */
  keep(): void {
    if (this.#undo.length > 0) this.#undo = []
  }

  /** Rolls back the changes since the last `keep`. */
  rollBack(): void {
    const undo = this.#undo
    if (undo.length === 0) return
    this.#undo = []
    for (const { code, before } of undo.reverse()) this.#replace(code, this.find(code), before)
  }

  #replace(code: string, before: Staged | undefined, after: Staged | undefined): void {
    if (before) {
      this.size--
      this.bytes -= code.length + sizeOf(before.value)
    }
    if (after) {
      this.size++
      this.bytes += code.length + sizeOf(after.value)
      this.#changes.set(code, after)
    } else {
      this.#changes.delete(code)
    }
    this.#behind.push(code)
    // A record that is changed again and again must not fill the memory.
    if (this.#behind.length > this.#changes.size + mostBehind) this.map()
  }
}

/** About how many bytes a value takes as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 8
  let size = 2
  for (const name in value) size += name.length + 3 + sizeOf((value as Record<string, unknown>)[name])
  return size
}
