import { gzipSync } from 'node:zlib'
import type { Field, Schema, Table } from '@uwdata/flechette'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { writeColumn } from 'hyparquet-writer/src/column.js'
import { snappyCompress } from 'hyparquet-writer/src/snappy.js'
import { CatalogError, invalid } from '../../../base/errors.ts'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { type ArrowInput, toArrowTable } from '../../arrow/input/input.ts'
import { checkColumns, encodeSchema, schemaDifference } from '../../arrow/schema.ts'
import { sliceBatch } from '../../arrow/take/take.ts'
import type { RowsInput } from '../../arrow/types.ts'
import { arrowSchemaKey } from '../read/arrow-schema.ts'
import { columnOf, elementsOf } from './elements.ts'
import { type Leaf, type LeafPart, leavesOf, shred } from './shred.ts'

export interface ParquetWriteOptions {
  /** Most rows of a row group. Default: 131,072. */
  readonly groupRows?: number | undefined
  /** Default: `snappy`. */
  readonly compression?: 'snappy' | 'gzip' | 'none' | undefined
  readonly signal?: AbortSignal | undefined
}

const defaultRows = 131_072
/** About how many bytes of Arrow data a row group has at most. */
const groupBytes = 64 << 20
/** Bytes that are handed on at a time. */
const pieceBytes = 1 << 20

const codecs = {
  snappy: { codec: 'SNAPPY', compressors: { SNAPPY: snappyCompress } },
  gzip: { codec: 'GZIP', compressors: { GZIP: (bytes: Uint8Array) => gzipSync(bytes) } },
  none: { codec: 'UNCOMPRESSED', compressors: {} },
} as const

/**
 * The bytes of a Parquet file with rows of Arrow tables, piece by piece. Memory holds one row group, whatever the number
 * of rows. All tables have the columns of the first one. `writeFile` of `node:fs/promises` takes the result as it is.
 *
 * ```ts
 * await writeFile('copy.parquet', writeParquet(readParquet('flights.parquet')))
 * ```
 *
 * The columns come back as they were: the Arrow schema is kept in the file. Each column has statistics. Throws
 * `Unsupported` for types that Parquet does not have, such as unions, and `InvalidInput` for data that is no Arrow data.
 */
export async function* writeParquet(
  tables: Iterable<RowsInput> | AsyncIterable<RowsInput>,
  options: ParquetWriteOptions = {},
): AsyncGenerator<Uint8Array, undefined> {
  const { groupRows = defaultRows, compression = 'snappy', signal } = options
  if (!Number.isSafeInteger(groupRows) || groupRows < 1)
    throw invalid(`groupRows is ${groupRows}. Give a whole number above 0.`)
  if (!Object.hasOwn(codecs, compression))
    throw invalid(
      `compression is ${JSON.stringify(compression)}. Give one of ${Object.keys(codecs).join(', ')}.`,
    )
  let file: GroupWriter | undefined
  for await (const given of tables) {
    signal?.throwIfAborted()
    const table: Table = await toArrowTable(given as ArrowInput)
    if (file === undefined) {
      checkColumns(table.schema)
      file = new GroupWriter(table.schema, groupRows, compression)
    }
    file.check(table.schema)
    for (const batches of batchesOf(table)) {
      file.add(batches)
      while (file.isFull) yield* file.group()
    }
  }
  if (file === undefined)
    throw invalid('There is no Arrow table to write. Give one at least, which has the columns.')
  yield* file.end()
  return undefined
}

/** The batches of a table, each with one of every column. */
function* batchesOf({ children }: Table): Generator<AnyBatch[]> {
  for (const i of children[0]!.data.keys()) yield children.map(({ data }) => data[i] as AnyBatch)
}

/** Writes row groups. Parts of the next one wait until it is full. */
class GroupWriter {
  readonly #schema: Schema
  readonly #columns: ReturnType<typeof columnOf>[]
  readonly #leaves: readonly (readonly Leaf[])[]
  readonly #writer = new ByteWriter(pieceBytes)
  readonly #file: ParquetWriter
  readonly #compression: keyof typeof codecs
  readonly #groupRows: number
  #waiting: AnyBatch[][] = []
  #rows = 0
  #bytes = 0

  constructor(schema: Schema, groupRows: number, compression: keyof typeof codecs) {
    this.#schema = schema
    this.#groupRows = groupRows
    this.#compression = compression
    this.#columns = schema.fields.map((field: Field) => columnOf(field))
    const elements = elementsOf(this.#columns)
    this.#leaves = this.#columns.map((column) => leavesOf(column, elements[0]!))
    this.#file = new ParquetWriter({
      writer: this.#writer,
      schema: elements,
      ...codecs[compression],
      kvMetadata: keyValues(schema),
      createdBy: 'tabularium',
    })
  }

  check(schema: Schema): void {
    const difference = schemaDifference(this.#schema, schema)
    if (difference === undefined) return
    throw new CatalogError(
      'TableSchemaValidationError',
      `The tables of one Parquet file have the same columns, and ${difference}. Cast it first.`,
    )
  }

  add(batches: AnyBatch[]): void {
    const rows = batches[0]!.length
    if (rows === 0) return
    this.#waiting.push(batches)
    this.#rows += rows
    for (const batch of batches) this.#bytes += byteLength(batch)
  }

  get isFull(): boolean {
    return this.#rows >= this.#groupRows || this.#bytes >= groupBytes
  }

  /** The bytes of a row group with what waits, as far as it goes into one. */
  *group(): Generator<Uint8Array> {
    const parts = this.#take()
    const rows = parts.reduce((sum, [first]) => sum + first!.length, 0)
    const started = this.#writer.offset
    const chunks: ReturnType<typeof writeColumn>[] = []
    for (const [i, column] of this.#columns.entries()) {
      const shredded = parts.map((batches) => shred(column, batches[i]!))
      for (const [l, leaf] of this.#leaves[i]!.entries()) {
        chunks.push(
          this.#chunk(
            leaf,
            shredded.map((leaves) => leaves[l]!),
          ),
        )
        for (const leaves of shredded) leaves[l] = nothing
        if (this.#writer.index >= pieceBytes) yield this.#flushed()
      }
    }
    const total = (name: 'total_uncompressed_size') =>
      chunks.reduce((sum, { chunk }) => sum + (chunk.meta_data?.[name] ?? 0n), 0n)
    this.#file.pendingIndexes.push(...chunks)
    this.#file.num_rows += BigInt(rows)
    this.#file.row_groups.push({
      columns: chunks.map(({ chunk }) => chunk),
      total_byte_size: total('total_uncompressed_size'),
      num_rows: BigInt(rows),
      total_compressed_size: BigInt(this.#writer.offset - started),
    })
    yield this.#flushed()
  }

  *end(): Generator<Uint8Array> {
    while (this.#rows > 0) yield* this.group()
    // The writer has no promise to wait for: its bytes are taken here.
    void this.#file.finish()
    yield this.#flushed()
  }

  /** Takes batches for a row group. The last one is cut where it would be too large. */
  #take(): AnyBatch[][] {
    const taken: AnyBatch[][] = []
    let rows = 0
    while (this.#waiting.length > 0 && rows < this.#groupRows) {
      const batches = this.#waiting.shift()!
      const length = batches[0]!.length
      const wanted = Math.min(length, this.#groupRows - rows)
      taken.push(wanted === length ? batches : batches.map((batch) => sliceBatch(batch, 0, wanted)))
      if (wanted < length) this.#waiting.unshift(batches.map((batch) => sliceBatch(batch, wanted, length)))
      rows += wanted
    }
    this.#rows -= rows
    this.#bytes = 0
    for (const batches of this.#waiting) for (const batch of batches) this.#bytes += byteLength(batch)
    return taken
  }

  #chunk({ path, column, maxDef, maxRep }: Leaf, parts: readonly LeafPart[]): ReturnType<typeof writeColumn> {
    const { codec, compressors } = codecs[this.#compression]
    const element = column.element
    const join = (name: 'defs' | 'reps') => {
      const joined = new Uint8Array(parts.reduce((sum, part) => sum + part[name].length, 0))
      let at = 0
      for (const part of parts) {
        joined.set(part[name], at)
        at += part[name].length
      }
      return joined as unknown as number[]
    }
    const written = writeColumn({
      writer: this.#writer,
      column: {
        columnName: path
          .slice(1)
          .map(({ name }) => name)
          .join('.'),
        element,
        schemaPath: [...path],
        codec,
        compressors,
        // Intervals have no order.
        stats: element.converted_type !== 'INTERVAL',
        pageSize: pieceBytes,
        // The library's dictionary takes -0 for 0.
        ...((element.type === 'FLOAT' || element.type === 'DOUBLE') && { encoding: 'PLAIN' as const }),
        columnIndex: false,
        offsetIndex: true,
      },
      pageData: {
        values: parts.length === 1 ? parts[0]!.values : parts.flatMap(({ values }) => values),
        definitionLevels: maxDef === 0 ? [] : join('defs'),
        repetitionLevels: maxRep === 0 ? [] : join('reps'),
        maxDefinitionLevel: maxDef,
      },
    })
    const { statistics } = written.chunk.meta_data ?? {}
    if (statistics) detach(statistics as Record<string, unknown>)
    return written
  }

  /** The bytes that were written since the last time. */
  #flushed(): Uint8Array {
    const bytes = this.#writer.getBytes().slice()
    this.#writer.index = 0
    return bytes
  }
}

/** Copies the smallest and largest values, which are views of whole columns: they stay until the end of the file. */
function detach(statistics: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(statistics))
    if (value instanceof Uint8Array) statistics[name] = new Uint8Array(value)
}

const nothing: LeafPart = { values: [], defs: new Uint8Array(0), reps: new Uint8Array(0) }

function keyValues(schema: Schema): { key: string; value: string }[] {
  const about = [...(schema.metadata ?? [])].map(([key, value]) => ({ key, value }))
  const kept = Buffer.from(schemaMessage(schema)).toString('base64')
  return [...about.filter(({ key }) => key !== arrowSchemaKey), { key: arrowSchemaKey, value: kept }]
}

/** The message of a schema alone, as readers of Arrow's key expect it: without the end of a stream. */
function schemaMessage(schema: Schema): Uint8Array {
  const bytes = encodeSchema({ ...schema, metadata: null as unknown as Schema['metadata'] })
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true)
  return bytes.subarray(0, 8 + length)
}
