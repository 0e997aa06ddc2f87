import { CatalogError, invalid } from '../base/errors.ts'
import { idempotencyHeader } from '../base/model/idempotency-key.ts'
import { type Identifier, quote } from '../base/model/identifier.ts'
import { isRowsSource, type RowsSource } from '../base/model/rows-source.ts'
import { inTransactionHeader } from '../base/model/transaction-id.ts'
import type { AnyOperation, Catalog, OperationOptions } from '../catalog/index.ts'
import { type OperationName, operations } from '../catalog/operations/index.ts'
import type { ArrowInput } from '../engine/arrow/index.ts'
import {
  arrowFileType,
  arrowStreamType,
  encodePathId,
  encodeQuery,
  headerPrefix,
  headersToSend,
  jsonType,
  type Route,
  wire,
} from '../protocol/wire.ts'

/** A request without the server's address and credentials. */
export interface Outgoing {
  readonly route: Route
  readonly method: string
  /** Path and query string. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string | AsyncIterable<Uint8Array> | undefined
  /** Whether the server does it once, however often it is sent. */
  readonly isKeyed: boolean
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Makes the HTTP request of an operation from the checked request and its route. `transaction` is the transaction that
 * it belongs to. `options` are those of the request for the column types of row objects, with the idempotency key.
 */
export async function requestOf(
  catalog: Catalog,
  operation: OperationName,
  checked: Fields,
  options: OperationOptions,
  transaction: string | undefined,
): Promise<Outgoing> {
  const route = wire[operation]
  const request = asSent(operations[operation].definition.request, checked) as Fields
  const { idempotencyKey } = options
  const context = request.context as Readonly<Record<string, string>> | undefined
  const query = encodeQuery(route.query, request)
  const { body, headers } = await bodyOf(catalog, operation, route, request, options)
  return {
    route,
    method: route.methods[0],
    target: `${pathOf(route.path, request)}${query.length > 0 ? `?${new URLSearchParams(query)}` : ''}`,
    headers: {
      ...headersToSend(context),
      ...headers,
      ...(transaction !== undefined && { [inTransactionHeader]: transaction }),
      ...(idempotencyKey !== undefined && { [idempotencyHeader]: idempotencyKey }),
    },
    body,
    isKeyed: idempotencyKey !== undefined,
  }
}

async function bodyOf(
  catalog: Catalog,
  operation: OperationName,
  route: Route,
  request: Fields,
  options: OperationOptions,
): Promise<{ body: Outgoing['body']; headers: Record<string, string> }> {
  switch (route.body) {
    case 'none':
      return { body: undefined, headers: {} }
    case 'arrow': {
      const { bytes, type } = await arrowBody(catalog, operation, request, options)
      return { body: bytes, headers: { 'content-type': type } }
    }
    case 'metadata':
      return { body: JSON.stringify(request.metadata), headers: { 'content-type': jsonType } }
    case 'json': {
      const fields = jsonFields(route, request.schema === undefined ? request : await withJsonSchema(request))
      return { body: JSON.stringify(fields), headers: { 'content-type': jsonType } }
    }
  }
}

/** The request with its Arrow schema in the JSON form of the protocol. */
async function withJsonSchema(request: Fields): Promise<Fields> {
  const { toJsonSchema, toSchema } = await import('../engine/arrow/index.ts')
  return { ...request, schema: toJsonSchema(toSchema(request.schema as Parameters<typeof toSchema>[0])) }
}

/**
 * The fields of a JSON body: all that are not in the query or in headers. The identifier is also in the path, where `$`
 * always joins its names, because no name contains it.
 */
function jsonFields(route: Route, { delimiter, context, ...request }: Fields): Fields {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(request)) {
    if (!Object.hasOwn(route.query, name)) fields[name] = value
  }
  const entries = Object.entries(context ?? {}).filter(([key]) => !key.startsWith(headerPrefix))
  if (entries.length > 0) fields.context = Object.fromEntries(entries)
  return fields
}

function pathOf(path: string, request: Fields): string {
  return path.replace(/\{(\w+)\}/g, (_, field: string) => {
    const value = request[field]
    const names = Array.isArray(value) ? (value as Identifier) : typeof value === 'string' ? [value] : []
    const segment = encodePathId(names)
    if (/^(%2E){1,2}$/i.test(segment)) {
      throw invalid(
        `The identifier ${quote(names.join())} cannot be sent in a URL, where it would be a step in the path. Rename it on the server's own machine.`,
      )
    }
    return segment
  })
}

type Schema = AnyOperation['request']

/**
 * A checked request as the caller wrote it, without nulls and without the defaults that the check filled in. A server
 * has its own defaults, and may not know these fields.
 */
function asSent(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { entries, item, wrapped } = schema as {
    entries?: Readonly<Record<string, Schema>>
    item?: Schema
    wrapped?: Schema
  }
  if (wrapped !== undefined) return asSent(wrapped, value)
  if (item !== undefined && Array.isArray(value)) {
    // A pipe may validate the list first and its items in a later step.
    const items = itemOfPipe(schema) ?? item
    return value.map((member) => asSent(items, member))
  }
  if (entries === undefined) return value
  const sent: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const entry = entries[name]
    if (member === undefined || member === null || (entry !== undefined && isDefault(entry, member))) continue
    sent[name] = entry === undefined ? member : asSent(entry, member)
  }
  return sent
}

function itemOfPipe(schema: Schema): Schema | undefined {
  const { pipe = [] } = schema as { pipe?: readonly { item?: Schema }[] }
  return pipe.slice(1).find(({ item }) => item !== undefined)?.item
}

function isDefault(entry: Schema, member: unknown): boolean {
  const { default: given } = entry as { readonly default?: unknown }
  return given !== undefined && given === member
}

type ArrowSchema = NonNullable<
  NonNullable<Parameters<typeof import('../engine/arrow/index.ts').toArrowTable>[1]>['schema']
>

interface ArrowBody {
  readonly bytes: Uint8Array | AsyncIterable<Uint8Array>
  readonly type: string
}

/**
 * The rows of a request as Arrow IPC bytes. Bytes of the caller are sent unchanged, because the server checks them.
 * `options` are those of the request for the table's column types.
 */
async function arrowBody(
  catalog: Catalog,
  operation: OperationName,
  request: Readonly<Record<string, unknown>>,
  options: OperationOptions,
): Promise<ArrowBody> {
  const data = request.data as ArrowInput | RowsSource | undefined
  if (data === undefined) return { bytes: new Uint8Array(), type: arrowStreamType }
  if (data instanceof Uint8Array) return { bytes: data, type: typeOf(data) }
  if (data instanceof ArrayBuffer)
    return arrowBody(catalog, operation, { data: new Uint8Array(data) }, options)
  if (isRowsSource(data)) {
    const schema = await schemaFor(catalog, operation, request, options)
    const { encodeStream } = await import('../engine/arrow/index.ts')
    return { bytes: encodeStream(data, { ...schema, signal: options.signal }), type: arrowStreamType }
  }
  const schema = Array.isArray(data) ? await schemaFor(catalog, operation, request, options) : {}
  const { encodeArrow, joinParts, toArrowTable } = await import('../engine/arrow/index.ts')
  const table = await toArrowTable(data, { ...schema, partial: operation === 'mergeInsertIntoTable' })
  const columns = table.children.map((column) => column.data as never)
  return { bytes: joinParts(encodeArrow(table.schema, columns, 'stream')), type: arrowStreamType }
}

const fileMagic = 'ARROW1'

function typeOf(bytes: Uint8Array): string {
  const first = String.fromCharCode(...bytes.subarray(0, fileMagic.length))
  return first === fileMagic ? arrowFileType : arrowStreamType
}

interface SchemaOptions {
  readonly schema?: ArrowSchema | undefined
  readonly takesTypes?: boolean | ArrowSchema | undefined
}

/** The schema of row objects: that of the target table, with types of the caller's where it has none, or the caller's. */
async function schemaFor(
  catalog: Catalog,
  operation: OperationName,
  { id, branch, mode, schema }: Readonly<Record<string, unknown>>,
  { signal, transaction }: OperationOptions,
): Promise<SchemaOptions> {
  const given = schema as ArrowSchema | undefined
  const isInsert = operation === 'insertIntoTable' || operation === 'mergeInsertIntoTable'
  if (!isInsert || mode === 'Overwrite') return { schema: given }
  try {
    const described = await catalog.describeTable(
      { id: id as string[], branch: branch as string, load_detailed_metadata: true },
      { signal, transaction },
    )
    const known = described.schema as ArrowSchema | undefined
    return known === undefined ? { schema: given } : { schema: known, takesTypes: given ?? true }
  } catch (error) {
    // A caller may have the right to insert but not to describe. The server checks the columns anyway, and its errors
    // are the most precise. So rows that can be encoded without the table's schema are sent.
    const canSend =
      given !== undefined || (error instanceof CatalogError && error.code === 'PermissionDenied')
    if (canSend && !signal?.aborted) return { schema: given }
    throw error
  }
}
