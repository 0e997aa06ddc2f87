import type { Schema } from '@uwdata/flechette'
import type { AnyBatch } from '../../arrow/batch.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { ByteCache } from '../storage/cache.ts'
import { oneRead } from '../storage/coalesced-read.ts'
import type { Storage } from '../storage/objects.ts'
import { readColumns } from './fragment-read.ts'

/**
 * All columns of a fragment, read in one go, and past the cache, where rows that are read once would only
 * drive out what is read often.
 */
export async function readWhole(
  storage: Storage,
  prefix: string,
  schema: Schema,
  entry: FragmentEntry,
): Promise<readonly AnyBatch[]> {
  const content = oneRead(storage.content, prefix + entry.path)
  const past = { ...storage, content, cache: new ByteCache(0) }
  const { columns } = await readColumns(past, prefix, schema, entry, schema.fields.keys())
  return columns as readonly AnyBatch[]
}
