import type { Reader, Store, StoreFeatures, Writer } from '../store/store.ts'
import { closedError, nestedError, runBody } from './body.ts'
import { TreeReader, TreeWriter } from './memory/access.ts'
import { LookUps } from './memory/look-ups.ts'
import { OrderedTree } from './memory/tree.ts'

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
  return new TreeStore({ entries: OrderedTree.empty })
}

const features: StoreFeatures = Object.freeze({ durable: false, multiProcess: false, snapshots: true })

/** Its state is one immutable tree: a write edits a tree of its own, and a throw leaves the one that was. */
class TreeStore implements MemoryStore {
  readonly features = features
  #state: MemorySnapshot
  #lookUps = new LookUps()
  #closed = false
  #busy = false

  constructor(state: MemorySnapshot) {
    this.#state = state
  }

  async read<T>(body: (reader: Reader) => T): Promise<T> {
    this.#begin()
    const reader = new TreeReader(this.#state.entries, this.#lookUps)
    try {
      return runBody(body, reader)
    } finally {
      reader.ended = true
      this.#busy = false
    }
  }

  async write<T>(body: (writer: Writer) => T): Promise<T> {
    this.#begin()
    const writer = new TreeWriter(this.#state.entries)
    try {
      const result = runBody(body, writer)
      this.#state = { entries: writer.tree() }
      this.#lookUps.forget(writer.changed)
      return result
    } finally {
      writer.ended = true
      this.#busy = false
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#state = { entries: OrderedTree.empty }
    this.#lookUps = new LookUps()
  }

  snapshot(): MemorySnapshot {
    this.#refuseClosed()
    return this.#state
  }

  restore(snapshot: MemorySnapshot): void {
    this.#refuseClosed()
    if (this.#busy) throw nestedError()
    this.#state = snapshot
    this.#lookUps = new LookUps()
  }

  fork(): MemoryStore {
    this.#refuseClosed()
    return new TreeStore(this.#state)
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
