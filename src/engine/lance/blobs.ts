import { largeBinary, type Schema } from '@uwdata/flechette'
import { CatalogError, invalid, unsupported } from '../../base/errors.ts'
import { type AnyBatch, makeBatch } from '../arrow/batch.ts'
import { decodeArrow } from '../arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import type { QueryOptions } from '../table/table-engine.ts'
import type { NativeTable } from './native.ts'
import { rowId } from './query.ts'

/*
 * Blobs of Lance lie beside the rows, which have their places alone. Lance reads them by the ids of rows.
 */

/** Blobs to read: those of a column, or of a field of a struct by its path, of some rows. */
export interface BlobsToRead {
  readonly column: string
  readonly rowIds: readonly number[]
}

/** A blob to read in parts. */
export interface BlobToRead {
  readonly column: string
  readonly rowId: number
}

/** A blob that was found: its size in bytes, or null, and what reads the bytes from one position up to before another. */
export interface FoundBlob {
  readonly size: number | null
  read(from: number, to: number): AsyncIterable<Uint8Array>
}

/** How blobs are read. */
export type BlobsWork = Pick<QueryOptions, 'signal' | 'maxBytes' | 'memory'>

/** About the most bytes that Lance answers with at once. */
const portionBytes = 16 << 20

/** Reads blobs, in the order of the rows' ids, as an Arrow IPC file with one column, named as it was asked for. */
export async function readBlobs(
  table: NativeTable,
  shown: string,
  { column, rowIds }: BlobsToRead,
  { signal, maxBytes = Number.POSITIVE_INFINITY, memory }: BlobsWork,
): Promise<Uint8Array> {
  const sizes = await blobSizes(table, shown, { column, rowIds })
  const bytes = rowIds.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0)
  if (bytes > maxBytes) {
    throw invalid(
      `The blobs have ${bytes.toLocaleString('en')} bytes, and an answer at most ${maxBytes.toLocaleString('en')}. Ask for fewer rows at a time.`,
    )
  }
  // The values, and the answer that is made of them.
  await memory?.take(2 * bytes)
  try {
    const values = new Uint8Array(bytes)
    let at = 0
    for (const portion of portionsOf(rowIds, sizes)) {
      signal?.throwIfAborted()
      for await (const piece of read(table, column, portion, sizes)) {
        values.set(piece, at)
        at += piece.length
      }
    }
    return encoded(column, rowIds, sizes, values)
  } catch (error) {
    // The blobs may be asked for again.
    memory?.give(2 * bytes)
    throw error
  }
}

/** The sizes of blobs, by the ids of their rows; null for one that is null. Throws where a row or column is not there. */
export async function blobSizes(
  table: NativeTable,
  shown: string,
  { column, rowIds }: BlobsToRead,
): Promise<ReadonlyMap<number, number | null>> {
  const columns = await table.blobColumns()
  if (!columns.includes(column)) throw noBlobs(shown, column, columns)
  const sizes = await sizesOf(table, column, [...new Set(rowIds)])
  const missing = rowIds.findIndex((id) => !sizes.has(id))
  if (missing >= 0) {
    throw invalid(
      `row_ids[${missing}]: ${shown} has no row with the id ${rowIds[missing]}. Ask for ids that a query of this version answers, by with_row_id.`,
    )
  }
  return sizes
}

/** From where to where the portions of a part of a blob lie. The first ones are small: who reads on may stop soon. */
export function* portionsOfBlob(from: number, to: number): Generator<readonly [from: number, to: number]> {
  for (let size = portionBytes >> 4, at = from; at < to; size = Math.min(2 * size, portionBytes)) {
    const end = Math.min(to, at + size)
    yield [at, end]
    at = end
  }
}

/** The bytes of a blob from one position up to before another, at most those of a portion. */
export async function readBlobPart(
  table: NativeTable,
  { column, rowId }: BlobToRead,
  from: number,
  to: number,
): Promise<Uint8Array> {
  const [file] = await table.fetchBlobFiles(column, [BigInt(rowId)])
  try {
    return await file!.readRange(BigInt(from), BigInt(to))
  } finally {
    file!.close?.()
  }
}

function noBlobs(shown: string, column: string, columns: readonly string[]): CatalogError {
  const those =
    columns.length === 0
      ? 'It has no column of blobs'
      : `Its columns of blobs are ${columns.map((name) => JSON.stringify(name)).join(', ')}`
  return new CatalogError(
    'TableColumnNotFound',
    `The column ${JSON.stringify(column)} of ${shown} is not a blob column. ${those}. Read others by a query.`,
  )
}

/** Where a blob lies, as a query answers it. */
interface BlobPlace {
  readonly kind: number
  readonly size: unknown
  readonly blob_uri: string
}

/** The kind of a blob at a URL that its writer chose. */
const external = 3

/** Whoever writes files of a dataset could name any file of this machine, which the caller may not read. */
function liesElsewhere(column: string, id: number): CatalogError {
  return unsupported(
    `The blob in ${JSON.stringify(column)} of the row with the id ${id} lies outside of its table, where the catalog reads nothing.`,
    'Read it with Lance.',
  )
}

/** The sizes of the blobs of rows, by the ids of rows; null for one that is null. Rows that are not there are left out. */
async function sizesOf(
  table: NativeTable,
  column: string,
  ids: readonly number[],
): Promise<ReadonlyMap<number, number | null>> {
  const sizes = new Map<number, number | null>()
  if (ids.length === 0) return sizes
  const query = table.takeRowIds(ids.map(BigInt))
  query.selectColumns([column])
  query.withRowId()
  const batches = await query.execute()
  for (;;) {
    const batch = await batches.next()
    if (batch === null) return sizes
    const found = await decodeArrow(batch)
    const [places, rows] = [found.getChildAt(0), found.getChild(rowId)]
    for (let i = 0; i < found.numRows; i++) {
      const place = places.at(i) as BlobPlace | null
      const id = Number(rows.at(i))
      if (place && (place.kind === external || place.blob_uri)) throw liesElsewhere(column, id)
      sizes.set(id, place === null ? null : Number(place.size))
    }
  }
}

/** Rows whose blobs are read at once. One that is large is read alone. */
function* portionsOf(
  rowIds: readonly number[],
  sizes: ReadonlyMap<number, number | null>,
): Generator<readonly number[]> {
  let portion: number[] = []
  let bytes = 0
  for (const id of rowIds) {
    const size = sizes.get(id) ?? 0
    if (portion.length > 0 && bytes + size > portionBytes) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push(id)
    bytes += size
  }
  if (portion.length > 0) yield portion
}

/** The bytes of the blobs of a portion, one after the other. */
async function* read(
  table: NativeTable,
  column: string,
  ids: readonly number[],
  sizes: ReadonlyMap<number, number | null>,
): AsyncGenerator<Uint8Array> {
  const [first] = ids
  const size = sizes.get(first!) ?? 0
  if (size <= portionBytes) {
    for (const blob of await table.fetchBlobs(column, ids.map(BigInt))) if (blob) yield blob
    return
  }
  const [file] = await table.fetchBlobFiles(column, [BigInt(first!)])
  try {
    for (let from = 0; from < size; from += portionBytes)
      yield await file!.readRange(BigInt(from), BigInt(Math.min(size, from + portionBytes)))
  } finally {
    file!.close?.()
  }
}

function encoded(
  name: string,
  rowIds: readonly number[],
  sizes: ReadonlyMap<number, number | null>,
  values: Uint8Array,
): Uint8Array {
  const length = rowIds.length
  const type = largeBinary()
  const offsets = new BigInt64Array(length + 1)
  const validity = new Uint8Array((length + 7) >> 3)
  let nullCount = 0
  for (const [i, id] of rowIds.entries()) {
    const size = sizes.get(id)!
    offsets[i + 1] = offsets[i]! + BigInt(size ?? 0)
    if (size === null) nullCount++
    else validity[i >> 3]! |= 1 << (i & 7)
  }
  const batches: AnyBatch[] =
    length === 0
      ? []
      : [makeBatch(type, { length, nullCount, values, offsets, ...(nullCount > 0 && { validity }) })]
  const schema = {
    fields: [{ name, type, nullable: true, metadata: null }],
    metadata: null,
    dictionaryTypes: new Map(),
  }
  return joinParts(encodeArrow(schema as unknown as Schema, [batches]))
}
