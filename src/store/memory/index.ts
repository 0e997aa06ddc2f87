import { castDraft, produce } from 'immer'
import { closedError, nestedError, runBody } from '../body.ts'
import type { Reader, Store, StoreFeatures, Writer } from '../store.ts'
import { TreeReader, TreeWriter } from './access.ts'
import { HashIndex } from './hash-index.ts'
import { OrderedTree } from './tree.ts'

/** All a memory store held at one moment. Costs nothing to keep but the memory of what changed since. */
export interface MemorySnapshot {
  readonly entries: OrderedTree
}

/** A store that lives as long as its process. Its copies take constant time, whatever it holds. */
export interface MemoryStore extends Store {
  /** What the store holds now. */
  snapshot(): MemorySnapshot
  /** Puts back what a store held when the snapshot was taken; it need not have been this store. */
  restore(snapshot: MemorySnapshot): void
  /** A store of its own that begins with what this one holds now. */
  fork(): MemoryStore
}

/** An empty memory store. */
export function memoryStore(): MemoryStore {
  return new ImmerStore({ entries: OrderedTree.empty })
}

const features: StoreFeatures = Object.freeze({ durable: false, multiProcess: false, snapshots: true })

/**
 * Holds its state in Immer: a write is one recipe, so a throw leaves the state that was. The entries
 * themselves are a single value to Immer, because drafting collections costs time proportional to their size.
 */
class ImmerStore implements MemoryStore {
  readonly features = features
  #state: MemorySnapshot
  /** How often the state was replaced. A snapshot put back is told from itself before. */
  #changes = 0
  #index = new HashIndex()
  #closed = false
  #busy = false

  constructor(state: MemorySnapshot) {
    this.#state = state
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    this.#begin()
    const reader = new TreeReader(this.#state.entries, this.#index)
    try {
      return runBody(body, reader)
    } finally {
      reader.ended = true
      this.#busy = false
    }
  }

  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#begin()
    const writer = new TreeWriter(this.#state.entries, this.#index)
    let result: T
    try {
      this.#state = produce(this.#state, (draft) => {
        result = runBody(body, writer)
        draft.entries = castDraft(writer.tree())
      })
      this.#changes++
      writer.updateIndex()
    } finally {
      writer.ended = true
      this.#busy = false
    }
    return result!
  }

  state(): number {
    this.#refuseClosed()
    return this.#changes
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#state = { entries: OrderedTree.empty }
    this.#index = new HashIndex()
  }

  snapshot(): MemorySnapshot {
    this.#refuseClosed()
    return this.#state
  }

  restore(snapshot: MemorySnapshot): void {
    this.#refuseClosed()
    if (this.#busy) throw nestedError()
    this.#state = snapshot
    this.#changes++
    this.#index = new HashIndex()
  }

  fork(): MemoryStore {
    this.#refuseClosed()
    return new ImmerStore(this.#state)
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
