import { type MapEdit, OrderedMap } from '../../base/memory/ordered-map.ts'
import { type MemorySnapshot, StateHolder } from '../../base/memory/state.ts'
import { numbered } from '../../base/store/append.ts'
import { closedError, endedError, nestedError, runBody } from '../../base/store/body.ts'
import { checkedKey } from '../../base/store/key.ts'
import { type Span, spanOf } from '../../base/store/range.ts'
import type { Entry, Key, Range, Reader, StoreFeatures, Value, Writer } from '../../base/store/store.ts'
import { codeAfterDigits, codeBeforeDigits, codeOf, codeOfCut, keyAfter } from './code.ts'
import { frozenCopy } from './frozen-copy.ts'
import { HashIndex } from './hash-index.ts'
import type { MemoryStore } from './index.ts'

const features: StoreFeatures = Object.freeze({ durable: false, multiProcess: false, snapshots: true })

/** Keeps the records of a state. A snapshot or a fork has the whole state, with the content. */
export class StoreInMemory implements MemoryStore {
  readonly features = features
  readonly #holder: StateHolder
  /** How often records were replaced. A restored snapshot counts as new, even if it was current before. */
  #changes = 0
  #index = new HashIndex()
  #closed = false
  #busy = false

  constructor(holder: StateHolder) {
    this.#holder = holder
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    this.#begin()
    const reader = new RecordReader(this.#holder.records, this.#index)
    try {
      return runBody(body, reader)
    } finally {
      reader.ended = true
      this.#busy = false
    }
  }

  /** The body changes the records in place; what it did is undone when it throws. */
  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#begin()
    const writer = new RecordWriter(this.#holder.records, this.#index)
    try {
      const result = this.#holder.changeRecords(() => writer.run(body))
      this.#changes++
      writer.updateIndex()
      return result
    } finally {
      writer.ended = true
      this.#busy = false
    }
  }

  state(): number {
    this.#refuseClosed()
    return this.#changes
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#holder.setRecords(OrderedMap.empty)
    this.#index = new HashIndex()
  }

  snapshot(): MemorySnapshot {
    this.#refuseClosed()
    return this.#holder.state
  }

  restore(snapshot: MemorySnapshot): void {
    this.#refuseClosed()
    if (this.#busy) throw nestedError()
    this.#holder.restore(snapshot)
    this.#changes++
    this.#index = new HashIndex()
  }

  fork(): MemoryStore {
    return new StoreInMemory(new StateHolder(this.snapshot()))
  }

  #begin(): void {
    this.#refuseClosed()
    if (this.#busy) throw nestedError()
    this.#busy = true
  }

  #refuseClosed(): void {
    if (this.#closed) throw closedError()
  }
}

/** Records by the codes of their keys: those of a state, or those that writes change. */
type Records = Pick<OrderedMap<Value>, 'find' | 'leaves'>

/** Reads records until the transaction ends. */
class RecordReader implements Reader {
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
class RecordWriter implements Writer {
  readonly #edit: MapEdit<Value>
  readonly #index: HashIndex
  readonly #codes: string[] = []
  readonly #values: (Value | undefined)[] = []
  /** What stood under the codes before. */
  readonly #before: (Value | undefined)[] = []
  ended = false

  constructor(edit: MapEdit<Value>, index: HashIndex) {
    this.#edit = edit
    this.#index = index
  }

  /** Runs a body, and undoes what it did when it throws. */
  run<T>(body: (writer: Writer) => T): T {
    try {
      return runBody(body, this)
    } catch (error) {
      for (let i = this.#codes.length - 1; i >= 0; i--) {
        const before = this.#before[i]
        if (before === undefined) this.#edit.remove(this.#codes[i]!)
        else this.#edit.put(this.#codes[i]!, before)
      }
      throw error
    }
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
    this.#note(code, frozen, this.#edit.put(code, frozen))
  }

  remove(key: Key): void {
    if (this.ended) throw endedError()
    const code = codeOf(checkedKey(key))
    this.#note(code, undefined, this.#edit.remove(code))
  }

  append(prefix: Key, value: Value): void {
    if (this.ended) throw endedError()
    const before = codeBeforeDigits(checkedKey(prefix))
    const last = this.#edit.lastBelow(codeAfterDigits(before))
    const number = last?.startsWith(before) ? Number(last.slice(before.length)) : 0
    const code = before + numbered(number + 1)
    const frozen = frozenCopy(value)
    this.#note(code, frozen, this.#edit.put(code, frozen))
  }

  #note(code: string, value: Value | undefined, before: Value | undefined): void {
    this.#codes.push(code)
    this.#values.push(value)
    this.#before.push(before)
  }

  /** Adds all changes to the index, once nothing can undo them. */
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
