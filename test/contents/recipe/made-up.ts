import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { type BucketUrl, parseBucketUrl } from '../../../src/contents/bucket/url.ts'
import { MemoryBucket } from '../bucket/memory-bucket.ts'

/* A driver for a service of object storage, as those below src/contents/. */

const buckets = new Map<string, MemoryBucket>()

export function parseMadeUpUrl(url: string): BucketUrl {
  return parseBucketUrl(url, [])
}

export function openMadeUp(url: string) {
  const { bucket, prefix } = parseMadeUpUrl(url)
  const found = buckets.get(bucket) ?? new MemoryBucket()
  buckets.set(bucket, found)
  return bucketContent(found, { prefix, url })
}
