import { CatalogError, invalid } from '../../base/errors.ts'
import { formatIdentifier, type Identifier, quote } from '../../base/model/identifier.ts'
import { momentOf } from '../../base/model/moment.ts'
import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import type { FoundTable } from './names.ts'
import type { FoundVersion, WantedVersion } from './versions.ts'

/** The latest version, by name. */
export const latest = 'latest'

const forms =
  'Name a version by its number, a tag, a branch, latest, a time with its zone, or a number or time on a branch, such as dev@3'

/**
 * The version that a name means: a number, a tag, a branch for its latest version, `latest`, a time, or one of these
 * after a branch and `@`. A tag comes before a branch of the same name, and `branch@latest` means the branch.
 */
export function wantedByName(
  reader: Reader,
  id: Identifier,
  table: FoundTable,
  name: number | string,
): WantedVersion {
  const wanted = wantedByItself(name)
  if (wanted) return wanted
  const text = String(name)
  if (reader.get(keys.tag(table.id, text)) !== undefined) return { branch: '', tag: text }
  if (reader.get(keys.branch(table.id, text)) !== undefined) return { branch: text }
  throw noSuchName(id, text)
}

/** The same, as far as the name says it by itself. Undefined for the name of a tag or a branch. */
export function wantedByItself(name: number | string): WantedVersion | undefined {
  if (typeof name === 'number') return { branch: '', version: name }
  const at = name.indexOf('@')
  if (at >= 0) return { branch: branchOf(name.slice(0, at)), ...versionIn(name, name.slice(at + 1)) }
  if (/^\d+$/.test(name) || momentOf(name)) return { branch: '', ...versionIn(name, name) }
  return name === latest || name === 'main' ? { branch: '' } : undefined
}

export function noSuchName(id: Identifier, name: string): CatalogError {
  return new CatalogError(
    'TableTagNotFound',
    `The table ${formatIdentifier(id)} has no tag or branch ${quote(name)}. ${forms}.`,
  )
}

function branchOf(name: string): string {
  if (name === '') throw invalid(`A version begins with @. ${forms}.`)
  return name === 'main' ? '' : name
}

function versionIn(name: string, text: string): Pick<WantedVersion, 'version' | 'at'> {
  if (text === latest) return {}
  if (momentOf(text)) return { at: momentOf(text)!.toISOString() }
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return { version: number }
  throw invalid(`${quote(name)} names no version. ${forms}.`)
}

/** The name of a version by its number, which does not move. */
export function nameOfVersion({ branch, version }: FoundVersion): string {
  return branch === '' ? String(version) : `${branch}@${version}`
}
