import type { Steps } from '../../base/scheduling/time-slice.ts'
import { illegalArgument } from '../errors.ts'
import {
  checkLongJson,
  readInt,
  readList,
  readLong,
  readLongList,
  readObject,
  readOptionalStringMap,
  readString,
  sameItems,
  withMembers,
} from './read.ts'
import { readSchema } from './schema.ts'
import { currentVersion } from './view-finish.ts'
import { type ViewHistoryEntry, type ViewMetadata, viewFormatVersion } from './view-types.ts'
import { readViewVersion } from './view-version.ts'

/**
 * View metadata from the parsed JSON of a metadata file. Members that the specification does not name are kept, and
 * unchanged parts are those of `json`. It works in steps: a view may have many versions.
 *
 * Fails with an `IcebergError` of status 400 for members that are missing or of another type, for ids that occur twice,
 * and where the current version or its schema is not there.
 *
 * ```ts
 * const view = await inSlices(viewMetadata(parse(text)), signal)
 * ```
 */
export function* viewMetadata(json: unknown): Steps<ViewMetadata> {
  const where = 'view'
  const object = readObject(json, where)
  yield* checkLongJson(object, where)
  readString(object, 'view-uuid', where)
  checkViewVersionOfFormat(readInt(object, 'format-version', where))
  readString(object, 'location', where)
  const metadata = withMembers<ViewMetadata>(object, {
    schemas: sameItems(object['schemas'], readList(object, 'schemas', where, readSchema)),
    'current-version-id': readInt(object, 'current-version-id', where),
    versions: yield* readLongList(object, 'versions', where, readViewVersion),
    'version-log': yield* readLongList(object, 'version-log', where, readEntry),
    properties: readOptionalStringMap(object, 'properties', where),
  })
  checkIds(metadata)
  return metadata
}

/** Refuses versions of the format that are not read here. */
export function checkViewVersionOfFormat(version: number): void {
  if (version !== viewFormatVersion) throw illegalArgument(`Unsupported format version: ${version}`)
}

function readEntry(value: unknown, where: string): ViewHistoryEntry {
  const object = readObject(value, where)
  return withMembers<ViewHistoryEntry>(object, {
    'timestamp-ms': readLong(object, 'timestamp-ms', where),
    'version-id': readInt(object, 'version-id', where),
  })
}

function checkIds(metadata: ViewMetadata): void {
  const schemas = unique(
    metadata.schemas.map((schema) => schema['schema-id']),
    'schema-id',
  )
  unique(
    metadata.versions.map((version) => version['version-id']),
    'version-id',
  )
  const id = currentVersion(metadata)['schema-id']
  if (!schemas.has(id))
    throw illegalArgument(`Cannot find current schema with id ${id} in schemas: [${[...schemas].join(', ')}]`)
}

function unique(ids: readonly number[], name: string): ReadonlySet<number> {
  const known = new Set<number>()
  for (const id of ids) {
    if (known.has(id)) throw illegalArgument(`Multiple entries with same ${name}: ${id}`)
    known.add(id)
  }
  return known
}
