import { type MemorySnapshot, StateHolder } from '../../base/memory/state.ts'
import type { Store } from '../../base/store/store.ts'
import { StoreInMemory } from './store.ts'

export type { MemorySnapshot }

/** A store that lives as long as its process. Copies take constant time, whatever its size. */
export interface MemoryStore extends Store {
  /** The current state of the store. */
  snapshot(): MemorySnapshot
  /** Restores a snapshot, of this store or another one. */
  restore(snapshot: MemorySnapshot): void
  /** An independent store that begins with the current state of this one. */
  fork(): MemoryStore
}

/** An empty memory store. */
export function memoryStore(): MemoryStore {
  return new StoreInMemory(new StateHolder())
}
