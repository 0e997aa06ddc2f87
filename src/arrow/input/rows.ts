import { type Schema, Table } from '@uwdata/flechette'
import { invalid } from '../../errors.ts'
import { makeColumn } from '../batch.ts'
import { checkColumns } from '../schema.ts'
import { buildBatch, unknownField } from './build.ts'
import { describe, inferField, keysOf, ownValue } from './infer.ts'

type Row = Readonly<Record<string, unknown>>

/** A table of row objects: of the given schema, or of one inferred from all rows. */
export function tableFromRows(rows: readonly Row[], given: Schema | undefined): Table {
  for (const [i, row] of rows.entries()) {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      throw invalid(
        `Row ${i} is a ${describe(row)}. Give every row as an object with a value for each column.`,
      )
    }
  }
  const numbers = rows.map((_, i) => i)
  const cells = (name: string) => ({ values: rows.map((row) => ownValue(row, name)), rows: numbers })
  const schema = given ?? inferSchema(rows, cells)
  checkColumns(schema)
  const names = new Set(schema.fields.map(({ name }) => name))
  for (const [i, row] of rows.entries()) {
    const extra = Object.keys(row).find((name) => !names.has(name))
    if (extra !== undefined) throw unknownField(extra, i)
  }
  const columns = schema.fields.map((field) =>
    makeColumn(field.type, rows.length > 0 ? [buildBatch(field, cells(field.name))] : []),
  )
  return new Table(schema, columns)
}

function inferSchema(
  rows: readonly Row[],
  cells: (name: string) => { values: unknown[]; rows: number[] },
): Schema {
  const names = keysOf(rows)
  if (names.length === 0) {
    throw invalid(
      'There are no rows with values to tell the columns from. Give a schema, or at least one row.',
    )
  }
  return {
    version: 4,
    endianness: 0,
    fields: names.map((name) => inferField(name, cells(name))),
    metadata: null,
  }
}
