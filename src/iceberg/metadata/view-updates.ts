import { badRequest, illegalArgument } from '../errors.ts'
import { checkViewVersionOfFormat } from './check-view-metadata.ts'
import { tableLocation } from './location.ts'
import {
  checkJson,
  isObject,
  member,
  readArray,
  readInt,
  readList,
  readString,
  readStringMap,
  show,
  stringItem,
} from './read.ts'
import { readSchema } from './schema.ts'
import type { JsonObject, Long } from './types.ts'
import { ViewDraft } from './view-draft.ts'
import { finishView } from './view-finish.ts'
import type { ViewMetadata } from './view-types.ts'
import { readViewVersion } from './view-version.ts'

type Update = (draft: ViewDraft, update: JsonObject, where: string) => void

const actions: ReadonlyMap<string, Update> = new Map<string, Update>([
  ['assign-uuid', assignUuid],
  ['upgrade-format-version', upgradeFormatVersion],
  [
    'add-schema',
    (draft, update, where) => draft.addSchema(readSchema(member(update, 'schema'), `${where}.schema`)),
  ],
  ['set-location', setLocation],
  ['set-properties', setProperties],
  ['remove-properties', removeProperties],
  [
    'add-view-version',
    (draft, update, where) =>
      draft.addVersion(readViewVersion(member(update, 'view-version'), `${where}.view-version`)),
  ],
  [
    'set-current-view-version',
    (draft, update, where) => draft.setCurrentVersion(readInt(update, 'view-version-id', where)),
  ],
])

/** What updates need besides the metadata, so that they read no clock and draw no ids themselves. */
export interface ViewUpdateContext {
  /** The time of the commit, in milliseconds. */
  readonly now: Long
  /** Makes the id of a view that is created and is given none. */
  readonly newUuid: () => string
}

/**
 * Applies the updates of a commit in their order, and returns the metadata that they make. `base` is undefined where the
 * view is created. The base is never changed, and shares its unchanged parts with the result. Where no update changes
 * anything, the result is `base` itself: such a commit writes no new file.
 *
 * Fails with an `IcebergError` of status 400 for an update that is not understood, that is for tables, or that does not
 * fit the view.
 *
 * ```ts
 * const next = applyViewUpdates(base, [{ action: 'set-properties', updates: { comment: 'Daily' } }], {
 *   now: Date.now(),
 *   newUuid: randomUUID,
 * })
 * ```
 */
export function applyViewUpdates(
  base: ViewMetadata | undefined,
  updates: readonly unknown[],
  { now, newUuid }: ViewUpdateContext,
): ViewMetadata {
  // All are read before the first is applied: one that is not understood is found whatever comes before it.
  const read = Array.from(readArray(updates, 'updates'), (value, i) => readUpdate(value, `updates[${i}]`))
  const draft = new ViewDraft(base, now)
  for (const { apply, update, where } of read) apply(draft, update, where)
  return finishView(draft, newUuid)
}

function readUpdate(value: unknown, where: string) {
  if (!isObject(value))
    throw illegalArgument(`Cannot parse metadata update from non-object value: ${show(value)}: ${where}`)
  checkJson(value, where)
  if (member(value, 'action') === undefined)
    throw illegalArgument(`Cannot parse metadata update. Missing field: action: ${where}`)
  const action = readString(value, 'action', where).toLowerCase()
  const apply = actions.get(action)
  if (apply === undefined) throw badRequest(`Cannot apply update ${show(action)} to a view: ${where}`)
  return { apply, update: value, where }
}

function assignUuid(draft: ViewDraft, update: JsonObject, where: string): void {
  const uuid = readString(update, 'uuid', where)
  if (uuid === '') throw illegalArgument(`Cannot set uuid to an empty string: ${where}.uuid`)
  if (uuid.toLowerCase() === draft.uuid?.toLowerCase()) return
  // Clients know a view by this id.
  if (draft.uuid !== undefined) throw illegalArgument('Cannot reassign uuid')
  draft.uuid = uuid
  draft.changes++
}

/** There is one version so far. So an upgrade that is allowed changes nothing. */
function upgradeFormatVersion(draft: ViewDraft, update: JsonObject, where: string): void {
  const version = readInt(update, 'format-version', where)
  if (version < draft.formatVersion)
    throw illegalArgument(`Cannot downgrade v${draft.formatVersion} view to v${version}`)
  checkViewVersionOfFormat(version)
}

function setLocation(draft: ViewDraft, update: JsonObject, where: string): void {
  const location = viewLocation(readString(update, 'location', where), `${where}.location`)
  if (location === draft.location) return
  draft.location = location
  draft.changes++
}

/** The location of a view without a slash at its end. */
export function viewLocation(location: string, where: string): string {
  if (location === '') throw illegalArgument(`Invalid view location: ${where}: must not be empty`)
  return tableLocation(location, where)
}

function setProperties(draft: ViewDraft, update: JsonObject, where: string): void {
  // Early clients named the member as in the past tense.
  const name = Object.hasOwn(update, 'updates') || !Object.hasOwn(update, 'updated') ? 'updates' : 'updated'
  const entries = Object.entries(readStringMap(update, name, where))
  for (const [key, value] of entries) draft.properties.set(key, value)
  if (entries.length > 0) draft.changes++
}

function removeProperties(draft: ViewDraft, update: JsonObject, where: string): void {
  const name = Object.hasOwn(update, 'removals') || !Object.hasOwn(update, 'removed') ? 'removals' : 'removed'
  const keys = readList(update, name, where, stringItem)
  for (const key of keys) draft.properties.delete(key)
  if (keys.length > 0) draft.changes++
}
