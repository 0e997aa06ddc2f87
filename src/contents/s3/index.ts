import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import type { Content } from '../../base/content/content.ts'
import { invalid } from '../../base/errors.ts'
import { bucketContent } from '../bucket/index.ts'
import { type BucketUrl, checkedEndpoint, parseBucketUrl } from '../bucket/url.ts'
import { S3Bucket } from './bucket.ts'
import { DirectReads } from './direct-reads.ts'

const parameterNames = ['endpoint', 'region', 'profile', 'path-style']

/** Reads `s3://bucket/prefix`, with the parameters that this content takes. */
export function parseS3Url(url: string): BucketUrl {
  return parseBucketUrl(url, parameterNames)
}

/**
 * Content in S3, or in a service that speaks its protocol, by a client of your own. `prefix` is the begin of all keys: it
 * is empty or ends in a slash. The service must keep the condition `If-None-Match: *`.
 *
 * ```ts
 * const content = s3Content(new S3Client({ region: 'eu-west-1' }), 'bucket', 'prefix/')
 * ```
 */
export function s3Content(client: S3Client, bucket: string, prefix = ''): Content {
  return bucketContent(new S3Bucket(client, bucket), { prefix })
}

/** Content at a URL. The rest (credentials, region, endpoint) comes from the environment, as for all tools of AWS. */
export function openS3(url: string): Content {
  const { bucket, prefix, parameters } = parseS3Url(url)
  const client = new S3Client(configOf(parameters))
  return bucketContent(new S3Bucket(client, bucket, new DirectReads(client)), { prefix, url })
}

function configOf(parameters: ReadonlyMap<string, string>): S3ClientConfig {
  const endpoint = parameters.get('endpoint')
  const hasEndpoint = Boolean(endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL)
  const region = parameters.get('region') ?? (hasEndpoint ? regionOfEnvironment() : undefined)
  const profile = parameters.get('profile')
  return {
    // Other services seldom have a host name for each bucket.
    forcePathStyle: pathStyleOf(parameters.get('path-style')) ?? hasEndpoint,
    ...(endpoint !== undefined && { endpoint: checkedEndpoint(endpoint) }),
    ...(region !== undefined && { region }),
    ...(profile !== undefined && { profile }),
    // Bounds the wait for a service that does not answer.
    requestHandler: { connectionTimeout: 5_000, socketTimeout: 60_000, httpAgent: agent, httpsAgent: agent },
  }
}

const agent = { keepAlive: true, maxSockets: 64 }

/** Other services take any region, and most of their users set none. */
function regionOfEnvironment(): string {
  return process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || 'us-east-1'
}

function pathStyleOf(given: string | undefined): boolean | undefined {
  if (given === undefined || given === 'true') return given === undefined ? undefined : true
  if (given === 'false') return false
  throw invalid('The parameter path-style of the content is neither true nor false. Write one of them.')
}
