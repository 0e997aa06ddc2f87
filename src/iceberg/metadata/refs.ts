import { illegalArgument, validation } from '../errors.ts'
import {
  member,
  readObject,
  readOptionalInt,
  readOptionalLong,
  readString,
  show,
  withLongs,
  withMembers,
} from './read.ts'
import { type JsonObject, type Long, mainBranch, type SnapshotRef } from './types.ts'

/** A reference to a snapshot from parsed JSON, with all that it says of retention. */
export function readRef(value: unknown, where: string): SnapshotRef {
  const object = readObject(value, where)
  const type = readString(object, 'type', where).toLowerCase()
  if (type !== 'branch' && type !== 'tag')
    throw illegalArgument(`Invalid snapshot ref type: ${show(object['type'])}`)
  checkRetention(object, type, where)
  return withMembers(withLongs(object, where, ['snapshot-id'], ['max-snapshot-age-ms', 'max-ref-age-ms']), {
    type,
  })
}

function checkRetention(object: JsonObject, type: string, where: string): void {
  const keep = readOptionalInt(object, 'min-snapshots-to-keep', where)
  const age = readOptionalLong(object, 'max-snapshot-age-ms', where)
  const refAge = readOptionalLong(object, 'max-ref-age-ms', where)
  if (keep !== undefined && type === 'tag')
    throw illegalArgument('Tags do not support setting minSnapshotsToKeep')
  if (keep !== undefined && keep <= 0) throw illegalArgument('Min snapshots to keep must be greater than 0')
  if (age !== undefined && type === 'tag')
    throw illegalArgument('Tags do not support setting maxSnapshotAgeMs')
  if (age !== undefined && age <= 0) throw illegalArgument('Max snapshot age must be greater than 0 ms')
  if (refAge !== undefined && refAge <= 0) throw illegalArgument('Max reference age must be greater than 0')
}

/** The members that a reference is made of, in a request that has others beside them. */
export function refOf(object: JsonObject, where: string): SnapshotRef {
  const names = ['snapshot-id', 'type', 'min-snapshots-to-keep', 'max-snapshot-age-ms', 'max-ref-age-ms']
  const given = names.filter((name) => Object.hasOwn(object, name) && object[name] !== null)
  return readRef(Object.fromEntries(given.map((name) => [name, object[name]])), where)
}

function sameRef(left: SnapshotRef, right: SnapshotRef): boolean {
  const names = ['snapshot-id', 'type', 'min-snapshots-to-keep', 'max-snapshot-age-ms', 'max-ref-age-ms']
  return names.every((name) => member(left, name) === member(right, name))
}

/**
 * The references of a table while they change. They are found by name and by snapshot, so that many changes of many
 * references take little time for each.
 */
export class Refs {
  readonly byName: Map<string, SnapshotRef>
  readonly #names = new Map<Long, Set<string>>()

  constructor(refs: Readonly<Record<string, SnapshotRef>>) {
    this.byName = new Map(Object.entries(refs))
    for (const [name, ref] of this.byName) this.#namesOf(ref).add(name)
  }

  /** Sets a reference. False where it is so already. */
  set(name: string, ref: SnapshotRef): boolean {
    const before = this.byName.get(name)
    if (before !== undefined && sameRef(before, ref)) return false
    if (name === mainBranch && ref.type !== 'branch')
      throw validation(`Cannot set ${mainBranch} to a tag, it must be a branch`)
    this.delete(name)
    this.byName.set(name, ref)
    this.#namesOf(ref).add(name)
    return true
  }

  delete(name: string): boolean {
    const ref = this.byName.get(name)
    if (ref === undefined) return false
    this.byName.delete(name)
    this.#namesOf(ref).delete(name)
    return true
  }

  /** The names of all references to a snapshot. */
  namesOf(snapshotId: Long): string[] {
    return [...(this.#names.get(snapshotId) ?? [])]
  }

  /** The references as a table stores them. */
  toObject(): Record<string, SnapshotRef> {
    return Object.fromEntries(this.byName)
  }

  #namesOf(ref: SnapshotRef): Set<string> {
    const id = ref['snapshot-id']
    let names = this.#names.get(id)
    if (names === undefined) {
      names = new Set()
      this.#names.set(id, names)
    }
    return names
  }
}
