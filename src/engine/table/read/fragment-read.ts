import type { Schema } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { pathIn } from '../../../base/model/relative-path.ts'
import { isRemote } from '../../../base/scheduling/merge-ranges.ts'
import { type AnyBatch, type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import { BodyReader, type ColumnCursor, columnCursors } from '../../arrow/ipc/body.ts'
import { type BatchHeader, readMessage } from '../../arrow/ipc/message.ts'
import { dictionaryTypesOf } from '../../arrow/ipc/prepare.ts'
import { type FetchRuns, RowReader } from '../../arrow/ipc/row-reader.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { assemble } from '../../arrow/take/take.ts'
import { fromSource } from '../format/column-source.ts'
import { readLive } from '../format/deletions.ts'
import { blockBytes, readBlockSums, type SumOfBlock } from '../format/file-parts.ts'
import type { ColumnFile, FragmentLayout } from '../format/manifest.ts'
import { fileAt, type TableFiles } from '../format/table-schema.ts'
import { type FragmentPosition, rowColumn } from '../scan/row-columns.ts'
import { BlockReader } from '../storage/block-reader.ts'
import type { ByteCache } from '../storage/cache.ts'
import { coalesceReads, gatherReads, type ReadContent } from '../storage/coalesced-read.ts'
import { brokenObject, type Range, type ReadStorage, readRange } from '../storage/objects.ts'
import { columnKey, type FewRows } from './few-rows.ts'

/** The rows of a fragment: the requested columns, at their index in the schema, followed by row columns. */
export interface FragmentRows {
  readonly length: number
  readonly columns: readonly (AnyBatch | undefined)[]
}

/** Bytes up to which a fragment is read as a whole: one open file instead of one for each part. */
const smallBytes = 64 * 1024

/**
 * Reads columns of a fragment: only their bytes, unless the fragment is small. With `few`, only these rows.
 * `numberDictionaries` must have numbered the schema's dictionaries. Throws `InvalidTableState` for a file that is
 * missing, cut off or damaged.
 */
export async function readColumns(
  storage: ReadStorage,
  table: TableFiles,
  entry: FragmentLayout & FragmentPosition,
  indices: Iterable<number>,
  few?: FewRows,
): Promise<FragmentRows> {
  const { fields, columns: located } = table.schema
  const wanted = new Set(indices)
  const ofRows = [...wanted].filter((index) => index >= fields.length)
  for (const index of ofRows) wanted.delete(index)
  const reading =
    located === undefined || located.fits(entry)
      ? readFile(storage, table, entry, wanted, few)
      : gatherColumns(storage, table, entry, wanted, few)
  if (ofRows.length === 0) return reading
  const needsLive = ofRows.some((index) => index > fields.length)
  const [{ length, columns: read }, live] = await Promise.all([
    reading,
    needsLive ? readLive(storage, table.prefix, entry) : undefined,
  ])
  const columns = [...read]
  for (const index of ofRows) {
    const which = index - fields.length
    columns[index] = rowColumn(entry, which, which > 0 ? live : undefined, few?.runs)
  }
  return { length, columns }
}

/** Reads the columns of a fragment from those files that have them. A column in none of them is null. */
async function gatherColumns(
  storage: ReadStorage,
  { prefix, schema }: TableFiles,
  entry: FragmentLayout,
  wanted: ReadonlySet<number>,
  few: FewRows | undefined,
): Promise<FragmentRows> {
  const { fields } = schema
  const located = schema.columns!
  const locations = located.locationsIn(entry)
  const files = new Map<number, Set<number>>()
  for (const index of wanted) {
    const location = locations[index]
    if (location) files.set(location.file, (files.get(location.file) ?? new Set()).add(location.source.index))
  }
  const read = new Map<number, FragmentRows>()
  await Promise.all(
    Array.from(files, async ([number, within]) => {
      const file = fileAt(entry, number)
      const table = { prefix, schema: located.schemaOf(file.layout ?? '') }
      read.set(number, await readFile(storage, table, file, within, few))
    }),
  )
  const length = few?.rows ?? entry.rows
  const columns: (AnyBatch | undefined)[] = fields.map(() => undefined)
  for (const index of wanted) {
    const { type } = fields[index]!
    const location = locations[index]
    columns[index] = location
      ? fromSource(read.get(location.file)!.columns[location.source.index]!, type, location.source)
      : nullBatch(type, length, Number.POSITIVE_INFINITY)
  }
  return { length, columns }
}

async function readFile(
  storage: ReadStorage,
  { prefix, schema }: TableFiles,
  entry: FileLayout,
  wanted: ReadonlySet<number>,
  few: FewRows | undefined,
): Promise<FragmentRows> {
  const path = pathIn(prefix, entry.path)
  const alone = few ? [...wanted].filter((index) => few.alone.has(columnKey(path, index))) : []
  const whole = [...wanted].filter((index) => !alone.includes(index))
  let { content } = storage
  if (entry.size <= smallBytes) content = coalesceReads(content, path)
  else if (isRemote(content)) content = gatherReads(content, path)
  else if (whole.includes(0)) content = coalesceReads(content, path, firstColumn(entry))
  const file: OpenFile = { content, cache: storage.cache, path, schema, entry }
  const columns: (AnyBatch | undefined)[] = schema.fields.map(() => undefined)
  const reading = whole.map(async (index) => {
    const batch = await readColumn(file, index)
    columns[index] = few ? assemble(batch.type, [{ batch, runs: few.runs }]) : batch
  })
  if (few && alone.length > 0) {
    reading.push(
      readRowsAlone(file, storage.content, alone, few.runs).then((batches) => {
        for (const [i, index] of alone.entries()) columns[index] = batches[i]
      }),
    )
  }
  await Promise.all(reading)
  return { length: few?.rows ?? entry.rows, columns }
}

/**
 * The range of the first column and the metadata before it, which are read together. Linux treats a small read at the
 * start of a file, followed by a large read, as sequential access, and reads ahead: 130 MB instead of 40 MB of first
 * columns on a disk that is set to read 8 MB ahead.
 */
function firstColumn({ batch, columns }: FileLayout): { start: number; end: number } {
  const [start, length] = columns[0]!
  return { start: batch[0], end: Math.max(batch[0] + batch[1], start + length) }
}

function readColumn(file: OpenFile, index: number): Promise<AnyBatch> {
  const { content, cache, path, schema, entry } = file
  const range = entry.columns[index]!
  return cache.get(
    columnKey(path, index),
    () => range[1] + 256,
    async () => {
      const { type, name } = schema.fields[index]!
      const [head, bytes, dictionaries] = await Promise.all([
        readHead(file),
        readRange(content, path, range),
        readDictionaries(file, index),
      ])
      const body = entry.batch[0] + entry.batch[1]
      const context = { dictionary: (id: number) => dictionaries.get(id) }
      return readable(path, () => {
        const { header, cursors } = head
        return new BodyReader(header, bytes, context, range[0] - body, cursors[index]).read(type, name)
      })
    },
  )
}

/**
 * Some rows of columns, given as runs, read from `alone`. Only for a file that has checksums of its blocks. Bytes that
 * other rows share are read as those of whole columns.
 */
async function readRowsAlone(
  file: OpenFile,
  alone: ReadContent,
  indices: readonly number[],
  runs: ArrayLike<number>,
): Promise<AnyBatch[]> {
  const { path, schema, entry } = file
  const [{ header, cursors }, sumOf, ...dictionaries] = await Promise.all([
    readHead(file),
    readBlocks(file, entry.blocks!),
    ...indices.map((index) => readDictionaries(file, index)),
  ])
  const reader = new BlockReader(alone, {
    path,
    end: entry.blocks![0],
    bytesOfBlock: blockBytes,
    sumOf,
  })
  const body = entry.batch[0] + entry.batch[1]
  const fetch: FetchRuns = (start, runs) => reader.read(body + start, runs)
  const reading = indices.map((index, i) => {
    const { type, name } = schema.fields[index]!
    const context = { dictionary: (id: number) => dictionaries[i]!.get(id) }
    return new RowReader(header, context, fetch).read(type, name, cursors[index]!, runs)
  })
  try {
    return await Promise.all(reading)
  } catch (cause) {
    // Bytes with correct checksums may still be invalid. Decoding them finds that.
    if (cause instanceof CatalogError && cause.code !== 'InvalidInput') throw cause
    throw undecodable(path, cause)
  }
}

function readBlocks({ content, cache, path }: OpenFile, range: Range): Promise<SumOfBlock> {
  return cache.get(
    `${path}#blocks`,
    () => range[1] + 256,
    async () => readBlockSums(await readRange(content, path, range)),
  )
}

/** The part of a file's entry that is needed for reading it. */
type FileLayout = Omit<ColumnFile, 'statistics'>

/** A file of a fragment, and how to read it. */
interface OpenFile {
  readonly content: ReadContent
  readonly cache: ByteCache
  readonly path: string
  readonly schema: Schema
  readonly entry: FileLayout
}

interface Head {
  readonly header: BatchHeader
  readonly cursors: readonly ColumnCursor[]
}

/** The metadata of a file's record batch, and the positions of its columns there. */
function readHead({ content, cache, path, schema, entry }: OpenFile): Promise<Head> {
  return cache.get(
    `${path}#header`,
    () => entry.batch[1] * 4,
    async () => {
      const bytes = await readRange(content, path, entry.batch)
      return readable(path, () => {
        const message = readMessage(bytes)
        if (message.kind !== 'records') throw new TypeError('no record batch where one should be')
        const { header } = message
        return {
          header,
          cursors: columnCursors(
            header,
            schema.fields.map(({ type }) => type),
          ),
        }
      })
    },
  )
}

/** The dictionaries of a column by their ids. */
async function readDictionaries(
  { content, cache, path, schema, entry }: OpenFile,
  index: number,
): Promise<ReadonlyMap<number, AnyColumn>> {
  const found = new Map<number, AnyColumn>()
  // A dictionary within the values of another one has a higher number, and is needed first.
  for (const type of dictionaryTypesOf([schema.fields[index]!]).reverse()) {
    const cursor = entry.dictionaries?.[type.id]
    if (cursor === undefined) throw brokenObject(path, 'lacks a dictionary')
    const [metadata, body] = cursor
    const column = await cache.get(
      `${path}#dictionary${type.id}`,
      () => body[1] + 256,
      async () => {
        const [head, bytes] = await Promise.all([
          readRange(content, path, metadata),
          readRange(content, path, body),
        ])
        return readable(path, () => {
          const message = readMessage(head)
          if (message.kind !== 'dictionary')
            throw brokenObject(path, 'holds no dictionary where one should be')
          const context = { dictionary: (id: number) => found.get(id) }
          return makeColumn(type.dictionary, [
            new BodyReader(message.header, bytes, context).read(type.dictionary, schema.fields[index]!.name),
          ])
        })
      },
    )
    found.set(type.id, column)
  }
  return found
}

/** Reports bytes with a correct checksum that cannot be decoded: an error of the writer, not of the caller. */
function readable<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw undecodable(path, cause)
  }
}

/** The error for bytes with a correct checksum that cannot be decoded. */
function undecodable(path: string, cause: unknown): CatalogError {
  return brokenObject(path, 'is not the Arrow file that the manifest describes', { cause })
}
