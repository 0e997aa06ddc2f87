import type { OrderedMap } from '../../base/memory/ordered-map.ts'
import { endedError } from '../../base/store/body.ts'
import { checkedKey } from '../../base/store/key.ts'
import { type Span, spanOf } from '../../base/store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../base/store/store.ts'
import { codeOf, codeOfCut } from '../memory/code.ts'
import { frozenCopy } from '../memory/frozen-copy.ts'
import type { Overlay, Staged } from './overlay.ts'
import type { ReadSet } from './read-set.ts'

/** What all readers and writers of one staged store share. */
export interface StagedContext {
  readonly overlay: Overlay
  readonly readSet: ReadSet
  /** The code of a key whose reads are not recorded. */
  readonly unremembered: string | undefined
}

/** The groups that partial reads and writes touched, with the values read in them, by the codes of keys. */
export type Touched = Map<string, Map<string, Value | undefined>>

/** Adds what was touched later. The first read of each key counts. */
export function addTouched(touched: Touched, later: Touched): void {
  for (const [group, values] of later) {
    const known = touched.get(group)
    if (known === undefined) touched.set(group, values)
    else for (const [code, value] of values) if (!known.has(code)) known.set(code, value)
  }
}

function groupIn(touched: Touched, group: string): Map<string, Value | undefined> {
  let values = touched.get(group)
  if (values === undefined) {
    values = new Map()
    touched.set(group, values)
  }
  return values
}

/** Reads the store below through staged changes, and records what it read there. */
export class StagedReader implements Reader {
  readonly #below: Reader
  readonly #context: StagedContext
  /** Set for partial reads: heads of branches may move after they were read. */
  readonly #touched: Touched | undefined
  /** Whether reads are not recorded, so that anything may change after it was read. */
  readonly #isUntracked: boolean
  ended = false

  constructor(below: Reader, context: StagedContext, touched: Touched | undefined, isUntracked = false) {
    this.#below = below
    this.#context = context
    this.#touched = touched
    this.#isUntracked = isUntracked
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    const checked = checkedKey(key)
    const code = codeOf(checked)
    const { overlay, readSet, unremembered } = this.#context
    const staged = overlay.find(code)
    if (staged !== undefined) {
      this.touch(staged)
      return staged.value as V | undefined
    }
    const known = this.#isUntracked ? undefined : readSet.known(code)
    // What was read before is compared in any case, so the store below need not be asked again.
    if (known !== undefined) return known.value as V | undefined
    const value = this.#below.get<V>(checked)
    if (this.#touched) {
      const group = readSet.softPoint(code, checked, value)
      if (group !== undefined) groupIn(this.#touched, group).set(code, value)
    } else if (code !== unremembered && !this.#isUntracked) {
      readSet.point(code, checked, value)
    }
    return value
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    if (!span) return []
    // A range shows the entries at the time of the `range` call.
    const staged = this.#context.overlay.map()
    return { [Symbol.iterator]: () => this.#walk(range, span, staged) as Iterator<Entry<V>> }
  }

  /** After a full read or write of a staged value, the commit compares everything that the value depends on in full. */
  protected touch({ group }: Staged): void {
    if (group === undefined || this.#isUntracked) return
    if (this.#touched) groupIn(this.#touched, group)
    else this.#context.readSet.harden(group, undefined, this.#below)
  }

  protected groupOf(key: Key, value: Value): string | undefined {
    const group = this.#touched && this.#context.readSet.groupOf(key, value)
    if (group !== undefined) groupIn(this.#touched!, group)
    return group
  }

  /** Merges the entries below with the staged ones. */
  *#walk(range: Range, span: Span, map: OrderedMap<Staged>): Generator<Entry, void, undefined> {
    const staged = stagedIn(map, span)
    let next = staged.next()
    // The limit is passed to the store below only when no entry is staged in the range.
    const { limit: _, ...unlimited } = range
    const below = this.#below.range(next.done ? range : unlimited)
    const { readSet } = this.#context
    const record = this.#isUntracked ? undefined : readSet.range(unlimited)
    let left = span.limit
    for (const entry of below) {
      let isStaged = false
      if (!next.done) {
        const code = codeOf(entry.key)
        while (!next.done && (span.reverse ? next.value[0] > code : next.value[0] < code)) {
          const change = next.value[1]
          next = staged.next()
          if (!this.#isThere(change)) continue
          yield entryOf(change)
          this.#refuseEnded()
          if (--left === 0) return
        }
        isStaged = !next.done && next.value[0] === code
      }
      if (record) readSet.entry(record, entry)
      let shown: Entry = entry
      if (isStaged) {
        const change = next.value![1]
        next = staged.next()
        if (!this.#isThere(change)) continue
        shown = entryOf(change)
      }
      yield shown
      this.#refuseEnded()
      if (--left === 0) return
    }
    if (record) record.ended = true
    for (; !next.done; next = staged.next()) {
      const change = next.value[1]
      if (!this.#isThere(change)) continue
      yield entryOf(change)
      this.#refuseEnded()
      if (--left === 0) return
    }
  }

  #isThere(staged: Staged): staged is Staged & Entry {
    if (staged.group !== undefined && !this.#isUntracked)
      this.#context.readSet.harden(staged.group, undefined, this.#below)
    return staged.value !== undefined
  }

  #refuseEnded(): void {
    if (this.ended) throw endedError()
  }
}

function entryOf({ key, value }: Entry): Entry {
  return { key: [...key], value }
}

/** The staged entries of a range, in its direction, with the codes of their keys. */
function* stagedIn(
  map: OrderedMap<Staged>,
  span: Span,
): Generator<readonly [string, Staged], void, undefined> {
  const { lower, upper, reverse } = span
  const cursor = map.leaves(lower && codeOfCut(lower), upper && codeOfCut(upper), reverse)
  while (cursor.next()) {
    const { from, to } = cursor
    const { keys, items } = cursor.leaf!
    for (let done = 0; done < to - from; done++) {
      const at = reverse ? to - 1 - done : from + done
      yield [keys[at]!, items[at]!]
    }
  }
}

/** Stages changes. Does not write to the store below. */
export class StagedWriter extends StagedReader implements Writer {
  readonly #overlay: Overlay

  constructor(below: Reader, context: StagedContext, touched: Touched | undefined) {
    super(below, context, touched)
    this.#overlay = context.overlay
  }

  put(key: Key, value: Value): void {
    this.#stage(key, frozenCopy(value))
  }

  remove(key: Key): void {
    this.#stage(key, undefined)
  }

  #stage(given: Key, value: Value | undefined): void {
    if (this.ended) throw endedError()
    const checked = checkedKey(given)
    const code = codeOf(checked)
    const before = this.#overlay.find(code)
    if (before !== undefined) this.touch(before)
    // Callers may change their array later.
    const key = checked === given ? [...checked] : checked
    const group = value === undefined ? undefined : this.groupOf(key, value)
    this.#overlay.set(code, { key, value, group }, before)
  }
}
