import type { Schema } from '@uwdata/flechette'
import { type AnyBatch, type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import { BodyReader, type ColumnCursor, columnCursors } from '../../arrow/ipc/body.ts'
import { dictionaryTypesOf } from '../../arrow/ipc/dictionary-ids.ts'
import { type BatchHeader, readMessage } from '../../arrow/ipc/message.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { pathIn } from '../../model/relative-path.ts'
import { fromSource } from '../format/column-source.ts'
import { readLive } from '../format/deletions.ts'
import type { ColumnFile, FragmentLayout } from '../format/manifest.ts'
import { fileAt, type TableColumns, type TableSchema } from '../format/table-schema.ts'
import { type Placed, rowColumn } from '../scan/row-columns.ts'
import { coalesceReads, gatherReads } from '../storage/coalesced-read.ts'
import { brokenObject, readRange, type Storage } from '../storage/objects.ts'

/** What reading a file needs of its entry. */
type FileLayout = Omit<ColumnFile, 'statistics'>

/** The rows of a fragment: its columns that were asked for, at their index in the schema, and those of rows behind. */
export interface FragmentRows {
  readonly length: number
  readonly columns: readonly (AnyBatch | undefined)[]
}

/** Bytes up to which a fragment is read as a whole: one file opened instead of one for each part. */
const smallBytes = 64 * 1024

/**
 * Reads columns of a fragment: their bytes and no others, unless the fragment is small. The schema's dictionaries must
 * be numbered by `numberDictionaries`. Throws `InvalidTableState` for a file that is missing, cut off or damaged.
 */
export async function readColumns(
  storage: Storage,
  prefix: string,
  schema: TableSchema,
  entry: FragmentLayout & Placed,
  indices: Iterable<number>,
): Promise<FragmentRows> {
  const { fields, columns: table } = schema
  const wanted = new Set(indices)
  const ofRows = [...wanted].filter((index) => index >= fields.length)
  for (const index of ofRows) wanted.delete(index)
  const reading =
    table === undefined || table.fits(entry)
      ? readFile(storage, prefix, schema, entry, wanted)
      : gatherColumns(storage, prefix, schema, table, entry, wanted)
  if (ofRows.length === 0) return reading
  const needsLive = ofRows.some((index) => index > fields.length)
  const [{ length, columns: read }, live] = await Promise.all([
    reading,
    needsLive ? readLive(storage, prefix, entry) : undefined,
  ])
  const columns = [...read]
  for (const index of ofRows) {
    const which = index - fields.length
    columns[index] = rowColumn(entry, which, which > 0 ? live : undefined)
  }
  return { length, columns }
}

/** Reads the columns of a fragment from the files that have them. A column that none has is null. */
async function gatherColumns(
  storage: Storage,
  prefix: string,
  { fields }: TableSchema,
  table: TableColumns,
  entry: FragmentLayout,
  wanted: ReadonlySet<number>,
): Promise<FragmentRows> {
  const places = table.placesIn(entry)
  const files = new Map<number, Set<number>>()
  for (const index of wanted) {
    const place = places[index]
    if (place) files.set(place.file, (files.get(place.file) ?? new Set()).add(place.source.index))
  }
  const read = new Map<number, FragmentRows>()
  await Promise.all(
    Array.from(files, async ([number, within]) => {
      const file = fileAt(entry, number)
      read.set(number, await readFile(storage, prefix, table.schemaOf(file.layout ?? ''), file, within))
    }),
  )
  const columns: (AnyBatch | undefined)[] = fields.map(() => undefined)
  for (const index of wanted) {
    const { type } = fields[index]!
    const place = places[index]
    columns[index] = place
      ? fromSource(read.get(place.file)!.columns[place.source.index]!, type, place.source)
      : nullBatch(type, entry.rows, Number.POSITIVE_INFINITY)
  }
  return { length: entry.rows, columns }
}

async function readFile(
  storage: Storage,
  prefix: string,
  schema: Schema,
  entry: FileLayout,
  wanted: ReadonlySet<number>,
): Promise<FragmentRows> {
  const path = pathIn(prefix, entry.path)
  if (entry.size <= smallBytes) {
    storage = { ...storage, content: coalesceReads(storage.content, path) }
  } else if (storage.content.getRanges !== undefined) {
    storage = { ...storage, content: gatherReads(storage.content, path) }
  } else if (wanted.has(0)) {
    storage = { ...storage, content: coalesceReads(storage.content, path, firstColumn(entry)) }
  }
  const columns: (AnyBatch | undefined)[] = schema.fields.map(() => undefined)
  await Promise.all(
    Array.from(wanted, async (index) => {
      columns[index] = await readColumn(storage, prefix, schema, entry, index)
    }),
  )
  return { length: entry.rows, columns }
}

/**
 * The range of the first column and the metadata before it, which are read together. Linux takes a small read at the
 * beginning of a file and a large read behind it for the first of many, and reads ahead: 130 MB instead of 40 MB of
 * first columns on a disk that is set to read 8 MB ahead.
 */
function firstColumn({ batch, columns }: FileLayout): { start: number; end: number } {
  const [start, length] = columns[0]!
  return { start: batch[0], end: Math.max(batch[0] + batch[1], start + length) }
}

function readColumn(
  storage: Storage,
  prefix: string,
  schema: Schema,
  entry: FileLayout,
  index: number,
): Promise<AnyBatch> {
  const path = pathIn(prefix, entry.path)
  const range = entry.columns[index]!
  return storage.cache.get(
    `${path}#${index}`,
    () => range[1] + 256,
    async () => {
      const { type, name } = schema.fields[index]!
      const [head, bytes, dictionaries] = await Promise.all([
        readHead(storage, path, schema, entry),
        readRange(storage.content, path, range),
        readDictionaries(storage, path, schema, entry, index),
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

interface Head {
  readonly header: BatchHeader
  readonly cursors: readonly ColumnCursor[]
}

function readHead(
  { content, cache }: Storage,
  path: string,
  schema: Schema,
  entry: FileLayout,
): Promise<Head> {
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

async function readDictionaries(
  storage: Storage,
  path: string,
  schema: Schema,
  entry: FileLayout,
  index: number,
): Promise<ReadonlyMap<number, AnyColumn>> {
  const found = new Map<number, AnyColumn>()
  // A dictionary within the values of another one has a higher number, and is needed first.
  for (const type of dictionaryTypesOf([schema.fields[index]!]).reverse()) {
    const cursor = entry.dictionaries?.[type.id]
    if (cursor === undefined) throw brokenObject(path, 'lacks a dictionary')
    const [metadata, body] = cursor
    const column = await storage.cache.get(
      `${path}#dictionary${type.id}`,
      () => body[1] + 256,
      async () => {
        const [head, bytes] = await Promise.all([
          readRange(storage.content, path, metadata),
          readRange(storage.content, path, body),
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

/** Reports bytes that make no sense although their checksum is right. That is the writer's fault, not the caller's. */
function readable<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw brokenObject(path, 'is not the Arrow file that the manifest describes', { cause })
  }
}
