import { MapEdit, OrderedMap } from '../../base/memory/ordered-map.ts'
import { numbered } from '../../base/store/append.ts'
import { endedError } from '../../base/store/body.ts'
import { checkedKey } from '../../base/store/key.ts'
import { type Span, spanOf } from '../../base/store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../base/store/store.ts'
import { frozenCopy } from '../memory/frozen-copy.ts'
import type { Attempt } from './attempt.ts'
import { bytesOf, bytesOfCut, endOfKeys, keyOf } from './key-bytes.ts'

/** A record that is to be written, or null for one that is to be removed. */
export type Change = Written | null

export interface Written {
  readonly value: Value
  readonly text: string
  /** The bytes of the prefix under which the database is to number it. */
  readonly appendedTo?: string
}

/** Marks what is to be appended. It lies above all keys, where no range meets it, in the order in which it came. */
const appendedMark = `${endOfKeys}+`

/** Whether the bytes stand for a record whose key the database is to make. */
export function isAppended(bytes: string): boolean {
  return bytes.startsWith(appendedMark)
}

/** What bodies of one attempt changed so far, by the bytes of keys. */
export type Changes = OrderedMap<Change>

export const noChanges: Changes = OrderedMap.empty

/** Reads what an attempt gives, under the changes that were made. */
export class AttemptReader implements Reader {
  readonly #attempt: Attempt
  protected readonly edit: MapEdit<Change>
  ended = false

  constructor(attempt: Attempt, changes: Changes = noChanges) {
    this.#attempt = attempt
    this.edit = new MapEdit(changes)
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    const bytes = bytesOf(checkedKey(key))
    const changed = this.edit.find(bytes)
    const found = changed === undefined ? this.#attempt.point(bytes) : changed.value
    return found?.value as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    const span = spanOf(range)
    if (!span) return []
    // A range shows the entries there were when it was asked for.
    const changes = this.changes()
    return { [Symbol.iterator]: () => this.#walk<V>(span, changes) }
  }

  changes(): Changes {
    return this.edit.map()
  }

  *#walk<V extends Value>(
    { lower, upper, limit, reverse }: Span,
    changes: Changes,
  ): Generator<Entry<V>, void, undefined> {
    const from = lower ? bytesOfCut(lower) : ''
    const to = upper ? bytesOfCut(upper) : endOfKeys
    let left = limit
    for (const [bytes, value] of merged(this.#attempt, from, to, limit, reverse, changes)) {
      if (this.ended) throw endedError()
      yield { key: keyOf(bytes), value: value as V }
      if (--left === 0) return
    }
    if (this.ended) throw endedError()
  }
}

/** Reads and changes records, until it is ended. */
export class AttemptWriter extends AttemptReader implements Writer {
  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    // Text holds no half pairs, as JSON writes them as escapes, nor zeros.
    this.edit.put(bytesOf(checkedKey(key)), { value: frozenCopy(value), text: JSON.stringify(value) })
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    this.edit.put(bytesOf(checkedKey(key)), null)
  }

  append(prefix: Key, value: Value): void {
    if (this.ended) throw endedError()
    const appendedTo = bytesOf(checkedKey(prefix))
    const bytes = appendedMark + numbered(this.edit.size)
    this.edit.put(bytes, { value, text: JSON.stringify(value), appendedTo })
  }
}

/** The records between two bounds as the changes leave them. */
function* merged(
  attempt: Attempt,
  from: string,
  to: string,
  limit: number,
  reverse: boolean,
  changes: Changes,
): Generator<readonly [bytes: string, value: Value], void, undefined> {
  const changed = changedIn(changes, from, to, reverse)
  let next = changed.next()
  // A removed record leaves room for one behind it.
  const most = next.done ? limit : Number.POSITIVE_INFINITY
  for (const [bytes, { value }] of attempt.rows(from, to, most, reverse)) {
    while (!next.done && (reverse ? next.value[0] > bytes : next.value[0] < bytes)) {
      if (next.value[1]) yield [next.value[0], next.value[1].value]
      next = changed.next()
    }
    if (next.done || next.value[0] !== bytes) {
      yield [bytes, value]
    } else {
      if (next.value[1]) yield [bytes, next.value[1].value]
      next = changed.next()
    }
  }
  for (; !next.done; next = changed.next()) {
    if (next.value[1]) yield [next.value[0], next.value[1].value]
  }
}

function* changedIn(
  changes: Changes,
  from: string,
  to: string,
  reverse: boolean,
): Generator<readonly [bytes: string, change: Change], void, undefined> {
  if (changes.size === 0) return
  const cursor = changes.leaves(from, to, reverse)
  while (cursor.next()) {
    const { keys, items } = cursor.leaf!
    for (let done = 0; done < cursor.to - cursor.from; done++) {
      const at = reverse ? cursor.to - 1 - done : cursor.from + done
      yield [keys[at]!, items[at]!]
    }
  }
}
