import { illegalArgument } from '../errors.ts'
import type { Comparison } from './numbered.ts'
import {
  isObject,
  member,
  readInt,
  readList,
  readLong,
  readObject,
  readOptionalString,
  readString,
  readStringMap,
  sameItems,
  stringItem,
  withMembers,
} from './read.ts'
import type { ViewRepresentation, ViewVersion } from './view-types.ts'

/** A version of a view from parsed JSON. What is missing or of another type is refused; unknown members are kept. */
export function readViewVersion(value: unknown, where: string): ViewVersion {
  const object = readObject(value, where)
  readStringMap(object, 'summary', where)
  const representations = readList(object, 'representations', where, readRepresentation)
  readList(object, 'default-namespace', where, readLevel)
  return withMembers<ViewVersion>(object, {
    'version-id': readInt(object, 'version-id', where),
    'schema-id': readInt(object, 'schema-id', where),
    'timestamp-ms': readLong(object, 'timestamp-ms', where),
    representations: sameItems(object['representations'], representations),
    // Java's reader takes null for absent here, and other readers do not.
    'default-catalog': readOptionalString(object, 'default-catalog', where),
  })
}

function readRepresentation(value: unknown, where: string): ViewRepresentation {
  const object = readObject(value, where)
  const type = readString(object, 'type', where)
  if (!isSql(type)) return object as ViewRepresentation
  readString(object, 'sql', where)
  readString(object, 'dialect', where)
  return withMembers<ViewRepresentation>(object, { type: type.toLowerCase() })
}

/** Java's clients know no level of a namespace with this character, and could not read the view. */
function readLevel(value: unknown, where: string): void {
  if (stringItem(value, where).includes('\u0000'))
    throw illegalArgument(`Cannot create a namespace with the null-byte character: ${where}`)
}

function isSql(type: string): boolean {
  return type.toLowerCase() === 'sql'
}

/** The types of representations of a version besides SQL, each once. */
export function otherTypes(version: ViewVersion): string[] {
  return [...new Set(version.representations.map(({ type }) => type).filter((type) => !isSql(type)))]
}

/** The dialects of a version in lower case, one for each SQL representation. */
export function dialectsOf(version: ViewVersion): string[] {
  return version.representations.filter(({ type }) => isSql(type)).map(dialectOf)
}

function dialectOf({ dialect }: ViewRepresentation): string {
  return dialect!.toLowerCase()
}

/** Refuses a version with two texts for one dialect. Files of other writers may have such, so readers allow them. */
export function checkDialects(version: ViewVersion): void {
  const dialects = new Set<string>()
  for (const dialect of dialectsOf(version)) {
    if (dialects.has(dialect))
      throw illegalArgument(`Invalid view version: Cannot add multiple queries for dialect ${dialect}`)
    dialects.add(dialect)
  }
}

/** Versions are the same that behave the same. Their ids and times do not matter. */
export const versionComparison: Comparison<ViewVersion> = {
  rough: (version) => `${version['schema-id']} ${version.representations.length}`,
  exact: (version) =>
    JSON.stringify([
      sorted(version.summary),
      version.representations.map(sorted),
      member(version, 'default-catalog') ?? null,
      version['default-namespace'],
    ]),
}

/** A value whose JSON does not depend on the order of members. */
function sorted(value: unknown): unknown {
  if (typeof value === 'bigint') return { bigint: value.toString() }
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  return Object.keys(value)
    .sort()
    .map((name) => [name, sorted(value[name])])
}
