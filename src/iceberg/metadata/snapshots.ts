import { atOnce, type Steps } from '../../base/scheduling/time-slice.ts'
import { illegalArgument } from '../errors.ts'
import {
  member,
  readList,
  readObject,
  readOptionalInt,
  readOptionalString,
  readOptionalStringMap,
  stringItem,
  withLongs,
  withMembers,
} from './read.ts'
import type { JsonObject, Long, Snapshot } from './types.ts'

/** A snapshot from parsed JSON. */
export function readSnapshot(value: unknown, where: string): Snapshot {
  const object = withLongs(readObject(value, where), where, neededLongs, optionalLongs)
  if (object['snapshot-id'] === -1)
    throw illegalArgument(`Invalid snapshot ID: ${where}.snapshot-id: -1 says that there is no snapshot`)
  checkRows(object)
  readOptionalStringMap(object, 'summary', where)
  readOptionalInt(object, 'schema-id', where)
  readOptionalString(object, 'key-id', where)
  // Version 1 may list manifests themselves.
  if (readOptionalString(object, 'manifest-list', where) === undefined)
    readList(object, 'manifests', where, stringItem)
  return object as Snapshot
}

const neededLongs = ['snapshot-id', 'timestamp-ms']
const optionalLongs = ['sequence-number', 'parent-snapshot-id', 'first-row-id', 'added-rows']

function checkRows(object: JsonObject): void {
  const first = member(object, 'first-row-id') as Long | undefined
  const added = member(object, 'added-rows') as Long | undefined
  if (first !== undefined && first < 0)
    throw illegalArgument(`Invalid first-row-id (cannot be negative): ${first}`)
  if (added !== undefined && added < 0)
    throw illegalArgument(`Invalid added-rows (cannot be negative): ${added}`)
  if (first !== undefined && added === undefined)
    throw illegalArgument('Invalid added-rows (required when first-row-id is set): null')
}

/** The same snapshot as it is stored when a request adds it. */
export function toAdd(snapshot: Snapshot): Snapshot {
  const rows = member(snapshot, 'first-row-id') === undefined ? { 'added-rows': undefined } : {}
  const { summary } = snapshot
  // Readers need an operation, and take overwrite where it is missing.
  const named = summary && Object.keys(summary).length > 0 && !Object.hasOwn(summary, 'operation')
  const changed = named ? { summary: { operation: 'overwrite', ...summary } } : {}
  return withMembers(snapshot, { ...rows, ...changed })
}

/** The sequence number of a snapshot, which is 0 in version 1. */
export function sequenceNumber(snapshot: Snapshot): Long {
  return snapshot['sequence-number'] ?? 0
}

/** Lookups after which an index pays. A commit makes two or three. */
const lookupsWithoutIndex = 8

const indexedInAStep = 500

/**
 * The snapshots of a table while they change, in the order in which they were added. The few lookups of most commits go
 * over the list: an index of 100,000 snapshots takes longer than the rest of a commit.
 */
export class Snapshots {
  readonly #base: readonly Snapshot[]
  #lookups = 0
  #added: Map<Long, Snapshot> | undefined
  /** All snapshots, once there is an index. */
  #byId: Map<Long, Snapshot> | undefined

  constructor(base: readonly Snapshot[]) {
    this.#base = base
  }

  get(id: Long): Snapshot | undefined {
    if (this.#byId === undefined && this.#lookups === lookupsWithoutIndex) atOnce(this.index())
    if (this.#byId !== undefined) return this.#byId.get(id)
    this.#lookups++
    return this.#added?.get(id) ?? this.#base.findLast((snapshot) => snapshot['snapshot-id'] === id)
  }

  /** Adds a snapshot whose id is new. */
  add(snapshot: Snapshot): void {
    const id = snapshot['snapshot-id']
    if (this.#byId !== undefined) this.#byId.set(id, snapshot)
    else {
      this.#added ??= new Map()
      this.#added.set(id, snapshot)
    }
  }

  delete(id: Long): boolean {
    atOnce(this.index())
    return this.#byId!.delete(id)
  }

  toList(): readonly Snapshot[] {
    if (this.#byId !== undefined) return [...this.#byId.values()]
    return this.#added === undefined ? this.#base : [...this.#base, ...this.#added.values()]
  }

  /** Makes the index of all snapshots, in steps. */
  *index(): Steps<void> {
    if (this.#byId !== undefined) return
    const byId = new Map<Long, Snapshot>()
    for (const snapshot of this.toList()) {
      byId.set(snapshot['snapshot-id'], snapshot)
      if (byId.size % indexedInAStep === 0) yield
    }
    this.#byId = byId
  }
}
