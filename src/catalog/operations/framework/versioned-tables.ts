import type { Identifier } from '../../../base/model/identifier.ts'
import type { AnyOperation } from './operation.ts'

/** Fields of requests that name a version, and the fields that name its table. */
const namingFields: Readonly<Record<string, 'id' | 'source'>> = {
  version: 'id',
  at: 'id',
  from: 'id',
  to: 'id',
  from_version: 'id',
  from_at: 'id',
  source_version: 'source',
  source_at: 'source',
}

/** Changes that begin with a version that is there. Others that name one make it. */
const takesVersions: ReadonlySet<string> = new Set([
  'createTableTag',
  'updateTableTag',
  'createTableBranch',
  'restoreTable',
  'cloneTable',
])

/** The tables of which a request names a version that is there, other than by the name of a tag or as the latest. */
export function versionedTables(operation: AnyOperation, request: unknown): Identifier[] {
  if (typeof request !== 'object' || request === null) return []
  if (operation.changes && !takesVersions.has(operation.name)) return []
  const asked = request as Readonly<Record<string, unknown>>
  const ids: Identifier[] = []
  for (const field in namingFields) {
    const id = asked[field] == null ? undefined : asked[namingFields[field]!]
    if (isIdentifier(id) && !ids.includes(id)) ids.push(id)
  }
  return ids
}

function isIdentifier(given: unknown): given is Identifier {
  return Array.isArray(given) && given.every((name) => typeof name === 'string')
}
