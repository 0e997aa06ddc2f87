import { type Schema, Table } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { performance } from '../../../base/time.ts'
import { type AnyBatch, makeColumn } from '../batch.ts'
import { hasDictionary } from '../layout.ts'
import { checkColumns } from '../schema.ts'
import { sliceBatch } from '../take/take.ts'
import { buildBatch, unknownField } from './build.ts'
import { described, Inference, ownValue } from './infer.ts'
import type { ArrowInputOptions } from './input.ts'

export type Row = Readonly<Record<string, unknown>>

/** Rows between two checks of the clock. */
const fewRows = 16

/** A table of row objects with the given or inferred schema. Building one of its batches does not delay other work. */
export async function tableFromRows(
  rows: readonly Row[],
  given: Schema | undefined,
  { signal, onProgress, partial = false }: Pick<ArrowInputOptions, 'signal' | 'onProgress' | 'partial'>,
): Promise<Table> {
  const timeSlice = new TimeSlice(signal)
  const whole = given ?? (await inferSchema(rows, timeSlice))
  checkColumns(whole)
  const used = given === undefined ? undefined : await checkNames(rows, whole, timeSlice)
  const fields =
    partial && used && used.size > 0 ? whole.fields.filter(({ name }) => used.has(name)) : whole.fields
  const schema = { ...whole, fields }
  const columns: AnyBatch[][] = fields.map(() => [])
  const pace = new Pace()
  const lengths: number[] = []
  for (let start = 0; start < rows.length; ) {
    const end = Math.min(start + pace.rows, rows.length)
    pace.begin()
    for (const [i, field] of fields.entries()) {
      if (!hasDictionary(field.type)) columns[i]!.push(buildBatch(field, cells(rows, field.name, start, end)))
    }
    pace.end()
    lengths.push(end - start)
    start = end
    onProgress?.({ rowsDone: end, rowsTotal: rows.length })
    if (timeSlice.due) await timeSlice.rest()
  }
  for (const [i, field] of fields.entries()) {
    if (rows.length === 0 || !hasDictionary(field.type)) continue
    // A dictionary covers the whole column.
    const whole = buildBatch(field, cells(rows, field.name, 0, rows.length))
    let at = 0
    for (const length of lengths) {
      columns[i]!.push(sliceBatch(whole, at, at + length))
      at += length
    }
    if (timeSlice.due) await timeSlice.rest()
  }
  return new Table(
    schema,
    fields.map(({ type }, i) => makeColumn(type, columns[i]!)),
  )
}

/** How many rows to build at a time: about a few milliseconds' worth. */
class Pace {
  rows = 256
  #since = 0

  begin(): void {
    this.#since = performance.now()
  }

  end(): void {
    const took = performance.now() - this.#since
    if (took < 2) this.rows = Math.min(this.rows * 2, 16_384)
    else if (took > 6) this.rows = Math.max(this.rows / 2, 64)
  }
}

/** The values of a column in rows from `start` up to `end`. */
function cells(rows: readonly Row[], name: string, start: number, end: number) {
  const values: unknown[] = []
  const numbers: number[] = []
  for (let i = start; i < end; i++) {
    values.push(ownValue(rows[i]!, name))
    numbers.push(i)
  }
  return { values, rows: numbers }
}

async function inferSchema(rows: readonly Row[], timeSlice: TimeSlice): Promise<Schema> {
  const inference = new Inference('')
  for (const [i, row] of rows.entries()) {
    requireObject(row, i)
    inference.addFields(row, i)
    if (i % fewRows === 0 && timeSlice.due) await timeSlice.rest()
  }
  const { fields } = inference
  if (fields.length === 0) {
    throw invalid(
      'There are no rows with values to tell the columns from. Give a schema, or at least one row.',
    )
  }
  return { version: 4, endianness: 0, fields, metadata: null }
}

/** Refuses rows with values that no column of the schema has. Returns the names that occur in the rows. */
async function checkNames(
  rows: readonly Row[],
  { fields }: Schema,
  timeSlice: TimeSlice,
): Promise<ReadonlySet<string>> {
  const names = new Set(fields.map(({ name }) => name))
  const used = new Set<string>()
  for (const [i, row] of rows.entries()) {
    requireObject(row, i)
    for (const name of Object.keys(row)) {
      if (!names.has(name)) throw unknownField(name, i)
      used.add(name)
    }
    if (i % fewRows === 0 && timeSlice.due) await timeSlice.rest()
  }
  return used
}

function requireObject(row: unknown, i: number): void {
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return
  throw invalid(`Row ${i} is ${described(row)}. Give every row as an object with a value for each column.`)
}
