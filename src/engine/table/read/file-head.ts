import type { Schema } from '@uwdata/flechette'
import type { Content } from '../../../base/content/content.ts'
import type { CatalogError } from '../../../base/errors.ts'
import { type AnyColumn, makeColumn } from '../../arrow/batch.ts'
import { BodyReader, type ColumnCursor, columnCursors } from '../../arrow/ipc/body.ts'
import { dictionaryTypesOf } from '../../arrow/ipc/dictionary-ids.ts'
import { type BatchHeader, readMessage } from '../../arrow/ipc/message.ts'
import type { ColumnFile } from '../format/manifest.ts'
import type { ByteCache } from '../storage/cache.ts'
import { brokenObject, readRange } from '../storage/objects.ts'

/** The part of a file's entry that is needed for reading it. */
export type FileLayout = Omit<ColumnFile, 'statistics'>

/** A file of a fragment, and how to read it. */
export interface OpenFile {
  readonly content: Content
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
export function readHead({ content, cache, path, schema, entry }: OpenFile): Promise<Head> {
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
export async function readDictionaries(
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
export function readable<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw undecodable(path, cause)
  }
}

/** The error for bytes with a correct checksum that cannot be decoded. */
export function undecodable(path: string, cause: unknown): CatalogError {
  return brokenObject(path, 'is not the Arrow file that the manifest describes', { cause })
}
