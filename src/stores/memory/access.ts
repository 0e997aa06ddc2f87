import { MapEdit, type OrderedMap } from '../../base/memory/ordered-map.ts'
import { numbered } from '../../base/store/append.ts'
import { endedError } from '../../base/store/body.ts'
import { checkedKey } from '../../base/store/key.ts'
import { type Span, spanOf } from '../../base/store/range.ts'
import type { Entry, Key, Range, Reader, Value, Writer } from '../../base/store/store.ts'
import { codeOf, codeOfCut, keyAfter } from './code.ts'
import { frozenCopy } from './frozen-copy.ts'
import type { HashIndex } from './hash-index.ts'

/** Records by the codes of their keys. */
type Records = OrderedMap<Value>

/** Reads records until the transaction ends. */
export class RecordReader implements Reader {
  readonly #records: Records
  readonly #index: HashIndex
  ended = false

  constructor(records: Records, index: HashIndex) {
    this.#records = records
    this.#index = index
  }

  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    return this.#index.get(codeOf(checkedKey(key)), this.#records) as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    return walk<V>(this.#records, range, this)
  }
}

/** Changes records until the transaction ends. A range shows the entries at the time of the `range` call. */
export class RecordWriter implements Writer {
  readonly #edit: MapEdit<Value>
  readonly #index: HashIndex
  readonly #codes: string[] = []
  readonly #values: (Value | undefined)[] = []
  ended = false

  constructor(records: Records, index: HashIndex) {
    this.#edit = new MapEdit(records)
    this.#index = index
  }

  /** Reads the edit only: the index has no changes that may still be undone. */
  get<V extends Value = Value>(key: Key): V | undefined {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#index.expect(code)
    return this.#edit.find(code)?.value as V | undefined
  }

  range<V extends Value = Value>(range: Range): Iterable<Entry<V>> {
    if (this.ended) throw endedError()
    return walk<V>(this.#edit.map(), range, this)
  }

  put(key: Key, value: Value): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    const frozen = frozenCopy(value)
    this.#edit.put(code, frozen)
    this.#note(code, frozen)
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#edit.remove(code)
    this.#note(code, undefined)
  }

  append(prefix: Key, value: Value): void {
    if (this.ended) throw endedError()
    // The code of the prefix, and of an empty string after it.
    const before = `${codeOf(checkedKey(prefix))}\x04`
    const last = this.#edit.lastBelow(`${before}:`)
    const number = last?.startsWith(before) ? Number(last.slice(before.length)) : 0
    const code = before + numbered(number + 1)
    const frozen = frozenCopy(value)
    this.#edit.put(code, frozen)
    this.#note(code, frozen)
  }

  #note(code: string, value: Value | undefined): void {
    this.#codes.push(code)
    this.#values.push(value)
  }

  records(): Records {
    return this.#edit.map()
  }

  /** Adds all changes to the index, after the state has them. */
  updateIndex(): void {
    for (let i = 0; i < this.#codes.length; i++) this.#index.set(this.#codes[i]!, this.#values[i])
  }
}

interface Access {
  readonly ended: boolean
}

/** The entries of a range, until `access` has ended. */
function walk<V extends Value>(records: Records, range: Range, access: Access): Iterable<Entry<V>> {
  const span = spanOf(range)
  if (!span) return []
  return { [Symbol.iterator]: () => entriesOf(records, span, access) as Iterator<Entry<V>> }
}

function* entriesOf(records: Records, span: Span, access: Access): Generator<Entry, void, undefined> {
  const { reverse, prefix = [] } = span
  const prefixLength = codeOf(prefix).length
  let left = span.limit
  const cursor = records.leaves(
    span.lower && codeOfCut(span.lower),
    span.upper && codeOfCut(span.upper),
    reverse,
  )
  while (cursor.next()) {
    const { from, to } = cursor
    const { keys, items } = cursor.leaf!
    for (let done = 0; done < to - from; done++) {
      if (access.ended) throw endedError()
      const at = reverse ? to - 1 - done : from + done
      yield { key: keyAfter(prefix, prefixLength, keys[at]!), value: items[at]! }
      if (--left === 0) return
    }
  }
}
