import { MapEdit, OrderedMap } from '../../base/memory/ordered-map.ts'
import { numbered } from '../../base/store/append.ts'
import { endedError } from '../../base/store/body.ts'
import { checkedKey } from '../../base/store/key.ts'
import { type Span, spanOf } from '../../base/store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../base/store/store.ts'
import { frozenCopy } from '../memory/frozen-copy.ts'
import type { Attempt } from './attempt.ts'
import { bytesOf, bytesOfCut, endOfKeys, keyOf } from './key-bytes.ts'
import type { Walk } from './view.ts'

/** A record to write, or null for one to remove. */
export type Change = Written | null

export interface Written {
  readonly value: Value
  readonly text: string
  /** The bytes of the prefix under which the database numbers it. */
  readonly appendedTo?: string
}

/** The prefix of appended records, in the order of the calls. It is above all keys, so no range contains it. */
const appendedMark = `${endOfKeys}+`

/** Whether the bytes are of an appended record, whose key the database makes. */
export function isAppended(bytes: string): boolean {
  return bytes.startsWith(appendedMark)
}

/** The changes of an attempt so far, by the bytes of keys. */
export type Changes = OrderedMap<Change>

export const noChanges: Changes = OrderedMap.empty

/** Reads the records of an attempt, with the changes so far. */
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
    // A range shows the entries at the time of the `range` call.
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
    const walk: Walk = {
      lower: lower ? bytesOfCut(lower) : '',
      upper: upper ? bytesOfCut(upper) : endOfKeys,
      limit,
      reverse,
    }
    let left = limit
    for (const [bytes, value] of merged(this.#attempt, walk, changes)) {
      if (this.ended) throw endedError()
      yield { key: keyOf(bytes), value: value as V }
      if (--left === 0) return
    }
    if (this.ended) throw endedError()
  }
}

export class AttemptWriter extends AttemptReader implements Writer {
  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    // The text has no lone surrogates or NUL characters, since JSON escapes them.
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

/** The records of a walk, with the changes applied. */
function* merged(
  attempt: Attempt,
  walk: Walk,
  changes: Changes,
): Generator<readonly [bytes: string, value: Value], void, undefined> {
  const { reverse } = walk
  const changed = changedIn(changes, walk)
  let next = changed.next()
  // The limit may need a further record for each removed one.
  const limit = next.done ? walk.limit : Number.POSITIVE_INFINITY
  for (const [bytes, { value }] of attempt.rows({ ...walk, limit })) {
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
  { lower, upper, reverse }: Walk,
): Generator<readonly [bytes: string, change: Change], void, undefined> {
  if (changes.size === 0) return
  const cursor = changes.leaves(lower, upper, reverse)
  while (cursor.next()) {
    const { keys, items } = cursor.leaf!
    for (let done = 0; done < cursor.to - cursor.from; done++) {
      const at = reverse ? cursor.to - 1 - done : cursor.from + done
      yield [keys[at]!, items[at]!]
    }
  }
}
