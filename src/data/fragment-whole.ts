import type { Schema } from '@uwdata/flechette'
import type { Content } from '../content/content.ts'
import type { AnyBatch } from './arrow/batch.ts'
import { ByteCache } from './cache.ts'
import { readColumns } from './fragment-read.ts'
import type { FragmentEntry } from './manifest.ts'
import type { Storage } from './objects.ts'

/**
 * All columns of a fragment, read in one go (of a small one, finding and opening the file is most of the
 * work) and past the cache, where rows that are read once would only drive out what is read often.
 */
export async function readWhole(
  { content }: Storage,
  prefix: string,
  schema: Schema,
  entry: FragmentEntry,
): Promise<readonly AnyBatch[]> {
  const bytes = await content.get(prefix + entry.path)
  const storage = { content: onlyOne(bytes), cache: new ByteCache(0) }
  const { columns } = await readColumns(storage, prefix, schema, entry, schema.fields.keys())
  return columns as readonly AnyBatch[]
}

/** A content in which every path leads to the same object. */
function onlyOne(bytes: Uint8Array | undefined): Content {
  const refuse = () => {
    throw new TypeError('this content is there to be read')
  }
  return {
    get: async (_path, range) => (range ? bytes?.subarray(range.start, range.end) : bytes),
    put: refuse,
    list: refuse,
    remove: refuse,
  }
}
