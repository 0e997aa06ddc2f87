import { CatalogError } from '../../base/errors.ts'
import type { Entry, Key, Range, Reader, Value } from '../../base/store/store.ts'

/** Thrown when a read of a transaction would give another result now: the transaction has to run again. */
export class ReadsChanged extends CatalogError {
  readonly #changed: { readonly key: Key; readonly value?: Value | undefined } | undefined

  constructor(changed?: ReadsChanged['changed']) {
    super(
      'ConcurrentModification',
      'Others changed what this transaction read, so nothing of it was committed. Run it again.',
    )
    this.#changed = changed
  }

  /** The record that changed, as it was read; for a range, the prefix of its keys. Undefined when it is unknown. */
  get changed(): { readonly key: Key; readonly value?: Value | undefined } | undefined {
    return this.#changed
  }
}

/** How a partial read depends on a record. */
export interface Dependence {
  /** Records that are read and written together. After a full read of one, the commit compares all of them in full. */
  readonly group: string
  /** The part that must not change; undefined when the whole record may change. */
  readonly kept: Value | undefined
}

/** Returns how a partial read depends on a record; undefined when it depends on the whole record. */
export type Soften = (key: Key, value: Value) => Dependence | undefined

interface Point {
  readonly key: Key
  readonly value: Value | undefined
}

interface SoftPoint extends Dependence {
  readonly key: Key
  /** The value read; undefined after the group was forgotten, when only the kept part still counts. */
  readonly value: Value | undefined
}

/** The entries of a range that were read, in their order. */
class RangeRead {
  readonly range: Range
  readonly entries: Entry[] = []
  /** Whether the range was read to its end, so that a further entry is a change. */
  ended = false

  constructor(range: Range) {
    this.range = range
  }
}

/** The reads of a transaction from the store below, to check whether they would give the same results now. */
export class ReadSet {
  readonly #soften: Soften
  readonly #most: number
  readonly #points = new Map<string, Point>()
  readonly #soft = new Map<string, SoftPoint>()
  readonly #hardened = new Set<string>()
  readonly #ranges: RangeRead[] = []
  #count = 0
  /** Undoes what was recorded since {@link keep}, the latest last. */
  #undo: (() => void)[] = []
  /** The points recorded since then. There are many, and a function for each takes longer. */
  #newPoints: string[] = []
  #countBefore = 0

  constructor(soften: Soften, most: number) {
    this.#soften = soften
    this.#most = most
  }

  /** The number of recorded reads. */
  get count(): number {
    return this.#count
  }

  /** Keeps the reads recorded since the last `keep`. */
  keep(): void {
    if (this.#undo.length > 0) this.#undo = []
    if (this.#newPoints.length > 0) this.#newPoints = []
    this.#countBefore = this.#count
  }

  /** Drops the reads since the last `keep`: the store below may run a body again, or may have guessed values. */
  rollBack(): void {
    for (const back of this.#undo.reverse()) back()
    for (const code of this.#newPoints) this.#points.delete(code)
    this.#undo = []
    this.#newPoints = []
    this.#count = this.#countBefore
  }

  /** What a full read of a record gave. */
  known(code: string): Point | undefined {
    return this.#points.get(code)
  }

  point(code: string, key: Key, value: Value | undefined): void {
    if (this.#points.has(code)) return
    this.#add()
    this.#setPoint(code, { key, value })
  }

  /** Records a partial read. Returns the group of the record, if it has one. */
  softPoint(code: string, key: Key, value: Value | undefined): string | undefined {
    if (this.#points.has(code)) return undefined
    const found = value === undefined ? undefined : this.#soften(key, value)
    const before = this.#soft.get(code)
    if (before?.kept !== undefined && !isSameValue(before.kept, found?.kept)) throw new ReadsChanged(before)
    if (found === undefined || this.#hardened.has(found.group)) {
      this.point(code, key, value)
      return undefined
    }
    if (before === undefined) this.#add()
    this.#setSoft(code, { ...found, key, value })
    return found.group
  }

  /** The group of a record while partial reads apply to it. */
  groupOf(key: Key, value: Value): string | undefined {
    const group = this.#soften(key, value)?.group
    return group === undefined || this.#hardened.has(group) ? undefined : group
  }

  range(range: Range): RangeRead {
    const read = new RangeRead(range)
    this.#add()
    this.#ranges.push(read)
    this.#undo.push(() => this.#ranges.pop())
    return read
  }

  entry(read: RangeRead, entry: Entry): void {
    this.#add()
    read.entries.push(entry)
  }

  /**
   * From now on the commit compares the records of a group in full. `asRead` has the values that a partial reader got,
   * which may have changed since. With `below`, the records are compared at once.
   */
  harden(group: string, asRead?: ReadonlyMap<string, Value | undefined>, below?: Reader): void {
    for (const [code, value] of asRead ?? []) {
      const now = this.#points.get(code) ?? this.#soft.get(code)
      if (now?.value !== undefined && !isSameValue(now.value, value)) throw new ReadsChanged(now)
    }
    if (this.#hardened.has(group)) return
    this.#hardened.add(group)
    this.#undo.push(() => this.#hardened.delete(group))
    for (const [code, { key, value, group: of }] of this.#soft) {
      if (of !== group || value === undefined) continue
      this.#setSoft(code, undefined)
      this.#setPoint(code, { key, value })
      if (below && !isSameValue(below.get(key), value)) throw new ReadsChanged({ key, value })
    }
  }

  /** Forgets the reads of some groups, except for the parts that must not change. */
  forget(groups: ReadonlySet<string>): void {
    for (const [code, point] of this.#soft) {
      if (!groups.has(point.group)) continue
      if (point.kept === undefined) this.#soft.delete(code)
      else this.#soft.set(code, { ...point, value: undefined })
    }
  }

  /**
   * Throws {@link ReadsChanged} unless all reads give the same results. Returns the groups where only other parts
   * changed.
   */
  check(reader: Reader): ReadonlySet<string> {
    for (const { key, value } of this.#points.values()) {
      if (!isSameValue(reader.get(key), value)) throw new ReadsChanged({ key, value })
    }
    for (const read of this.#ranges) {
      if (!isSameRange(reader, read)) throw new ReadsChanged({ key: read.range.prefix ?? [] })
    }
    const moved = new Set<string>()
    for (const { key, value, group, kept } of this.#soft.values()) {
      const now = reader.get(key)
      if (value !== undefined && isSameValue(now, value)) continue
      if (kept !== undefined) {
        const keptNow = now === undefined ? undefined : this.#soften(key, now)?.kept
        if (!isSameValue(keptNow, kept)) throw new ReadsChanged({ key, value })
      }
      if (value !== undefined) moved.add(group)
    }
    return moved
  }

  #setPoint(code: string, point: Point): void {
    this.#points.set(code, point)
    this.#newPoints.push(code)
  }

  #setSoft(code: string, point: SoftPoint | undefined): void {
    const before = this.#soft.get(code)
    if (point === undefined) this.#soft.delete(code)
    else this.#soft.set(code, point)
    this.#undo.push(() => {
      if (before === undefined) this.#soft.delete(code)
      else this.#soft.set(code, before)
    })
  }

  #add(): void {
    if (++this.#count <= this.#most) return
    throw new CatalogError(
      'InvalidInput',
      `The transaction read more than ${this.#most.toLocaleString('en')} records, which is the most that it can compare at its commit. Read outside of it, or do it in parts.`,
    )
  }
}

function isSameRange(reader: Reader, { range, entries, ended }: RangeRead): boolean {
  // The caller took no entry of it.
  if (!ended && entries.length === 0) return true
  let at = 0
  for (const { key, value } of reader.range(ended ? range : { ...range, limit: entries.length })) {
    const read = entries[at++]
    if (read === undefined || !isSameValue(key, read.key)) return false
    if (!range.keysOnly && !isSameValue(value, read.value)) return false
  }
  return at === entries.length
}

/**
 * Whether two plain values are equal. A store that keeps objects returns the same object until it is replaced, so most
 * comparisons end at once.
 */
function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) return isSameList(a, b)
  const one = a as Members
  const other = b as Members
  let members = 0
  for (const name in one) {
    if (one[name] === undefined) continue
    members++
    if (!isSameValue(one[name], other[name])) return false
  }
  for (const name in other) if (other[name] !== undefined) members--
  return members === 0
}

type Members = Readonly<Record<string, unknown>>

function isSameList(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
  return a.every((item, i) => isSameValue(item, b[i]))
}
