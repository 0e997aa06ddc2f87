import { expect } from 'vitest'
import type { IcebergErrorType } from '../../../src/iceberg/errors.ts'
import { applyViewUpdates, type ViewMetadata } from '../../../src/iceberg/metadata/view-metadata.ts'

export const uuid = 'fa6506c3-7681-40c8-86dc-e36561f83385'
export const now = 1_700_000_000_000

type Members = Record<string, unknown>

export const schemaOf = (name: string, id = 0, fieldId = 1) => ({
  type: 'struct',
  'schema-id': id,
  fields: [{ id: fieldId, name, required: true, type: 'long' }],
})

export const sql = (text: string, dialect = 'spark') => ({ type: 'sql', sql: text, dialect })

/** A version with one query, or with some of its members changed. */
export const version = (id: number, query: string, more: Members = {}) => ({
  'version-id': id,
  'schema-id': 0,
  'timestamp-ms': 1000 * id,
  summary: { user: 'some-user' },
  representations: [sql(query)],
  'default-namespace': ['ns'],
  ...more,
})

export const one = version(1, 'select * from ns.tbl')
export const two = version(2, 'select count(*) from ns.tbl')
export const three = version(3, 'select count(*) as count from ns.tbl')

export const setLocation = { action: 'set-location', location: 'location' }
export const addSchema = (schema: unknown = schemaOf('x')) => ({ action: 'add-schema', schema })
export const addVersion = (added: unknown) => ({ action: 'add-view-version', 'view-version': added })
export const added = [one, two, three].map(addVersion)
export const setCurrent = (id: number) => ({ action: 'set-current-view-version', 'view-version-id': id })
export const setProperties = (updates: unknown) => ({ action: 'set-properties', updates })
export const keep = (entries: string) => setProperties({ 'version.history.num-entries': entries })

export const apply = (base: ViewMetadata | undefined, updates: readonly unknown[], more: Members = {}) =>
  applyViewUpdates(base, updates, { now, newUuid: () => uuid, ...more })

/** A new view with these updates, in one commit. */
export const view = (...updates: unknown[]) => apply(undefined, [setLocation, addSchema(), ...updates])

/** The view again after a commit that changes nothing else, so that old versions expire. */
export const again = (base: ViewMetadata) => apply(base, [setProperties({ touched: 'true' })])

export const versionIds = (metadata: ViewMetadata) => metadata.versions.map((one) => one['version-id'])
export const loggedIds = (metadata: ViewMetadata) => metadata['version-log'].map((one) => one['version-id'])

/** Matches an `IcebergError` of a type whose message has a part. */
export const refusal = (type: IcebergErrorType, part: string) =>
  expect.objectContaining({ name: 'IcebergError', type, message: expect.stringContaining(part) })

export const bad = (message: string) => refusal('IllegalArgumentException', message)
export const invalid = (message: string) => refusal('ValidationException', message)
