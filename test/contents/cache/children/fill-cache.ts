import { writeSync } from 'node:fs'
import { bucketContent } from '../../../../src/contents/bucket/index.ts'
import { cachedContent } from '../../../../src/contents/cache/index.ts'
import { MemoryBucket } from '../../bucket/memory-bucket.ts'

/** Reads objects through a cache until it is killed, and tells how many reads it has done. */
async function main([folder]: string[]): Promise<void> {
  const object = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 255)
  const bucket = bucketContent(new MemoryBucket(), { prefix: '' })
  for (let i = 0; i < 50; i++) await bucket.put(`o${i}`, object.subarray(i, i + 50_000))
  const content = await cachedContent(bucket, { folder: folder!, bytes: 64 << 20, owner: 'me' })
  for (let i = 0; ; i++) {
    await content.uncached.get(`o${i % 50}`)
    await content.get(`o${i % 50}`)
    // In one piece, and gone before the process can be.
    writeSync(1, `${i}\n`)
  }
}

await main(process.argv.slice(2))
