import { createHash } from 'node:crypto'
import { type DataType, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { quote } from '../../../base/model/identifier.ts'
import { type AnyBatch, isNullAt } from '../../arrow/batch.ts'
import { CastFailure, castBatch } from '../../arrow/cast/cast.ts'
import type { ReportedWork } from '../job.ts'
import type { QueryOptions } from '../table-engine.ts'
import type { ChangedFragment, ChangedSide, SideColumn } from './changed-side.ts'
import { words } from './hashed-rows.ts'
import { type HashKey, keyedHash } from './keyed-hash.ts'
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

/** Rows of two versions that are compared by their hashes. */
export interface Comparison {
  readonly work: ReportedWork
  readonly hasher: RowHasher
  readonly memory: QueryOptions['memory']
}

/** One of two versions, and its columns that are compared. */
export interface ComparedSide {
  readonly side: ChangedSide
  readonly columns: readonly SideColumn[]
}

/** The hashes of the changed rows of a version in some columns. With `isKey`, rows with a null are refused. */
export async function* rowHashes(
  { work, hasher }: Comparison,
  { side, columns }: ComparedSide,
  isKey = false,
): AsyncGenerator<RowHashes> {
  for await (const { fragment, rows, batches, at } of side.values(columns)) {
    const writers = batches.map((batch) => batch && valueWriter(batch))
    const hasNull = isKey ? nullFinder(batches) : undefined
    for (let start = 0; start < rows.length; start += sliceRows) {
      const some = rows.subarray(start, start + sliceRows)
      const within = (i: number) => at(start + i)
      const nulls = hasNull && some.findIndex((_, i) => hasNull(within(i)))
      if (nulls !== undefined && nulls >= 0) throw nullKey(columns)
      yield { fragment, rows: some, hashes: hasher.hashesOf(writers, some.length, within) }
      if (work.due) await work.rest()
    }
  }
}

/** Makes the hashes of the rows of one comparison. Those of another one mean nothing to it. */
export class RowHasher {
  readonly #bytes = new RowBytes()
  /** A secret: rows may be made by someone who wants them to be mixed up. */
  readonly #key: HashKey = crypto.getRandomValues(new Uint32Array(4))

  hashesOf(
    writers: readonly (WriteValue | undefined)[],
    count: number,
    at: (i: number) => number,
  ): Uint32Array {
    const made = new Uint32Array(count * words)
    const hashes = new Uint8Array(made.buffer)
    for (let i = 0; i < count; i++) {
      const length = this.#bytes.write(writers, at(i))
      const start = i * hashBytes
      const end = start + hashBytes - 1
      if (length < hashBytes) {
        // The bytes themselves, and how many they are.
        const { bytes } = this.#bytes
        for (let k = 0; k < length; k++) hashes[start + k] = bytes[k]!
        hashes[end] = length
      } else if (length <= shortBytes) {
        keyedHash(this.#key, this.#bytes.words, length, made, i * words)
        hashes[end] = hashBytes
      } else {
        const digest = createHash('sha256').update(this.#bytes.bytes).digest()
        hashes.set(digest.subarray(0, hashBytes - 1), start)
        hashes[end] = hashBytes + 1
      }
    }
    return made
  }
}

const hashBytes = words * 4

/** Most bytes of a row for which the keyed hash takes less time: no call leaves JavaScript. */
const shortBytes = 256

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
