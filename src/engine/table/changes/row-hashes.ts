import { createHash } from 'node:crypto'
import { type DataType, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { type AnyBatch, isNullAt } from '../../arrow/batch.ts'
import { CastFailure, castBatch } from '../../arrow/cast/cast.ts'
import type { Job } from '../job.ts'
import { selectRows } from '../read/row-selection.ts'
import { readSelected } from '../read/selected-columns.ts'
import type { ChangedFragment, ChangedSide } from './changed-fragments.ts'
import type { ComparedColumn } from './compared-columns.ts'
import { words } from './hashed-rows.ts'
import { RowBytes, valueWriter, type WriteValue } from './row-bytes.ts'

/** Rows whose hashes are made at once. */
const sliceRows = 4096

/** The hashes of some rows of a fragment. */
export interface RowHashes {
  readonly fragment: ChangedFragment
  readonly rows: Uint32Array
  /** One after the other. */
  readonly hashes: Uint32Array
}

/** A column of one of two versions: its index there, and its type in the answer. */
export interface SideColumn {
  readonly index: number | undefined
  readonly name: string
  readonly type: DataType
}

/** The columns of one of two versions. */
export function columnsOf(columns: readonly ComparedColumn[], which: 'from' | 'to'): readonly SideColumn[] {
  return columns.map(({ field, ...index }) => ({ index: index[which], name: field.name, type: field.type }))
}

/** The hashes of the changed rows of a version in some columns. With `isKey`, rows with a null are refused. */
export async function* rowHashes(
  job: Job,
  { snapshot, fragments }: ChangedSide,
  columns: readonly SideColumn[],
  isKey = false,
): AsyncGenerator<RowHashes> {
  const indices = columns.flatMap(({ index }) => index ?? [])
  const bytes = new RowBytes()
  for (const fragment of fragments) {
    const { entry } = fragment
    const selection = selectRows(fragment.rows, entry.rows, 0, entry.rows)
    if (selection.rows === 0) continue
    const read = await readSelected(job.storage, snapshot, entry, indices, selection)
    const batches = columns.map(({ index, name, type }) =>
      index === undefined ? undefined : asType(read.rows.columns[index]!, type, name),
    )
    const writers = batches.map((batch) => batch && valueWriter(batch))
    const hasNull = isKey ? nullFinder(batches) : undefined
    const rows = rowsOf(selection.runs, selection.rows)
    for (let start = 0; start < rows.length; start += sliceRows) {
      const some = rows.subarray(start, start + sliceRows)
      const at = (i: number) => (read.isAlone ? start + i : some[i]!)
      const nulls = hasNull && some.findIndex((_, i) => hasNull(at(i)))
      if (nulls !== undefined && nulls >= 0) throw nullKey(columns)
      yield { fragment, rows: some, hashes: hashesOf(writers, bytes, some.length, at) }
      if (job.due) await job.rest()
    }
  }
}

function rowsOf(runs: ArrayLike<number>, count: number): Uint32Array {
  const rows = new Uint32Array(count)
  let at = 0
  for (let i = 0; i < runs.length; i += 2)
    for (let row = runs[i]!; row < runs[i + 1]!; row++) rows[at++] = row
  return rows
}

function hashesOf(
  writers: readonly (WriteValue | undefined)[],
  bytes: RowBytes,
  count: number,
  at: (i: number) => number,
): Uint32Array {
  const hashes = new Uint8Array(count * hashBytes)
  for (let i = 0; i < count; i++) {
    const row = bytes.of(writers, at(i))
    const start = i * hashBytes
    if (row.length < hashBytes) {
      // The bytes themselves, and how many they are.
      for (let k = 0; k < row.length; k++) hashes[start + k] = row[k]!
      hashes[start + hashBytes - 1] = row.length
      continue
    }
    const digest = createHash('sha256').update(row).digest()
    hashes.set(digest.subarray(0, hashBytes - 1), start)
    hashes[start + hashBytes - 1] = hashBytes
  }
  return new Uint32Array(hashes.buffer)
}

const hashBytes = words * 4

/** The values as those of another type that `canCast` allows. */
export function asType(batch: AnyBatch, type: DataType, name: string): AnyBatch {
  try {
    return castBatch(batch, type)
  } catch (error) {
    if (!(error instanceof CastFailure)) throw error
    throw invalid(
      `A value of the column ${quote(name)} does not fit its type in the other version, so the two cannot be compared. Name the other columns in columns.`,
      { cause: error },
    )
  }
}

/** Types whose rows are null by the values that they refer to. */
const indirect: ReadonlySet<number> = new Set([Type.Dictionary, Type.Union, Type.RunEndEncoded, Type.Null])

function nullFinder(batches: readonly (AnyBatch | undefined)[]): (row: number) => boolean {
  const finders = batches.map((batch) => {
    if (batch === undefined) return () => true
    if (indirect.has(batch.type.typeId)) return (row: number) => (batch.at(row) ?? null) === null
    return (row: number) => isNullAt(batch, row)
  })
  return (row) => finders.some((isNull) => isNull(row))
}

function nullKey(columns: readonly SideColumn[]) {
  return invalid(
    `A changed row has a null in ${namesOf(columns)}, so it has no key. Name columns in on that are never null, or leave on out.`,
  )
}

export function namesOf(columns: readonly SideColumn[]): string {
  return columns.map(({ name }) => quote(name)).join(', ')
}
