import type { Schema, Table } from '@uwdata/flechette'
import { unsupported } from '../../base/errors.ts'
import { TimeSlice } from '../../base/scheduling/time-slice.ts'
import type { AnyBatch, AnyColumn } from '../arrow/batch.ts'
import { decodeSchema } from '../arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import type { MergeOptions, NewColumn, RowCounts, UpdateOptions } from '../table/table-engine.ts'
import { matchSchema, matchSome } from '../table/write/schema-match.ts'
import type { NativeTable } from './native.ts'

/** A change of rows or columns, as data: it could be sent to another process. */
export type RowChange =
  | { readonly kind: 'insert'; readonly rows: Table; readonly overwrite: boolean }
  | { readonly kind: 'delete'; readonly predicate: string }
  | ({ readonly kind: 'update' } & UpdateOptions)
  | { readonly kind: 'merge'; readonly rows: Table; readonly merge: MergeOptions }
  | { readonly kind: 'add columns'; readonly columns: readonly NewColumn[] }
  | { readonly kind: 'drop columns'; readonly paths: readonly string[] }

/** What a change did. */
export interface RowsChanged {
  readonly affected: number
  readonly counts?: RowCounts
}

/** Changes a table of Lance. */
export async function applyChange(table: NativeTable, change: RowChange): Promise<RowsChanged> {
  switch (change.kind) {
    case 'insert': {
      const { rows, overwrite } = change
      const bytes = overwrite
        ? encoded(rows.schema, rows.children as AnyColumn[])
        : await matched(table, rows)
      await table.add(bytes, overwrite ? 'overwrite' : 'append')
      return { affected: rows.numRows }
    }
    case 'delete':
      return { affected: (await table.delete(change.predicate)).numDeletedRows }
    case 'update':
      return { affected: (await table.update(change.predicate, change.updates)).rowsUpdated }
    case 'merge':
      return mergeRows(table, change.rows, change.merge)
    case 'add columns':
      await addColumns(table, change.columns)
      return { affected: 0 }
    case 'drop columns':
      await table.dropColumns(change.paths)
      return { affected: 0 }
  }
}

const schemaOf = async (table: NativeTable) => decodeSchema(await table.schema())

/** Rows in the columns of the table, as our own engine would write them. */
async function matched(table: NativeTable, rows: Table): Promise<Uint8Array> {
  const schema = await schemaOf(table)
  return encoded(schema, await matchSchema(rows, schema, new TimeSlice(undefined)))
}

function encoded(schema: Schema, columns: readonly AnyColumn[]): Uint8Array {
  const batches = columns.map(({ data }) => data as unknown as readonly AnyBatch[])
  return joinParts(encodeArrow(schema, batches))
}

async function mergeRows(table: NativeTable, rows: Table, merge: MergeOptions): Promise<RowsChanged> {
  const { on, matched, matchedIf, inserts, orphans, orphansIf } = merge
  if (matched === 'delete') {
    throw unsupported(
      'Merges of tables of Lance cannot delete the rows that match.',
      'Delete them by a predicate of their keys.',
    )
  }
  const schema = await schemaOf(table)
  const found = matchSome(rows, schema)
  const present = [...found.keys()].filter((i) => found[i] !== undefined)
  const some = { ...schema, fields: present.map((i) => schema.fields[i]!) } as Schema
  let builder = table.mergeInsert(on)
  if (matched === 'update') builder = builder.whenMatchedUpdateAll(matchedIf)
  if (inserts) builder = builder.whenNotMatchedInsertAll()
  if (orphans === 'delete') builder = builder.whenNotMatchedBySourceDelete(orphansIf)
  const { numInsertedRows, numUpdatedRows, numDeletedRows } = await builder.execute(
    encoded(
      some,
      present.map((i) => found[i]!),
    ),
  )
  const counts = { inserted: numInsertedRows, updated: numUpdatedRows, deleted: numDeletedRows }
  return { affected: counts.inserted + counts.updated + counts.deleted, counts }
}

/** Lance adds columns of expressions, or columns of nulls. Both together would be two versions. */
async function addColumns(table: NativeTable, columns: readonly NewColumn[]): Promise<void> {
  const computed = columns.flatMap((column) =>
    'expression' in column ? [{ name: column.name, valueSql: column.expression }] : [],
  )
  const fields = columns.flatMap((column) => ('field' in column ? [column.field] : []))
  if (computed.length > 0 && fields.length > 0) {
    throw unsupported(
      'Tables of Lance cannot get columns of expressions and columns of nulls in one version.',
      'Add them by two requests.',
    )
  }
  if (computed.length > 0) await table.addColumns(computed)
  else {
    const empty = encodeArrow(
      { fields } as unknown as Schema,
      fields.map(() => []),
    )
    await table.addColumnsWithSchema(joinParts(empty))
  }
}
