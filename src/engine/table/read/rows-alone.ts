import type { Schema } from '@uwdata/flechette'
import type { Content } from '../../../base/content/content.ts'
import { CatalogError } from '../../../base/errors.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type FetchRuns, RowReader } from '../../arrow/ipc/row-reader.ts'
import { blockBytes, readBlockSums, type SumOfBlock } from '../format/blocks.ts'
import { BlockReader } from '../storage/block-reader.ts'
import { type Range, readRange, type Storage } from '../storage/objects.ts'
import { type FileLayout, readDictionaries, readHead, undecodable } from './file-head.ts'

/** A file of a fragment. */
export interface OpenFile {
  readonly storage: Storage
  /** The storage to read rows from. Bytes that other rows share are read by `storage`. */
  readonly content: Content
  readonly path: string
  readonly schema: Schema
  readonly entry: FileLayout
}

/** Some rows of columns, given as runs. Only for a file that has checksums of its blocks. */
export async function readRowsAlone(
  { storage, content, path, schema, entry }: OpenFile,
  indices: readonly number[],
  runs: ArrayLike<number>,
): Promise<AnyBatch[]> {
  const [{ header, cursors }, sumOf, ...dictionaries] = await Promise.all([
    readHead(storage, path, schema, entry),
    readBlocks(storage, path, entry.blocks!),
    ...indices.map((index) => readDictionaries(storage, path, schema, entry, index)),
  ])
  const reader = new BlockReader(content, {
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

function readBlocks({ content, cache }: Storage, path: string, range: Range): Promise<SumOfBlock> {
  return cache.get(
    `${path}#blocks`,
    () => range[1] + 256,
    async () => readBlockSums(await readRange(content, path, range)),
  )
}
