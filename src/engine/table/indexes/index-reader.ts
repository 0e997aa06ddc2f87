import { pathIn } from '../../../base/model/relative-path.ts'
import { readCostOf } from '../../../base/scheduling/merge-ranges.ts'
import type { FragmentEntry, IndexEntry } from '../format/manifest.ts'
import { brokenObject, type ReadStorage, readRange } from '../storage/objects.ts'
import { type Bucket, BucketTable, bytesOfRow } from './hash-index.ts'

/** The share of a fragment's rows from which on a scan takes less time than looking at each of them. */
const fewShare = 1 / 8

/** Part of an index's bytes that reading some buckets may cost. Beyond it, all of them are read. */
const worthwhile = 3 / 4

/** How many times as full as others the buckets of a value are that many rows have. */
const full = 4

/** The fragment and the index of one of its fields. */
export interface FragmentIndex {
  readonly storage: ReadStorage
  readonly prefix: string
  readonly entry: Pick<FragmentEntry, 'rows'>
  readonly index: IndexEntry
}

/**
 * The rows of a fragment with one of some hashes, in order, deleted ones included. Undefined if they are so many that a
 * scan takes less time. Throws `InvalidTableState` for an index that is missing or damaged.
 */
export async function rowsWithHashes(of: FragmentIndex, hashes: Uint32Array): Promise<number[] | undefined> {
  const { storage, prefix, entry, index } = of
  const path = pathIn(prefix, index.path)
  const wholeKey = `${path}#rows${index.rows[0]}`
  const most = entry.rows * fewShare
  const table = await readTable(storage, path, index)
  const buckets = table.bucketsOf(hashes)
  let bytes = 0
  for (const { start, end } of buckets) bytes += end - start
  // A value that many rows have fills its bucket.
  const average = (buckets.length / table.count) * index.rows[1]
  if (bytes >= 2 * most * bytesOfRow && bytes >= full * average) return undefined
  const read = buckets.filter(({ start, end }) => end > start)
  const readCost = readCostOf(storage.content)
  const cost = read.length * readCost + bytes
  const isWhole =
    storage.cache.has(wholeKey) ||
    cost >= index.rows[1] * worthwhile ||
    storage.cache.shouldLoadIndex(wholeKey, index.rows[1], cost)
  const bytesOf = isWhole
    ? await readAll(storage, path, index, wholeKey)
    : await readBuckets(storage, path, index, read)
  const found: number[] = []
  for (const hash of hashes) {
    table.rowsOf(hash, bytesOf, found)
    if (found.length >= most) return undefined
  }
  return hashes.length === 1 ? found : found.sort((a, b) => a - b)
}

function readTable({ content, cache }: ReadStorage, path: string, index: IndexEntry): Promise<BucketTable> {
  const { buckets, rows } = index
  return cache.get(
    `${path}#buckets${buckets[0]}`,
    (table) => table.bytes + 256,
    async () => {
      const bytes = await readRange(content, path, buckets)
      try {
        return new BucketTable(bytes, rows[1])
      } catch (cause) {
        throw brokenObject(path, 'is not the index that the manifest describes', { cause })
      }
    },
  )
}

type BytesOf = (bucket: Bucket) => Uint8Array

async function readAll(
  { content, cache }: ReadStorage,
  path: string,
  { rows }: IndexEntry,
  key: string,
): Promise<BytesOf> {
  const bytes = await cache.get(
    key,
    () => rows[1] + 256,
    () => readRange(content, path, rows),
  )
  return ({ start, end }) => bytes.subarray(start, end)
}

async function readBuckets(
  { content }: ReadStorage,
  path: string,
  { rows }: IndexEntry,
  buckets: readonly Bucket[],
): Promise<BytesOf> {
  const found = new Map<number, Uint8Array>()
  await Promise.all(
    buckets.map(async ({ start, end, crc }) => {
      found.set(start, await readRange(content, path, [rows[0] + start, end - start, crc]))
    }),
  )
  const none = new Uint8Array(0)
  return ({ start, end }) => (end > start ? found.get(start)! : none)
}
