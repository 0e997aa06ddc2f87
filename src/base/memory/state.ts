import { castDraft, type Draft, freeze, produce } from 'immer'
import type { Value } from '../store/store.ts'
import { OrderedMap } from './ordered-map.ts'

/** An object of a content. Its bytes never change. */
export interface StoredObject {
  readonly bytes: Uint8Array
  readonly modified: number
}

/**
 * Everything that is held in memory at one moment: the records of a catalog and the objects of its content, in
 * one immutable value. A snapshot costs nothing but the memory of what changes after it.
 */
export interface MemorySnapshot {
  readonly records: OrderedMap<Value>
  readonly objects: OrderedMap<StoredObject>
}

const nothing: MemorySnapshot = freeze({ records: OrderedMap.empty, objects: OrderedMap.empty })

/**
 * Holds the state that a store and a content share. Every state is what Immer made: frozen, and the same object as
 * long as nothing changes. The maps are single values to Immer, because drafting their nodes would cost more than a
 * whole write.
 */
export class StateHolder {
  #state: MemorySnapshot

  /** Begins with the state of another holder, or empty: neither sees the changes of the other. */
  constructor(state: MemorySnapshot = nothing) {
    this.#state = state
  }

  get state(): MemorySnapshot {
    return this.#state
  }

  setRecords(records: OrderedMap<Value>): void {
    this.#change((draft) => {
      draft.records = castDraft(records)
    })
  }

  setObjects(objects: OrderedMap<StoredObject>): void {
    this.#change((draft) => {
      draft.objects = castDraft(objects)
    })
  }

  /** Replaces everything at once. What else the snapshot has is left out. */
  restore(snapshot: MemorySnapshot): void {
    this.#change((draft) => {
      draft.records = castDraft(snapshot.records)
      draft.objects = castDraft(snapshot.objects)
    })
  }

  /** The one way to another state. */
  #change(recipe: (draft: Draft<MemorySnapshot>) => void): void {
    this.#state = produce(this.#state, recipe)
  }
}
