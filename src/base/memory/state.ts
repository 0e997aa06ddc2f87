import { castDraft, type Draft, freeze, produce } from 'immer'
import { CatalogError } from '../errors.ts'
import type { Value } from '../store/store.ts'
import { MapEdit, OrderedMap } from './ordered-map.ts'

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
 *
 * Nobody looks at most states. So writes of records change one map in place, and a state is made of it when someone asks
 * for one. That takes as long as copying the path to a record did, and then each write took it for each of its records.
 */
export class StateHolder {
  #state: MemorySnapshot
  #records: MapEdit<Value>
  /** Whether the records changed since the state was made. */
  #isBehind = false
  #isChanging = false

  /** Begins with the state of another holder, or empty. Later changes of either holder do not affect the other. */
  constructor(state: MemorySnapshot = nothing) {
    this.#state = state
    this.#records = new MapEdit(state.records)
  }

  /** The records and the objects as they are now. Later changes do not affect it. */
  get state(): MemorySnapshot {
    // What is under way may still be undone.
    if (this.#isChanging) {
      throw new CatalogError(
        'Internal',
        'A copy was asked for inside the body of a transaction: make it before or afterwards.',
      )
    }
    if (this.#isBehind) {
      this.#isBehind = false
      const records = this.#records.map()
      this.#change((draft) => {
        draft.records = castDraft(records)
      })
    }
    return this.#state
  }

  /** The records as they are now. Only the work of {@link changeRecords} may change them. */
  get records(): MapEdit<Value> {
    return this.#records
  }

  get objects(): OrderedMap<StoredObject> {
    return this.#state.objects
  }

  /** Runs work that changes the records, or undoes what it changed before it throws. */
  changeRecords<T>(work: () => T): T {
    this.#isChanging = true
    try {
      return work()
    } finally {
      this.#isChanging = false
      this.#isBehind = true
    }
  }

  setRecords(records: OrderedMap<Value>): void {
    this.#records = new MapEdit(records)
    this.#isBehind = false
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
    this.#records = new MapEdit(this.#state.records)
    this.#isBehind = false
  }

  /** The only place that changes the state. */
  #change(recipe: (draft: Draft<MemorySnapshot>) => void): void {
    this.#state = produce(this.#state, recipe)
  }
}
