import { illegalArgument, validation } from '../errors.ts'
import type { ViewDraft } from './view-draft.ts'
import type { ViewHistoryEntry, ViewMetadata, ViewVersion } from './view-types.ts'
import { dialectsOf } from './view-version.ts'

const historySizeProperty = 'version.history.num-entries'
const defaultHistorySize = 10
const dropDialectProperty = 'replace.drop-dialect.allowed'

/** The metadata that updates made of a draft: the base itself where they changed nothing. */
export function finishView(draft: ViewDraft, newUuid: () => string): ViewMetadata {
  const { base, location } = draft
  if (base !== undefined && draft.changes === 0) return base
  if (location === undefined) throw illegalArgument('Invalid location: null')
  if (draft.versions.size === 0) throw illegalArgument('Invalid view: no versions were added')
  if (draft.currentVersionId === undefined)
    throw illegalArgument('Invalid view: no version was set as current')
  const current = draft.versions.get(draft.currentVersionId)!
  checkDroppedDialects(draft, current)
  const versions = retainedVersions(draft, current)
  return {
    ...base,
    'view-uuid': draft.uuid ?? newUuid(),
    'format-version': draft.formatVersion,
    location,
    schemas: [...draft.schemas.values()],
    'current-version-id': draft.currentVersionId,
    versions,
    'version-log': history(draft, versions),
    properties: Object.fromEntries(draft.properties),
  }
}

/** Engines of a dialect that a new version lacks could no longer read the view. */
function checkDroppedDialects({ base, properties }: ViewDraft, current: ViewVersion): void {
  if (base === undefined || properties.get(dropDialectProperty)?.toLowerCase() === 'true') return
  const before = new Set(dialectsOf(currentVersion(base)))
  const after = new Set(dialectsOf(current))
  if ([...before].every((dialect) => after.has(dialect))) return
  throw validation(
    `Cannot replace view due to loss of view dialects (${dropDialectProperty}=false):\n` +
      `Previous dialects: [${[...before].join(', ')}]\nNew dialects: [${[...after].join(', ')}]`,
  )
}

/** The current version of a view. */
export function currentVersion({ versions, 'current-version-id': id }: ViewMetadata): ViewVersion {
  const version = versions.find((one) => one['version-id'] === id)
  if (version === undefined) {
    const ids = versions.map((one) => one['version-id'])
    throw illegalArgument(`Cannot find current version ${id} in view versions: [${ids.join(', ')}]`)
  }
  return version
}

/** The latest versions by id, the current one and those that were added now. Their order stays. */
function retainedVersions(draft: ViewDraft, current: ViewVersion): readonly ViewVersion[] {
  const versions = [...draft.versions.values()]
  const needed = new Set([...draft.addedVersions, current['version-id']]).size
  const kept = Math.max(needed, historySize(draft))
  if (versions.length <= kept) return versions
  const others = versions.map((version) => version['version-id']).filter((id) => id !== current['version-id'])
  const latest = new Set(others.sort((a, b) => b - a).slice(0, kept - 1)).add(current['version-id'])
  return versions.filter((version) => latest.has(version['version-id']))
}

function historySize({ properties }: ViewDraft): number {
  const text = properties.get(historySizeProperty)
  if (text === undefined) return defaultHistorySize
  const size = /^[+-]?\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(Math.abs(size) < 2 ** 31))
    throw illegalArgument(`${historySizeProperty} must be an integer but was ${text.slice(0, 100)}`)
  if (size <= 0) throw illegalArgument(`${historySizeProperty} must be positive but was ${size}`)
  return size
}

/** The log of current versions. Entries up to one of an expired version are left out: they lead nowhere. */
function history(draft: ViewDraft, retained: readonly ViewVersion[]): readonly ViewHistoryEntry[] {
  const entries = [...(draft.base?.['version-log'] ?? [])]
  if (draft.madeCurrentAt !== undefined)
    entries.push({ 'timestamp-ms': draft.madeCurrentAt, 'version-id': draft.currentVersionId! })
  if (retained.length === draft.versions.size) return entries
  const ids = new Set(retained.map((version) => version['version-id']))
  return entries.slice(entries.findLastIndex((entry) => !ids.has(entry['version-id'])) + 1)
}
