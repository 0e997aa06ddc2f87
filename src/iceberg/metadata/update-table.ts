import { illegalArgument } from '../errors.ts'
import type { Draft } from './draft.ts'
import { tableLocation } from './location.ts'
import { readInt, readList, readString, readStringMap, show, stringItem } from './read.ts'
import { type JsonObject, newestVersion, rowLineageVersion } from './types.ts'

/* Updates of a table itself: its identity, version, place and properties. */

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function assignUuid(draft: Draft, update: JsonObject, where: string): void {
  const uuid = readString(update, 'uuid', where)
  if (!uuidForm.test(uuid)) throw illegalArgument(`Invalid UUID: ${where}.uuid: ${show(uuid)}`)
  if (uuid.toLowerCase() === draft.uuid?.toLowerCase()) return
  // A catalog and its clients know a table by this id, so only a table without one gets it.
  if (draft.base?.['table-uuid'] !== undefined) throw illegalArgument('Cannot reassign uuid')
  draft.uuid = uuid
  draft.changes++
}

export function upgradeFormatVersion(draft: Draft, update: JsonObject, where: string): void {
  const version = readInt(update, 'format-version', where)
  if (version > newestVersion)
    throw illegalArgument(
      `Cannot upgrade table to unsupported format version: v${version} (supported: v${newestVersion})`,
    )
  if (version < draft.formatVersion)
    throw illegalArgument(`Cannot downgrade v${draft.formatVersion} table to v${version}`)
  if (version === draft.formatVersion) return
  draft.formatVersion = version
  draft.changes++
}

/** Clients of earlier releases ask for row lineage, which tables of version 3 always have. */
export function enableRowLineage(draft: Draft): void {
  if (draft.formatVersion < rowLineageVersion)
    throw illegalArgument(
      `Cannot use row lineage with format version ${draft.formatVersion}. Only format version ${rowLineageVersion} or higher support row lineage`,
    )
}

export function setLocation(draft: Draft, update: JsonObject, where: string): void {
  const location = tableLocation(readString(update, 'location', where), `${where}.location`)
  if (location === draft.location) return
  draft.location = location
  draft.changes++
}

export function setProperties(draft: Draft, update: JsonObject, where: string): void {
  // Early clients named the member as in the past tense.
  const name = Object.hasOwn(update, 'updates') || !Object.hasOwn(update, 'updated') ? 'updates' : 'updated'
  const entries = Object.entries(readStringMap(update, name, where))
  for (const [key, value] of entries) draft.propertyMap.set(key, value)
  if (entries.length > 0) draft.changes++
}

export function removeProperties(draft: Draft, update: JsonObject, where: string): void {
  const name = Object.hasOwn(update, 'removals') || !Object.hasOwn(update, 'removed') ? 'removals' : 'removed'
  const keys = readList(update, name, where, stringItem)
  for (const key of keys) draft.propertyMap.delete(key)
  if (keys.length > 0) draft.changes++
}
