import { castDraft, type Draft, freeze, produce } from 'immer'
import type { Value } from '../store/store.ts'
import { OrderedMap } from './ordered-map.ts'

/** An object of a content. Its bytes never change. */
export interface StoredObject {
  readonly bytes: Uint8Array
  readonly modified: number
}

/**
 * Everything in memory at one moment, as one immutable value: the records of a catalog and the objects of its content.
 * A snapshot costs only the memory of later changes.
 */
export interface MemorySnapshot {
  readonly records: OrderedMap<Value>
  readonly objects: OrderedMap<StoredObject>
}

const nothing: MemorySnapshot = freeze({ records: OrderedMap.empty, objects: OrderedMap.empty })

/**
 * Holds the state that a store and a content share. Immer makes every state: frozen, and the same object as long as
 * nothing changes. Immer handles the maps as single values, because drafting their nodes would cost more than a whole
 * write.
 */
export class StateHolder {
  #state: MemorySnapshot

  /** Begins with the state of another holder, or empty. Later changes of either holder do not affect the other. */
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

  /** Replaces everything at once. Other members of the snapshot are ignored. */
  restore(snapshot: MemorySnapshot): void {
    this.#change((draft) => {
      draft.records = castDraft(snapshot.records)
      draft.objects = castDraft(snapshot.objects)
    })
  }

  /** The only place that changes the state. */
  #change(recipe: (draft: Draft<MemorySnapshot>) => void): void {
    this.#state = produce(this.#state, recipe)
  }
}
