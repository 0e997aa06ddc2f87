import { test } from 'vitest'
import type { Reason } from '../../../src/contents/bucket/bucket.ts'
import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { fails } from '../../support/refusals.ts'
import { MemoryBucket } from './memory-bucket.ts'

/** A bucket that may be deleted. */
class DeletedBucket extends MemoryBucket {
  isGone = false

  override async read(key: string, range?: { readonly start: number; readonly end: number }) {
    if (this.isGone) throw new Error('NoSuchBucket')
    return super.read(key, range)
  }

  override reasonOf(): Reason {
    return ['InvalidInput', 'There is no such bucket. Create it, or check its name.']
  }
}

test('a bucket that is not there is a mistake of who named it, until it has answered once', async () => {
  const bucket = new DeletedBucket()
  const content = bucketContent(bucket, { prefix: '' })
  bucket.isGone = true
  await fails(content.get('a'), 'InvalidInput', /There is no such bucket/)
  bucket.isGone = false
  await content.put('a', new Uint8Array(1))
  bucket.isGone = true
  await fails(content.get('a'), 'ServiceUnavailable', /There is no such bucket/)
  await fails(content.remove('../a'), 'InvalidInput', /path/)
})
