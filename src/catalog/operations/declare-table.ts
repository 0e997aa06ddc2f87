import * as v from 'valibot'
import {
  changeFields,
  flag,
  requestFields,
  stringMap,
  tableIdentifier,
  text,
} from '../../base/model/fields.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import type { TableRecord } from '../../base/store/records.ts'
import { askAboutLocation, claimLocation } from '../locations/claim.ts'
import type { LocationContext } from '../locations/context.ts'
import { vendedCredentials } from '../locations/credentials.ts'
import { checkLocation, isManaged, locationOf, namedLocation, newLocation } from '../locations/locations.ts'
import { findNamespace, putTable, requireFreeName } from '../lookup/names.ts'
import { requireRule } from '../lookup/retention-rule.ts'
import { type ChangeContext, commit } from '../transactions/commit.ts'
import { type OperationContext, operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const declareTableRequest = v.object({
  ...requestFields,
  id: tableIdentifier,
  location: v.nullish(text),
  vend_credentials: v.nullish(flag),
  properties: v.nullish(stringMap),
})

const declareTableResponse = v.object({
  ...changeFields,
  location: text,
  storage_options: v.optional(stringMap),
  // The protocol answers null where an implementation has no properties.
  properties: v.nullable(stringMap),
  managed_versioning: v.optional(flag),
})

/**
 * Reserves a table's name and location; it has no rows or versions yet. Without `location` the catalog
 * chooses one under its own root. Rows inserted into it later, or a version created by a client that wrote at
 * the location itself, make it a created table.
 *
 * ```ts
 * const { location } = await catalog.declareTable({ id: ['prod', 'flights'] })
 * ```
 */
export const declareTable = operation({
  name: 'declareTable',
  summary: 'Declare a table: reserve its name and location.',
  request: declareTableRequest,
  response: declareTableResponse,
  errors: ['NamespaceNotFound', 'TableAlreadyExists', 'ConcurrentModification'],
  changes: true,
  location: namedLocation,
  route: post('/v1/table/{id}/declare'),
  command: { group: 'Tables', aliases: ['declare'], begins: true, examples: ['./catalog prod.orders'] },
  run: async (core, request) => {
    const declaration = prepareDeclaration(core, request)
    // Before the commit: a failing hook must not make a committed change fail.
    const vended = request.vend_credentials && (await credentialsFor(core, declaration, request))
    const response = await commit(core, 'DeclareTable', request.id, (change) =>
      declare(core, change, declaration),
    )
    return vended ? { ...response, ...vended } : response
  },
})

export type DeclaredTable = v.InferOutput<typeof declareTableResponse>

export interface Declaration {
  readonly id: Identifier
  readonly internalId: string
  readonly location: string | null
  /** Whether the request names the location. */
  readonly isNamed: boolean
  readonly properties: Readonly<Record<string, string>>
}

/** Checks what can be checked before the change, and gives the table its internal id. */
export function prepareDeclaration(
  core: OperationContext,
  request: {
    readonly id: Identifier
    readonly location?: string | null | undefined
    readonly properties?: Readonly<Record<string, string>> | null | undefined
  },
): Declaration {
  requireRule(request.properties)
  const location = request.location ?? null
  const { declaredRoot, tableRoot } = core.settings
  const internalId = core.newTableId()
  return {
    id: request.id,
    internalId,
    location:
      location === null
        ? newLocation(core.contentRoots, declaredRoot ?? tableRoot, internalId)
        : checkLocation(core.contentRoots, location),
    isNamed: location !== null,
    properties: request.properties ?? {},
  }
}

/** The credentials for a table that is to be declared, if the request asks for some, and hooks allow its location. */
export async function credentialsFor(
  core: LocationContext,
  { internalId, location, isNamed }: Declaration,
  request: Parameters<typeof vendedCredentials>[2],
): ReturnType<typeof vendedCredentials> {
  if (location !== null && isNamed) await askAboutLocation(core, 'declareTable', location)
  const url = locationOf(core.contentRoots, internalId, { location })
  return vendedCredentials(core, url, request)
}

export function declare(
  core: LocationContext,
  { writer, now, noted }: ChangeContext,
  { id, internalId, location, isNamed, properties }: Declaration,
): DeclaredTable {
  const parent = findNamespace(writer, id.slice(0, -1))
  requireFreeName(writer, parent, id, 'TableAlreadyExists')
  if (location !== null)
    claimLocation(core, writer, location, internalId, isNamed ? 'declareTable' : undefined)
  const record: TableRecord = {
    parent,
    name: id.at(-1)!,
    location,
    properties,
    created_at: now,
    main: { latest: null, last: null },
    registered: false,
  }
  noted.noteSubject(internalId, id)
  putTable(writer, internalId, record)
  const declared: DeclaredTable = { location: locationOf(core.contentRoots, internalId, record), properties }
  // Asks clients to keep versions through the catalog, if it is configured so.
  if (isManaged(core, record)) declared.managed_versioning = true
  return declared
}
