import type { Schema, Table } from '@uwdata/flechette'
import { invalid, unsupported } from '../../base/errors.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { AnyBatch, AnyColumn } from '../arrow/batch.ts'
import { bytesInUse } from '../arrow/cast/cast-size.ts'
import type { RowStream } from '../arrow/input/row-stream.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import { toJsonSchema } from '../arrow/json-schema.ts'
import { assembleColumns } from '../arrow/take/assemble-columns.ts'
import { wholeOf } from '../arrow/take/take.ts'
import type {
  ColumnAlteration,
  MergeOptions,
  NewColumn,
  RowCounts,
  UpdateOptions,
} from '../table/table-engine.ts'
import { matchSchema, matchSome } from '../table/write/schema-match.ts'
import { checkNewName, newColumns } from './columns.ts'
import { requireOldValues, wholeExpression } from './expressions.ts'
import { createLanceIndex, dropLanceIndex, type LanceIndex } from './indexes.ts'
import type { LancePackage, NativeTable } from './native.ts'

/** A change of rows or columns, as data: it could be sent to another process. */
export type RowChange =
  | { readonly kind: 'insert'; readonly rows: Table | RowStream; readonly overwrite: boolean }
  | { readonly kind: 'delete'; readonly predicate: string }
  | ({ readonly kind: 'update' } & UpdateOptions)
  | { readonly kind: 'merge'; readonly rows: Table; readonly merge: MergeOptions }
  | { readonly kind: 'add columns'; readonly columns: readonly NewColumn[] }
  | { readonly kind: 'drop columns'; readonly paths: readonly string[] }
  | { readonly kind: 'alter columns'; readonly alterations: readonly ColumnAlteration[] }
  | { readonly kind: 'field metadata'; readonly updates: readonly FieldUpdate[] }
  | { readonly kind: 'create index'; readonly index: LanceIndex }
  | { readonly kind: 'drop index'; readonly name: string }
  | { readonly kind: 'restore'; readonly version: number }
  | { readonly kind: 'optimize' }

/** New metadata of a field. Null removes a key. */
export interface FieldUpdate {
  readonly path: string
  readonly metadata: Readonly<Record<string, string | null>>
  readonly replace: boolean
}

/** What a change did. */
export interface RowsChanged {
  readonly affected: number
  readonly counts?: RowCounts
}

/** A change whose rows are bytes of Arrow, for a table with a schema. It can be made again. */
export type PreparedChange =
  | Exclude<RowChange, { readonly kind: 'insert' | 'merge' }>
  | ({ readonly kind: 'insert'; readonly overwrite: boolean } & EncodedRows)
  | { readonly kind: 'merge'; readonly bytes: Uint8Array; readonly merge: MergeOptions }

/** Rows as the bytes of an Arrow IPC file. */
export interface EncodedRows {
  readonly bytes: Uint8Array
  readonly affected: number
}

/** Prepares a change for a table with a schema. */
export async function prepareChange(change: RowChange, schema: Schema): Promise<PreparedChange> {
  if (change.kind === 'insert') {
    const { kind, rows, overwrite } = change
    return { kind, overwrite, ...(await gathered(rows, overwrite ? undefined : schema)) }
  }
  if (change.kind !== 'merge') return change
  const { kind, rows, merge } = change
  requireMerge(merge)
  return { kind, merge, bytes: someColumns(rows, schema) }
}

/** Changes a table of Lance. */
export async function applyChange(
  lance: LancePackage,
  table: NativeTable,
  change: PreparedChange,
): Promise<RowsChanged> {
  switch (change.kind) {
    case 'insert':
      await table.add(change.bytes, change.overwrite ? 'overwrite' : 'append')
      return { affected: change.affected }
    case 'delete':
      return { affected: (await table.delete(wholeExpression(change.predicate))).numDeletedRows }
    case 'update':
      return { affected: await updateRows(table, change) }
    case 'merge':
      return mergeRows(table, change.bytes, change.merge)
    case 'add columns':
      await addColumns(table, change.columns)
      return { affected: 0 }
    default:
      await changeTable(lance, table, change)
      return { affected: 0 }
  }
}

/** A time before all versions. It is one too where a release of the package takes an age for it: decades. */
const beforeAllVersions = 900_000_000_000

/** Changes what a table has besides its rows. */
async function changeTable(
  lance: LancePackage,
  table: NativeTable,
  change: Exclude<
    PreparedChange,
    { readonly kind: 'insert' | 'delete' | 'update' | 'merge' | 'add columns' }
  >,
): Promise<unknown> {
  switch (change.kind) {
    case 'drop columns':
      return table.dropColumns(change.paths)
    case 'alter columns':
      return table.alterColumns(change.alterations.map(alteration))
    case 'field metadata':
      return table.updateFieldMetadata(change.updates)
    case 'create index':
      return createLanceIndex(lance, table, change.index)
    case 'drop index':
      return dropLanceIndex(table, change.name)
    case 'restore':
      await table.checkout(change.version)
      return table.restore()
    case 'optimize':
      // Which versions go is for the catalog to say: tags, branches, backups and clones may need them.
      return table.optimize(beforeAllVersions, false)
  }
}

function alteration({ path, rename, type, nullable }: ColumnAlteration) {
  if (rename !== undefined) checkNewName(rename)
  const field = type && { name: '', type, nullable: true, metadata: null }
  const [json] = field ? toJsonSchema({ fields: [field] } as unknown as Schema).fields : []
  return {
    path,
    ...(rename !== undefined && { rename }),
    ...(nullable !== undefined && { nullable }),
    ...(json && { dataType: JSON.stringify(json.type) }),
  }
}

/** Rows as the bytes of an Arrow IPC file, in their own columns. */
export const ownColumns = (rows: Table | RowStream) => gathered(rows, undefined)

/** Most bytes of rows in one insert: Lance takes them as a whole. */
const mostBytes = 1 << 30

/** Rows in the columns of a table, as our own engine would write them; in their own columns without a table. */
async function gathered(rows: Table | RowStream, there: Schema | undefined): Promise<EncodedRows> {
  const schema = there ?? newColumns(rows.schema)
  const slice = new TimeSlice(undefined)
  const batches: AnyBatch[][] = schema.fields.map(() => [])
  let affected = 0
  let size = 0
  for await (const part of 'tables' in rows ? rows.tables : [rows]) {
    const columns = there ? await matchSchema(part, there, slice) : (part.children as AnyColumn[])
    for (const [i, column] of cutAlike(schema, columns).entries()) {
      for (const batch of column) {
        batches[i]!.push(batch)
        size += bytesInUse(batch)
      }
    }
    if (size > mostBytes) {
      throw invalid(
        `The rows take more than ${mostBytes.toLocaleString('en')} bytes, the most of one insert into a table of Lance. Insert them in parts.`,
      )
    }
    affected += part.numRows
  }
  return { bytes: joinParts(encodeArrow(schema, batches)), affected }
}

/** The batches of each column, cut at the same rows. Casts and columns of nulls cut theirs elsewhere. */
function cutAlike({ fields }: Schema, columns: readonly AnyColumn[]): (readonly AnyBatch[])[] {
  const found = columns.map(({ data }) =>
    (data as unknown as readonly AnyBatch[]).filter(({ length }) => length > 0),
  )
  const [first] = found
  const isAlike = found.every(
    (column) =>
      column.length === first!.length && column.every(({ length }, i) => length === first![i]!.length),
  )
  if (isAlike) return found
  const cut = assembleColumns(
    fields,
    found.map((column) => column.map(wholeOf)),
  )
  return fields.map((_, i) => cut.map((batches) => batches[i]!))
}

function encoded(schema: Schema, columns: readonly AnyColumn[]): Uint8Array {
  const batches = columns.map(({ data }) => data as unknown as readonly AnyBatch[])
  return joinParts(encodeArrow(schema, batches))
}

function requireMerge({ matched }: MergeOptions): void {
  if (matched !== 'delete') return
  throw unsupported(
    'Merges of tables of Lance cannot delete the rows that match.',
    'Delete them by a predicate of their keys.',
  )
}

/** Rows in those columns of a table that they have. */
function someColumns(rows: Table, schema: Schema): Uint8Array {
  const found = matchSome(rows, schema)
  const present = [...found.keys()].filter((i) => found[i] !== undefined)
  return encoded(
    { ...schema, fields: present.map((i) => schema.fields[i]!) } as Schema,
    present.map((i) => found[i]!),
  )
}

async function updateRows(table: NativeTable, { predicate, updates }: UpdateOptions): Promise<number> {
  requireOldValues(updates)
  const values = updates.map(([column, expression]) => [column, wholeExpression(expression)] as const)
  return (await table.update(wholeExpression(predicate), values)).rowsUpdated
}

async function mergeRows(table: NativeTable, rows: Uint8Array, merge: MergeOptions): Promise<RowsChanged> {
  const { on, matched, matchedIf, inserts, orphans, orphansIf } = merge
  let builder = table.mergeInsert(on)
  if (matched === 'update') builder = builder.whenMatchedUpdateAll(wholeExpression(matchedIf))
  if (inserts) builder = builder.whenNotMatchedInsertAll()
  if (orphans === 'delete') builder = builder.whenNotMatchedBySourceDelete(wholeExpression(orphansIf))
  const { numInsertedRows, numUpdatedRows, numDeletedRows } = await builder.execute(rows)
  const counts = { inserted: numInsertedRows, updated: numUpdatedRows, deleted: numDeletedRows }
  return { affected: counts.inserted + counts.updated + counts.deleted, counts }
}

/** Lance adds columns of expressions, or columns of nulls. Both together would be two versions. */
async function addColumns(table: NativeTable, columns: readonly NewColumn[]): Promise<void> {
  const computed = columns.flatMap((column) =>
    'expression' in column ? [{ name: column.name, valueSql: wholeExpression(column.expression) }] : [],
  )
  const fields = columns.flatMap((column) => ('field' in column ? [column.field] : []))
  if (computed.length > 0 && fields.length > 0) {
    throw unsupported(
      'Tables of Lance cannot get columns of expressions and columns of nulls in one version.',
      'Add them by two requests.',
    )
  }
  for (const { name } of computed) checkNewName(name)
  if (computed.length > 0) await table.addColumns(computed)
  else {
    const empty = encodeArrow(
      newColumns({ fields } as unknown as Schema),
      fields.map(() => []),
    )
    await table.addColumnsWithSchema(joinParts(empty))
  }
}
