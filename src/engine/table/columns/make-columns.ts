import type { DataType, Field } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import { bytesInUse } from '../../arrow/cast/cast-size.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import type { ValueExpression, ValueOptions, WorkBudget } from '../../predicate/index.ts'
import type { EncodedFile, FragmentEntry, FragmentLayout } from '../format/manifest.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { FragmentRows } from '../read/fragment-read.ts'
import { selectRows } from '../read/row-selection.ts'
import { valueParts } from '../scan/evaluate.ts'
import { rowNumbers } from '../scan/row-columns.ts'
import { encodeFile, fragmentBytes } from '../write/write-rows.ts'
import type { FieldNode } from './field-tree.ts'

/** Where new columns come from. */
export interface ColumnSource {
  /** The columns that are read, by their index. */
  readonly reads: readonly number[]
  /** The new columns for the live rows of a fragment. `firstRow` is the number of the first one. */
  readonly compute: (
    rows: FragmentRows,
    firstRow: number,
    timeSlice: TimeSlice,
  ) => Promise<readonly AnyBatch[]>
}

/** A fragment that gets new columns. */
export interface PendingFragment<Entry = FragmentLayout> {
  readonly entry: Entry
  readonly live: Bitmap | undefined
  /** The number of its first live row, counted over all fragments. */
  readonly firstRow: number
}

/**
 * Makes the file of a fragment's new columns from the columns `from` that the source reads; undefined if the rows were
 * only checked. The file may share memory with these columns. Deleted rows get any values.
 */
export async function makeColumns(
  from: FragmentRows,
  source: ColumnSource,
  file: TableSchema,
  { entry, live, firstRow }: PendingFragment,
  timeSlice: TimeSlice,
): Promise<EncodedFile | undefined> {
  const computed = await source.compute(compactRows(from, live), firstRow, timeSlice)
  if (file.fields.length === 0) return undefined
  const batches = computed.map((batch, i) => expandRows(batch, file.fields[i]!.type, live, entry.rows))
  return encodeFile(file, batches, timeSlice)
}

/** The live rows of a fragment, without gaps. Deleted rows must not make a change of columns fail. */
export function compactRows(rows: FragmentRows, live: Bitmap | undefined): FragmentRows {
  if (live === undefined) return rows
  const { runs, rows: length } = selectRows(live, rows.length, 0, rows.length)
  return {
    length,
    columns: rows.columns.map((batch) => batch && assemble(batch.type, [{ batch, runs }])),
  }
}

/** Moves values of live rows to the positions of these rows. Deleted rows get nulls: a value of each might be long. */
function expandRows(batch: AnyBatch, type: DataType, live: Bitmap | undefined, rows: number): AnyBatch {
  if (live === undefined) return batch
  if (batch.length === 0) return nullBatch(type, rows, Number.POSITIVE_INFINITY)
  const none = nullBatch(type, 1, Number.POSITIVE_INFINITY)
  const pieces: { readonly batch: AnyBatch; readonly runs: number[] }[] = []
  let next = 0
  for (let row = 0; row < rows; row++) {
    const isLive = hasRow(live, row)
    const [from, at] = isLive ? [batch, next++] : [none, 0]
    const last = pieces.at(-1)
    if (last?.batch !== from) pieces.push({ batch: from, runs: [at, at + 1] })
    else if (isLive) last.runs[last.runs.length - 1] = at + 1
    else last.runs.push(0, 1)
  }
  return assemble(type, pieces)
}

/** A column whose values come from an expression. */
export interface ComputedColumn {
  readonly field: Field
  readonly expression: ValueExpression
  readonly budget: WorkBudget
}

/** Computes columns from expressions, which all see the columns before the change. `memory` may hold the values. */
export function computing(columns: readonly ComputedColumn[], memory?: ValueOptions['memory']): ColumnSource {
  return {
    reads: [...new Set(columns.flatMap(({ expression }) => expression.columns))],
    compute: async (rows, firstRow, timeSlice) => {
      const batches: AnyBatch[] = []
      // All values are in memory when they are written, and each one when it is read.
      let left = fragmentBytes
      for (const { field, expression, budget } of columns) {
        const options = { numberOf: rowNumbers(firstRow, undefined), budget, ...(memory && { memory }) }
        const batch = await evaluate({ field, expression }, rows, timeSlice, options, left)
        left -= bytesInUse(batch)
        batches.push(batch)
      }
      return batches
    },
  }
}

/** The values of an expression for all rows of a fragment, computed slice by slice. */
async function evaluate(
  { field, expression }: Pick<ComputedColumn, 'field' | 'expression'>,
  rows: FragmentRows,
  timeSlice: TimeSlice,
  options: ValueOptions,
  maxBytes: number,
): Promise<AnyBatch> {
  const slices: AnyBatch[] = []
  let bytes = 0
  for await (const slice of valueParts(expression, rows, timeSlice, options)) {
    slices.push(slice)
    bytes += bytesInUse(slice)
    if (bytes > maxBytes) throw tooLong(field)
  }
  try {
    return assemble(field.type, slices.map(wholeOf))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw tooLong(field, error)
  }
}

/** The bytes of computed columns for all rows of a fragment, in parts. Values are not kept. */
export async function* bytesOfComputed(
  columns: readonly ComputedColumn[],
  rows: FragmentRows,
  firstRow: number,
  timeSlice: TimeSlice,
): AsyncGenerator<number> {
  for (const { expression, budget } of columns) {
    const options = { numberOf: rowNumbers(firstRow, undefined), budget }
    for await (const slice of valueParts(expression, rows, timeSlice, options)) yield bytesInUse(slice)
  }
}

function tooLong({ name }: Field, cause?: unknown): Error {
  return invalid(
    `The values of column ${JSON.stringify(name)} are too long: in one fragment, which is a file of its own, all new columns together take more than ${fragmentBytes.toLocaleString('en')} bytes. Add fewer columns at a time, compute shorter values, or add the column without values and then update it: updated rows are written in as many fragments as they need.`,
    { cause },
  )
}

export interface ColumnWork extends ColumnSource {
  /** Equal for two versions of a table if the work for a fragment of one is valid for the other. */
  readonly key: string
  /** The columns that are written. Without any, the rows are only checked. */
  readonly writes: readonly FieldNode[]
  /** Whether statistics show that a fragment needs no work. */
  readonly isDone?: (entry: FragmentEntry) => boolean
  /** The most bytes that are written for the given number of rows, if the types determine it. */
  readonly maxBytes?: (rows: number) => number
  /** The expressions of all columns, if each has one: then worker threads can do the work. */
  readonly expressions?: readonly ComputedColumn[]
}
