import { OrderedMap } from '../../base/memory/ordered-map.ts'
import { type MemorySnapshot, StateHolder } from '../../base/memory/state.ts'
import { closedError, nestedError, runBody } from '../../base/store/body.ts'
import type { Reader, StoreFeatures, Writer } from '../../base/store/store.ts'
import { RecordReader, RecordWriter } from './access.ts'
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
    const reader = new RecordReader(this.#holder.state.records, this.#index)
    try {
      return runBody(body, reader)
    } finally {
      reader.ended = true
      this.#busy = false
    }
  }

  /** The state changes after the body: a body that throws leaves nothing to undo. */
  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#begin()
    const writer = new RecordWriter(this.#holder.state.records, this.#index)
    try {
      const result = runBody(body, writer)
      this.#holder.setRecords(writer.records())
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
