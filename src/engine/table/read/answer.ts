import type { DataType } from '@uwdata/flechette'
import { type CatalogError, invalid } from '../../../base/errors.ts'
import { type AnyBatch, byteLength, dictionaryBytes } from '../../arrow/batch.ts'
import { encodeArrow, FileEncoder, joinParts } from '../../arrow/ipc/encode.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { assembleColumns, part } from '../../arrow/take/assemble-columns.ts'
import type { Piece } from '../../arrow/take/take.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { Fragments } from '../format/snapshot.ts'
import { bytesOfColumn, type TableSchema } from '../format/table-schema.ts'
import { bytesOf } from '../scan/prefetch-depth.ts'
import type { QueryOptions } from '../table-engine.ts'
import type { AnswerLayout } from './answer-layout.ts'
import { partBytes } from './answer-reader.ts'
import { PlainColumns } from './plain-columns.ts'
import type { Pick } from './projection.ts'

/** Rows of each record batch of an answer except the last one. */
const batchRows = 131_072

/** About the most bytes of a record batch that is created while the answer is read. */
export const streamedBytes = 8 << 20

/** One batch for each column of the answer. */
export type ColumnBatches = readonly AnyBatch[]

/** Collects the rows of an answer into batches of a good size, and writes them as an Arrow IPC file. */
export class AnswerEncoder {
  readonly #table: TableSchema
  readonly #layout: AnswerLayout
  readonly #plain: PlainColumns
  readonly #maxBytes: number
  readonly #batchBytes: number
  readonly #mayExceed: boolean
  #pieces: Piece[][]
  #rows = 0
  #bytes = 0
  #total = 0
  /** Bytes of computed values that `#bytes` does not include yet. */
  #made = 0
  /** Bytes of the dictionaries of each distinct pick. */
  readonly #dictionaries: number[]

  /** Batches take about `batchBytes` at most. */
  constructor(
    snapshot: { readonly schema: TableSchema; readonly bytes: number },
    layout: AnswerLayout,
    maxBytes = Number.POSITIVE_INFINITY,
    batchBytes = Number.POSITIVE_INFINITY,
    plain?: QueryOptions['plain'],
  ) {
    this.#table = snapshot.schema
    this.#layout = layout
    this.#plain = new PlainColumns(layout.fields, plain, (bytes) => {
      if (this.#bytes + bytes > maxBytes) throw tooLarge(maxBytes)
    })
    const { isWhole, isComputed, uses, distinct } = layout
    this.#maxBytes = maxBytes
    // No column is used more often than this one.
    this.#mayExceed = isWhole || isComputed || !this.#plain.isSame || snapshot.bytes * maxOf(uses) > maxBytes
    this.#batchBytes = isWhole ? Number.POSITIVE_INFINITY : batchBytes
    this.#pieces = distinct.map(() => [])
    this.#dictionaries = distinct.map(() => 0)
  }

  /** Whether the answer must be written as a whole. */
  get isWhole(): boolean {
    return this.#layout.isWhole
  }

  /** Whether columns are computed. */
  get isComputed(): boolean {
    return this.#layout.isComputed
  }

  /** The columns to read or compute, each once. */
  get distinct(): readonly Pick[] {
    return this.#layout.distinct
  }

  /** The columns of the table to read, and the row columns after them. */
  get indices(): ReadonlySet<number> {
    return this.#layout.indices
  }

  /** Refuses an answer without a filter that exceeds the limit, before anything is read. */
  async checkSize(fragments: Fragments, skip: number, left: number): Promise<void> {
    if (!this.#mayExceed) return
    let bytes = 0
    for await (const entry of fragments) {
      if (left <= 0) return
      const rows = entry.rows - (entry.deletions?.count ?? 0)
      const taken = Math.min(Math.max(0, rows - skip), left)
      skip = Math.max(0, skip - rows)
      left -= taken
      bytes += taken * this.bytesPerRow(entry)
      if (bytes > this.#maxBytes) throw tooLarge(this.#maxBytes)
    }
  }

  /**
   * Bytes that are held while rows of a fragment are answered: the bytes to read, which is the fragment's whole columns
   * unless `few` is given, and the batches created from them.
   */
  bytesToHold(entry: FragmentEntry, rows: number, few?: number): number {
    const perRow = this.bytesPerRow(entry)
    const batch = Math.min(rows * perRow, Math.max(perRow, this.#batchBytes))
    return Math.ceil((few ?? bytesOf(this.#table, entry, [...this.indices])) + batch)
  }

  /** The bytes of all batches so far, with the dictionaries of those that are written as a whole. */
  get bytes(): number {
    return this.#total
  }

  /** Whether full batches are released at once, which frees their memory. */
  get isStreamed(): boolean {
    return !this.isWhole && this.#batchBytes !== Number.POSITIVE_INFINITY
  }

  /** Refuses an answer that the newly computed values make too large, before more of them are computed. */
  checkMade(distinct: number, bytes: number): void {
    this.#made += bytes * this.#layout.uses[distinct]!
    // Columns are computed one by one. Only rows that all of them have are used.
    const unused = partBytes * maxOf(this.#layout.uses)
    if (this.#bytes + this.#made > this.#maxBytes + unused) throw tooLarge(this.#maxBytes)
  }

  /** Adds rows of a fragment, as pieces of each distinct column, and returns the full batches. */
  *add(pieces: readonly (readonly Piece[])[], rows: number, bytesPerRow: number): Generator<ColumnBatches> {
    const perRow = this.#batchBytes === Number.POSITIVE_INFINITY ? 0 : bytesPerRow
    const most = Math.max(1, Math.floor(this.#batchBytes / Math.max(perRow, 1)))
    for (let at = 0; at < rows; ) {
      const end = perRow === 0 ? rows : Math.min(rows, at + Math.max(1, most - this.#rows))
      const isAll = at === 0 && end === rows
      for (const [i, column] of pieces.entries())
        this.#pieces[i]!.push(...(isAll ? column : part(column, at, end)))
      this.#rows += end - at
      at = end
      if (this.#rows >= Math.min(most, batchRows)) yield* this.rest()
    }
  }

  /** The batches of the rows that were added since the last one. */
  *rest(): Generator<ColumnBatches> {
    if (this.#rows === 0) return
    const assembled = assembleColumns(this.#layout.fields, this.#pieces)
    this.#pieces = this.#layout.distinct.map(() => [])
    this.#rows = 0
    this.#made = 0
    for (const made of assembled) {
      for (const batches of this.#plain.of(made)) {
        this.#count(batches)
        yield this.#layout.distinctOf.map((index) => batches[index]!)
      }
    }
  }

  /** The file of all batches, in parts. */
  whole(batches: readonly ColumnBatches[]): Uint8Array[] {
    const { schema, picks } = this.#layout
    if (!this.isWhole) return this.#layout.file.encode(batches)
    return encodeArrow(
      schema,
      picks.map((_, i) => batches.map((columns) => columns[i]!)),
    )
  }

  /** The file in parts, each created on demand. */
  async *stream(
    first: readonly ColumnBatches[],
    rest: AsyncGenerator<ColumnBatches>,
  ): AsyncGenerator<Uint8Array> {
    try {
      const file = new FileEncoder(this.#layout.file)
      yield file.head()
      for (const batch of first) yield* file.batch(batch)
      for await (const batch of rest) yield* file.batch(batch)
      yield file.end()
    } finally {
      await rest.return(undefined)
    }
  }

  #count(batches: readonly AnyBatch[]): void {
    if (!this.#mayExceed) return
    for (const index of this.#layout.distinctOf) this.#bytes += byteLength(batches[index]!)
    let sum = this.#bytes
    if (this.isWhole) {
      for (const [i, batch] of batches.entries())
        this.#dictionaries[i] = Math.max(this.#dictionaries[i]!, dictionaryBytes(batch))
      for (const index of this.#layout.distinctOf) sum += this.#dictionaries[index]!
    }
    this.#total = sum
    if (sum > this.#maxBytes) throw tooLarge(this.#maxBytes)
  }

  /** The least number of bytes that a row takes in the answer. */
  bytesPerRow(entry: FragmentEntry): number {
    const { length } = this.#table.fields
    const sizes = this.#layout.distinct.map(({ path, field }) =>
      path?.length === 1 && path[0]! < length
        ? bytesOfColumn(this.#table, entry, path[0]!) / Math.max(1, entry.rows)
        : fixedBytes(field.type),
    )
    return this.#layout.distinctOf.reduce((sum, index) => sum + sizes[index]!, 0)
  }
}

function maxOf(numbers: readonly number[]): number {
  return numbers.reduce((most, one) => Math.max(most, one), 0)
}

/** Bytes of each value of a type, as far as the type determines them. */
function fixedBytes(type: DataType): number {
  const layout = layoutOf(type)
  return layout.kind === 'fixed' || layout.kind === 'dictionary' ? layout.bytes : 0
}

/** The error for an answer that takes more bytes than it may. */
export function tooLarge(most: number): CatalogError {
  return invalid(
    `The answer would take more than ${most.toLocaleString('en')} bytes, the most of one query. Ask for fewer columns, or for fewer rows with limit and offset.`,
  )
}

/** Least bytes of a write, if there are as many. */
const chunkBytes = 256 * 1024

/** Joins small parts, since a write costs more than a copy. Large ones are passed on unchanged. */
export async function* inChunks(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let small: Uint8Array[] = []
  let size = 0
  for await (const bytes of parts) {
    if (bytes.length >= chunkBytes) {
      if (size > 0) yield joinParts(small)
      yield bytes
      small = []
      size = 0
    } else if (bytes.length > 0) {
      small.push(bytes)
      size += bytes.length
      if (size < chunkBytes) continue
      yield joinParts(small)
      small = []
      size = 0
    }
  }
  if (size > 0) yield joinParts(small)
}
