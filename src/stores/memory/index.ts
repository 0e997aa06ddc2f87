import { type MemorySnapshot, StateHolder } from '../../base/memory/state.ts'
import type { Store } from '../../base/store/store.ts'
import { StoreInMemory } from './store.ts'

export type { MemorySnapshot }

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
  return new StoreInMemory(new StateHolder())
}
