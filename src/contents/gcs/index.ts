import { type Bucket, IdempotencyStrategy, Storage } from '@google-cloud/storage'
import type { Content } from '../../base/content/content.ts'
import { bucketContent } from '../bucket/index.ts'
import { type BucketUrl, checkedEndpoint, parseBucketUrl } from '../bucket/url.ts'
import { GcsBucket } from './bucket.ts'

const parameterNames = ['endpoint']

/** Reads `gs://bucket/prefix`, with the parameters that this content takes. */
export function parseGcsUrl(url: string): BucketUrl {
  return parseBucketUrl(url, parameterNames)
}

/**
 * Content in a bucket of Google Cloud Storage, by a client of your own. `prefix` is the begin of all names: it is empty
 * or ends in a slash.
 *
 * ```ts
 * const content = gcsContent(new Storage().bucket('bucket'), 'prefix/')
 * ```
 */
export function gcsContent(bucket: Bucket, prefix = ''): Content {
  return bucketContent(new GcsBucket(bucket), { prefix })
}

/** Content at a URL. Credentials come from the environment, as for all tools of Google Cloud. */
export function openGcs(url: string): Content {
  const { bucket, prefix, parameters } = parseGcsUrl(url)
  const endpoint = parameters.get('endpoint')
  const storage = new Storage({
    ...(endpoint !== undefined && { apiEndpoint: checkedEndpoint(endpoint) }),
    // All requests of this content may be repeated.
    retryOptions: { maxRetries: 4, totalTimeout: 60, idempotencyStrategy: IdempotencyStrategy.RetryAlways },
  })
  return bucketContent(new GcsBucket(storage.bucket(bucket)), { prefix, url })
}
