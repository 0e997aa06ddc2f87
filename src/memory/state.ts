import { castDraft, produce } from 'immer'
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

const nothing: MemorySnapshot = { records: OrderedMap.empty, objects: OrderedMap.empty }

/**
 * Holds the state that a store and a content share, through Immer. The maps are single values to Immer, because
 * drafting their nodes would cost more than a whole write.
 */
export class StateHolder {
  #state: MemorySnapshot

  /** Begins with a state that others may hold as well: none of them sees the changes of another. */
  constructor(state: MemorySnapshot = nothing) {
    this.#state = state
  }

  get state(): MemorySnapshot {
    return this.#state
  }

  setRecords(records: OrderedMap<Value>): void {
    this.#state = produce(this.#state, (draft) => {
      draft.records = castDraft(records)
    })
  }

  setObjects(objects: OrderedMap<StoredObject>): void {
    this.#state = produce(this.#state, (draft) => {
      draft.objects = castDraft(objects)
    })
  }

  /** Replaces everything at once. */
  restore({ records, objects }: MemorySnapshot): void {
    this.#state = { records, objects }
  }
}
