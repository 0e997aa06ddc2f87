import { illegalArgument, validation } from '../errors.ts'
import { Numbered } from './numbered.ts'
import { withMembers } from './read.ts'
import { schemaComparison } from './schema-index.ts'
import type { Long, Schema } from './types.ts'
import { type ViewMetadata, type ViewVersion, viewFormatVersion } from './view-types.ts'
import { checkDialects, versionComparison } from './view-version.ts'

/** In an id, the schema or version that this commit added last. */
const lastAdded = -1
const firstSchemaId = 0

/** View metadata while updates change it. The base is never changed. */
export class ViewDraft {
  readonly base: ViewMetadata | undefined
  readonly now: Long
  readonly schemas: Numbered<Schema>
  readonly versions: Numbered<ViewVersion>
  readonly properties: Map<string, string>
  readonly addedVersions = new Set<number>()
  /** Undefined for a new view until one is assigned. */
  uuid: string | undefined
  formatVersion: number
  location: string | undefined
  currentVersionId: number | undefined
  /** When the current version became so; undefined where these updates did not set it. */
  madeCurrentAt: Long | undefined
  /** Updates that changed something. Without any, the base is the result. */
  changes = 0
  #lastAddedSchemaId: number | undefined
  #lastAddedVersionId: number | undefined

  constructor(base: ViewMetadata | undefined, now: Long) {
    this.base = base
    this.now = now
    this.schemas = new Numbered(
      (base?.schemas ?? []).map((schema) => [schema['schema-id'], schema]),
      schemaComparison,
    )
    this.versions = new Numbered(
      (base?.versions ?? []).map((version) => [version['version-id'], version]),
      versionComparison,
    )
    this.properties = new Map(Object.entries(base?.properties ?? {}))
    this.uuid = base?.['view-uuid']
    this.formatVersion = base?.['format-version'] ?? viewFormatVersion
    this.location = base?.location
    this.currentVersionId = base?.['current-version-id']
  }

  /** Adds a schema, or finds the one that is the same. Returns its id. */
  addSchema(schema: Schema): number {
    let id = this.schemas.find(schema)
    if (id === undefined) {
      id = this.schemas.nextId(firstSchemaId)
      this.schemas.add(id, withMembers(schema, { 'schema-id': id }))
      this.changes++
    }
    this.#lastAddedSchemaId = id
    return id
  }

  /** Adds a version, or finds the one that is the same. A version whose id is taken gets the next one. */
  addVersion(given: ViewVersion): number {
    const version = withMembers<ViewVersion>(given, { 'schema-id': this.#schemaIdOf(given) })
    let id = this.versions.find(version)
    if (id === undefined) {
      checkDialects(version)
      id = this.versions.nextId(version['version-id'])
      this.versions.add(id, withMembers(version, { 'version-id': id }))
      this.addedVersions.add(id)
      this.changes++
    }
    this.#lastAddedVersionId = id
    return id
  }

  #schemaIdOf(version: ViewVersion): number {
    const id = version['schema-id']
    if (id === lastAdded) {
      if (this.#lastAddedSchemaId === undefined)
        throw validation('Cannot set last added schema: no schema has been added')
      return this.#lastAddedSchemaId
    }
    if (this.schemas.get(id) === undefined)
      throw illegalArgument(`Cannot add version with unknown schema: ${id}`)
    return id
  }

  setCurrentVersion(asked: number): void {
    const id = asked === lastAdded ? this.#lastAddedVersionId : asked
    if (id === undefined) throw validation('Cannot set last version id: no version has been added')
    if (id === this.currentVersionId) return
    const version = this.versions.get(id)
    if (version === undefined) throw illegalArgument(`Cannot set current version to unknown version: ${id}`)
    this.currentVersionId = id
    // A version that was current before becomes so again now, and not when it was made.
    this.madeCurrentAt = this.addedVersions.has(id) ? version['timestamp-ms'] : this.now
    this.changes++
  }
}
