import type { Field, Schema, Table } from '@uwdata/flechette'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import {
  type Filling,
  type Fit,
  fitting,
  missingColumn,
  nullColumn,
  requireKnown,
  schemaMismatch,
  UnfitValue,
} from '../../arrow/fit.ts'
import { childFields } from '../../arrow/layout.ts'
import { sliceBatch } from '../../arrow/take/take.ts'

/**
 * The table's columns in the order of the schema. Missing nullable columns and struct fields become nulls, and values
 * of another type are cast. Throws if the columns or values do not fit the schema; `firstRow` is the number of the first
 * row in these errors.
 */
export async function matchSchema(
  table: Table,
  schema: Schema,
  timeSlice: TimeSlice,
  firstRow = 0,
): Promise<AnyColumn[]> {
  const columns: AnyColumn[] = []
  for (const [i, match] of matchFields(table, schema, { castBytes: 0 }).entries()) {
    const wanted = schema.fields[i]!
    if (match === undefined && !wanted.nullable) throw missingColumn(wanted.name)
    columns.push(
      match ? await fitColumn(wanted, match, timeSlice, firstRow) : nullColumn(wanted, table.numRows),
    )
  }
  return columns
}

/** The same for rows that may lack columns, which are undefined in the result. Only the layout of values may differ. */
export function matchSome(table: Table, schema: Schema): (AnyColumn | undefined)[] {
  return matchFields(table, schema, undefined).map((match, i) => {
    if (match === undefined) return undefined
    const { given, fit } = match
    const wanted = schema.fields[i]!
    try {
      const column = fit ? makeColumn(wanted.type, (given.data as readonly AnyBatch[]).map(fit)) : given
      checkNulls(wanted, column.data as readonly AnyBatch[], wanted.name)
      return column
    } catch (error) {
      throw error instanceof UnfitValue ? error.toError(error.row) : error
    }
  })
}

/** A given column, and how to adapt its batches if they do not fit. */
interface Match {
  readonly given: AnyColumn
  readonly fit: Fit | undefined
}

function matchFields(table: Table, schema: Schema, filling: Filling | undefined): (Match | undefined)[] {
  const { fields } = table.schema
  const indices = new Map(fields.map(({ name }, i) => [name, i]))
  requireKnown(fields, schema.fields)
  return schema.fields.map((wanted) => {
    const index = indices.get(wanted.name)
    if (index === undefined) return undefined
    const fit = fitting(wanted, fields[index]!, filling)
    return { given: table.children[index] as AnyColumn, fit }
  })
}

/** Rows that are adapted at a time. */
const fitRows = 16_384

async function fitColumn(
  wanted: Field,
  { given, fit }: Match,
  timeSlice: TimeSlice,
  from: number,
): Promise<AnyColumn> {
  if (fit === undefined) {
    checkNulls(wanted, given.data as readonly AnyBatch[], wanted.name)
    return given
  }
  const batches: AnyBatch[] = []
  let firstRow = from
  for (const batch of given.data as readonly AnyBatch[]) {
    for (let start = 0; start < batch.length; start += fitRows) {
      const part = sliceBatch(batch, start, Math.min(batch.length, start + fitRows))
      try {
        batches.push(fit(part))
      } catch (error) {
        throw error instanceof UnfitValue ? error.toError(firstRow + start + error.row) : error
      }
      if (timeSlice.due) await timeSlice.rest()
    }
    firstRow += batch.length
  }
  checkNulls(wanted, batches, wanted.name)
  return makeColumn(wanted.type, batches)
}

/** Refuses nulls in a field that must not be null. Within a null struct or list they are allowed. */
function checkNulls(field: Field, batches: readonly AnyBatch[], path: string): void {
  if (!field.nullable && batches.some(({ nullCount }) => nullCount > 0)) {
    throw schemaMismatch(
      `The field \`${path}\` contained null values even though the field is marked non-null in the schema. Fill them, or leave those rows out.`,
    )
  }
  for (const [i, child] of childFields(field.type).entries()) {
    // A child is null wherever its parent is. To distinguish those nulls from others would take a pass over all rows.
    const visible = batches.filter(({ nullCount }) => nullCount === 0).map(({ children }) => children[i]!)
    if (visible.length > 0) checkNulls(child, visible, `${path}.${child.name}`)
  }
}
