import { CatalogError } from '../base/errors.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import type { OperationOptions } from '../catalog/operations/framework/operation.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import type { ArrowInput } from '../engine/arrow/index.ts'
import { arrowFileType, arrowStreamType } from '../protocol/wire.ts'

type ArrowSchema = NonNullable<
  NonNullable<Parameters<typeof import('../engine/arrow/index.ts').toArrowTable>[1]>['schema']
>

export interface ArrowBody {
  readonly bytes: Uint8Array
  readonly type: string
}

/**
 * The rows of a request as Arrow IPC bytes. Bytes of the caller are sent unchanged, because the server checks them.
 * `options` are those of the request for the table's column types.
 */
export async function arrowBody(
  catalog: Catalog,
  operation: OperationName,
  request: Readonly<Record<string, unknown>>,
  options: OperationOptions,
): Promise<ArrowBody> {
  const data = request.data as ArrowInput | undefined
  if (data === undefined) return { bytes: new Uint8Array(), type: arrowStreamType }
  if (data instanceof Uint8Array) return { bytes: data, type: typeOf(data) }
  if (data instanceof ArrayBuffer)
    return arrowBody(catalog, operation, { data: new Uint8Array(data) }, options)
  const schema = Array.isArray(data) ? await schemaFor(catalog, operation, request, options) : undefined
  const { encodeArrow, joinParts, toArrowTable } = await import('../engine/arrow/index.ts')
  const table = await toArrowTable(data, { schema, partial: operation === 'mergeInsertIntoTable' })
  const columns = table.children.map((column) => column.data as never)
  return { bytes: joinParts(encodeArrow(table.schema, columns, 'stream')), type: arrowStreamType }
}

const fileMagic = 'ARROW1'

function typeOf(bytes: Uint8Array): string {
  const first = String.fromCharCode(...bytes.subarray(0, fileMagic.length))
  return first === fileMagic ? arrowFileType : arrowStreamType
}

/** The schema of row objects: that of the target table, or the caller's. */
async function schemaFor(
  catalog: Catalog,
  operation: OperationName,
  { id, branch, mode, schema }: Readonly<Record<string, unknown>>,
  { signal, transaction }: OperationOptions,
): Promise<ArrowSchema | undefined> {
  const given = schema as ArrowSchema | undefined
  const isInsert = operation === 'insertIntoTable' || operation === 'mergeInsertIntoTable'
  if (!isInsert || mode === 'Overwrite') return given
  try {
    const described = await catalog.describeTable(
      { id: id as string[], branch: branch as string, load_detailed_metadata: true },
      { signal, transaction },
    )
    return (described.schema as ArrowSchema | undefined) ?? given
  } catch (error) {
    // A caller may have the right to insert but not to describe. The server checks the columns anyway, and its errors
    // are the most precise. So rows that can be encoded without the table's schema are sent.
    const canSend =
      given !== undefined || (error instanceof CatalogError && error.code === 'PermissionDenied')
    if (canSend && !signal?.aborted) return given
    throw error
  }
}
