import { type Schema, type Table, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, addBytesOfEach, byteLength } from '../../arrow/batch.ts'
import { missingColumn, nullColumn, schemaMismatch } from '../../arrow/fit.ts'
import { hasPlainNumbers } from '../../arrow/layout.ts'
import { isRowColumn } from '../../arrow/schema.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import { type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { ColumnStatistics } from '../../predicate/prune/statistics.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { statisticsIn } from '../format/statistics.ts'
import type { TableSchema } from '../format/table-schema.ts'
import { batchAt, type ColumnPick, inOtherCase, resolve } from '../read/projection.ts'
import { matchSome } from '../write/schema-match.ts'
import { KeyIndex } from './key-index.ts'
import { joined, type KeyValues, keyValues } from './key-values.ts'

/** Rows of the source, in the order of selection. */
export interface SelectedSourceRows {
  readonly rows: number
  readonly parts: readonly { readonly set: number; readonly runs: ArrayLike<number> }[]
}

/** The rows to merge into a table, with an index by their keys. */
export class MergeSource {
  readonly rows: number
  readonly index: KeyIndex
  readonly keys: readonly ColumnPick[]
  readonly #schema: Schema
  /** The rows in as few batches as possible, by the columns of the table; undefined for columns that they lack. */
  readonly #sets: readonly (readonly (AnyBatch | undefined)[])[]
  readonly #ranges: readonly (readonly KeyRange[])[]

  private constructor(parts: {
    schema: Schema
    rows: number
    keys: readonly ColumnPick[]
    index: KeyIndex
    sets: readonly (readonly (AnyBatch | undefined)[])[]
    ranges: readonly (readonly KeyRange[])[]
  }) {
    this.#schema = parts.schema
    this.rows = parts.rows
    this.keys = parts.keys
    this.index = parts.index
    this.#sets = parts.sets
    this.#ranges = parts.ranges
  }

  /** Checks the rows against the columns of a table, and builds the index by the columns `on`. */
  static async of(
    table: Table,
    schema: Schema,
    on: readonly string[],
    inserts: boolean,
    timeSlice: TimeSlice,
  ): Promise<MergeSource> {
    const columns = matchSome(table, schema)
    const keys = on.map((path) => resolveKey(schema, path))
    for (const [i, { path }] of keys.entries()) {
      if (columns[path[0]!] === undefined) {
        throw schemaMismatch(
          `Column ${JSON.stringify(on[i])} is missing in the rows to merge, which are matched by it. Send it with every row.`,
        )
      }
    }
    const absent = schema.fields.find(({ nullable }, i) => inserts && !nullable && columns[i] === undefined)
    if (absent) throw missingColumn(absent.name)
    const present = [...columns.keys()].filter((i) => columns[i] !== undefined)
    const assembled = assembleColumns(
      present.map((i) => schema.fields[i]!),
      present.map((i) => (columns[i]!.data as readonly AnyBatch[]).map(wholeOf)),
    )
    const sets = assembled.map((batches) => {
      const set: (AnyBatch | undefined)[] = schema.fields.map(() => undefined)
      for (const [k, i] of present.entries()) set[i] = batches[k]
      return set
    })
    const values = await Promise.all(
      sets.map((set) => Promise.all(keyBatches(keys, set).map((batch) => keyValues(batch, timeSlice)))),
    )
    const index = await KeyIndex.of(
      keys.map((_, k) => joined(values.map((of) => of[k]!))),
      table.numRows,
      timeSlice,
    )
    const ranges = sets.map((set, s) =>
      keyBatches(keys, set).map((batch, k) => keyRange(batch, values[s]![k]!)),
    )
    return new MergeSource({ schema, rows: table.numRows, keys, index, sets, ranges })
  }

  /** The indices of the table's columns that the key reads. */
  get keyColumns(): number[] {
    return this.keys.map(({ path }) => path[0]!)
  }

  /** The bytes of all rows. */
  get bytes(): number {
    return this.#sets.reduce(
      (sum, set) => sum + set.reduce((all, one) => all + (one ? byteLength(one) : 0), 0),
      0,
    )
  }

  async rowBytes(timeSlice: TimeSlice): Promise<Float64Array> {
    const sizes = new Float64Array(this.rows)
    let first = 0
    for (const set of this.#sets) {
      for (const batch of set) {
        for (let start = 0; batch && start < batch.length; start += 4096) {
          const end = Math.min(start + 4096, batch.length)
          addBytesOfEach(batch, { start, end }, sizes, first + start)
          if (timeSlice.due) await timeSlice.rest()
        }
      }
      first += set.find((batch) => batch !== undefined)?.length ?? 0
    }
    return sizes
  }

  /** The values of a column of the table that the rows have. */
  batchesOf(column: number): AnyBatch[] {
    return this.#sets.map((set) => set[column]!)
  }

  has(column: number): boolean {
    return this.#sets[0]![column] !== undefined
  }

  /** Whether a fragment may have rows with its keys, by statistics alone. */
  mayMatch(entry: FragmentEntry, schema: TableSchema): boolean {
    return this.#ranges.some((ranges) =>
      ranges.every((range, k) => range(statisticsIn(entry, schema, this.keys[k]!.path), entry.rows)),
    )
  }

  /** Selects rows by their numbers, in any order. */
  select(numbers: ArrayLike<number>): SelectedSourceRows {
    const lengths = this.#sets.map((set) => set[this.keys[0]!.path[0]!]!.length)
    const parts: { readonly set: number; readonly runs: Int32Array }[] = []
    let set = 0
    let start = 0
    let end = lengths[0]!
    let runs = new RunBuilder()
    const close = () => {
      if (runs.rows > 0) parts.push({ set, runs: runs.done() })
      runs = new RunBuilder()
    }
    for (let i = 0; i < numbers.length; i++) {
      const row = numbers[i]!
      while (row < start || row >= end) {
        close()
        if (row < start) {
          set = 0
          start = 0
        } else {
          start = end
          set++
        }
        end = start + lengths[set]!
      }
      runs.add(row - start, row - start + 1)
    }
    close()
    return { rows: numbers.length, parts }
  }

  /** The selected rows of a column; nulls for a column that the source lacks. */
  pieces(column: number, { rows, parts }: SelectedSourceRows): Piece[] {
    if (!this.has(column)) {
      const nulls = nullColumn(this.#schema.fields[column]!, rows)
      return (nulls.data as readonly AnyBatch[]).map(wholeOf)
    }
    return parts.map(({ set, runs }) => ({ batch: this.#sets[set]![column]!, runs }))
  }

  /** The key of a row for an error. */
  describe(row: number): string {
    const parts = this.keys.map(({ path, field }) => {
      const [piece] = this.pieces(path[0]!, this.select([row]))
      let batch = piece!.batch
      for (const index of path.slice(1)) batch = batch.children[index]!
      const value: unknown = batch.at(piece!.runs[0]!)
      const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part)) ?? ''
      return `${field.name} = ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`
    })
    return parts.join(', ')
  }
}

/** The column at a path. As in the reference, the column's name may be in any case. */
function resolveKey(schema: Schema, path: string): ColumnPick {
  try {
    const found = resolve(schema, path)
    if (found.path[0]! < schema.fields.length) return found
  } catch (error) {
    const close = inOtherCase(schema, path)
    if (close !== undefined) return close
    if (!isRowColumn(path)) throw error
  }
  throw invalid(`Rows cannot be matched on ${path}. Name a column of the table.`)
}

/** The keys of a set of columns. */
export function keyBatches(
  keys: readonly ColumnPick[],
  columns: readonly (AnyBatch | undefined)[],
): AnyBatch[] {
  return keys.map(({ path, field }) => batchAt(path, field.name, columns))
}

/** Checks by the statistics of a fragment's column whether it may have one of some values. */
type KeyRange = (statistics: ColumnStatistics | undefined, rows: number) => boolean

/** Most keys that are sorted, in order to exclude fragments between two of them, too. */
const maxSorted = 131_072

/** The range of all values of a key's column. */
function keyRange(batch: AnyBatch, values: KeyValues): KeyRange {
  const within = batch.length > maxSorted ? undefined : (numberRange(batch) ?? textRange(batch, values))
  return (statistics, rows) => {
    if (statistics === undefined) return true
    if (statistics.nullCount === rows) return false
    const { min, max, hasNaN } = statistics
    // Only NaN is outside of the bounds.
    if (min === undefined || max === undefined || hasNaN === true || within === undefined) return true
    return within(min, max)
  }
}

type Within = (min: unknown, max: unknown) => boolean

function numberRange(batch: AnyBatch): Within | undefined {
  if (!hasPlainNumbers(batch.type)) return undefined
  const all = (batch.values as Float64Array).subarray(0, batch.length)
  const present = batch.nullCount === 0 ? all.slice() : all.filter((_, i) => batch.isValid(i))
  const sorted = present.sort()
  return (min, max) => {
    let low = 0
    for (let high = sorted.length; low < high; ) {
      const middle = (low + high) >> 1
      if (sorted[middle]! < (min as number)) low = middle + 1
      else high = middle
    }
    return low < sorted.length && sorted[low]! <= (max as number)
  }
}

function textRange(batch: AnyBatch, values: KeyValues): Within | undefined {
  if (batch.type.typeId !== Type.Utf8 && batch.type.typeId !== Type.LargeUtf8) return undefined
  if (values.kind !== 'bytes') return undefined
  const { bytes, starts, ends } = values
  let least: Uint8Array | undefined
  let most: Uint8Array | undefined
  for (let i = 0; i < batch.length; i++) {
    if (batch.nullCount > 0 && !batch.isValid(i)) continue
    const value = bytes.subarray(starts[i], ends[i])
    if (least === undefined || Buffer.compare(value, least) < 0) least = value
    if (most === undefined || Buffer.compare(value, most) > 0) most = value
  }
  return (min, max) =>
    least !== undefined &&
    most !== undefined &&
    Buffer.compare(Buffer.from(min as string), most) <= 0 &&
    Buffer.compare(Buffer.from(max as string), least) >= 0
}
