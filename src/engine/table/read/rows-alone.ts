import type { Content } from '../../../base/content/content.ts'
import { CatalogError } from '../../../base/errors.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { type FetchRuns, RowReader } from '../../arrow/ipc/row-reader.ts'
import { blockBytes, readBlockSums, type SumOfBlock } from '../format/blocks.ts'
import { BlockReader } from '../storage/block-reader.ts'
import { type Range, readRange } from '../storage/objects.ts'
import { type OpenFile, readDictionaries, readHead, undecodable } from './file-head.ts'

/**
 * Some rows of columns, given as runs, read from `alone`. Only for a file that has checksums of its blocks. Bytes that
 * other rows share are read as those of whole columns.
 */
export async function readRowsAlone(
  file: OpenFile,
  alone: Content,
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
