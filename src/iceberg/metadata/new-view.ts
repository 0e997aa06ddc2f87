import { illegalArgument, validation } from '../errors.ts'
import { checkJson, readOptionalStringMap, withMembers } from './read.ts'
import { readSchema } from './schema.ts'
import type { Long } from './types.ts'
import { ViewDraft } from './view-draft.ts'
import { finishView } from './view-finish.ts'
import type { ViewMetadata, ViewVersion } from './view-types.ts'
import { viewLocation } from './view-updates.ts'
import { otherTypes, readViewVersion } from './view-version.ts'

/** What a request says of a view to be created, as parsed JSON, and what the server adds to it. */
export interface NewView {
  readonly schema: unknown
  readonly viewVersion: unknown
  readonly location: string
  readonly properties?: unknown
  readonly uuid: string
  /** The time of the creation, in milliseconds. */
  readonly now: Long
}

/**
 * The metadata of a new view. Its version gets the id 1, its schema the id 0, and both the time `now`, whatever the
 * request has. Fails with an `IcebergError` of status 400 for a schema, version or property that a view cannot have, and
 * for a version without a query.
 *
 * ```ts
 * newViewMetadata({ schema, viewVersion, location: 's3://lake/prod/daily', uuid: randomUUID(), now: Date.now() })
 * ```
 */
export function newViewMetadata(view: NewView): ViewMetadata {
  const { schema, viewVersion, properties, uuid, now } = view
  checkJson({ viewVersion, properties: properties ?? null }, 'request')
  const version = readViewVersion(viewVersion, 'view-version')
  const others = otherTypes(version)
  if (others.length > 0) throw validation(`Found unsupported view representations: [${others.join(', ')}]`)
  if (version.representations.length === 0)
    throw illegalArgument('Cannot create view without specifying a query')
  const draft = new ViewDraft(undefined, now)
  for (const [key, value] of propertiesOf(properties)) draft.properties.set(key, value)
  draft.location = viewLocation(view.location, 'location')
  draft.uuid = uuid
  const first = { 'version-id': 1, 'schema-id': draft.addSchema(readSchema(schema, 'schema')) }
  draft.setCurrentVersion(
    draft.addVersion(withMembers<ViewVersion>(version, { ...first, 'timestamp-ms': now })),
  )
  return finishView(draft, () => uuid)
}

function propertiesOf(properties: unknown): [string, string][] {
  return Object.entries(readOptionalStringMap({ properties }, 'properties', 'request') ?? {})
}
