import type { Schema, Table } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import type { MatchedRows } from '../table-engine.ts'
import { matchSchema } from './schema-match.ts'

/** Rows that fit a schema, with the table that they came from: the columns may change before they are written. */
export interface MatchedColumns extends MatchedRows {
  readonly table: Table
  readonly schema: Schema
  readonly columns: readonly AnyColumn[]
}

export async function matchRows(timeSlice: TimeSlice, schema: Schema, table: Table): Promise<MatchedColumns> {
  const columns = await matchSchema(table, schema, timeSlice)
  let bytes = 0
  for (const { data } of columns) for (const batch of data) bytes += bytesInUse(batch as AnyBatch)
  return { rows: table.numRows, bytes, table, schema, columns }
}

/** The columns of all rows, one after the other. Those that were matched with another schema are matched again. */
export async function joinMatched(
  timeSlice: TimeSlice,
  schema: Schema,
  all: readonly MatchedColumns[],
): Promise<readonly AnyColumn[]> {
  const columns: (readonly AnyColumn[])[] = []
  for (const one of all)
    columns.push(one.schema === schema ? one.columns : await matchSchema(one.table, schema, timeSlice))
  return schema.fields.map(({ type }, i) =>
    makeColumn(
      type,
      columns.flatMap((one) => one[i]!.data as readonly AnyBatch[]),
    ),
  )
}
