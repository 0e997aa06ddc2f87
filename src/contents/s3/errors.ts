import type { Reason } from '../bucket/bucket.ts'

interface S3Error {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number; readonly requestId?: string }
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> }
  readonly Region?: string
}

/** The status of the response that an error represents. */
export function statusOf(error: unknown): number | undefined {
  return (error as S3Error | undefined)?.$metadata?.httpStatusCode
}

/** The name that S3 gives an error. */
export function nameOf(error: unknown): string | undefined {
  return (error as S3Error | undefined)?.name
}

/** Whether an error means that there is no such object; a missing bucket does not count. */
export function isMissing(error: unknown): boolean {
  return statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket'
}

/** The result of a request; undefined if there is no such object. */
export function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error) => (isMissing(error) ? undefined : Promise.reject(error)))
}

/** What an error of S3 means, and its status, its code of the system and its request. */
export function reasonOf(bucket: string, error: unknown): Reason {
  const { $metadata, code } = error as S3Error
  const request = $metadata?.requestId && `request ${$metadata.requestId}`
  return [...meaningOf(bucket, error as S3Error), $metadata?.httpStatusCode, code, request]
}

function meaningOf(bucket: string, error: S3Error): Reason {
  const status = statusOf(error) ?? 0
  switch (error.name) {
    case 'NoSuchBucket':
      return ['InvalidInput', `there is no bucket ${bucket}. Create it, or check its name and the endpoint.`]
    case 'InvalidBucketName':
      return [
        'InvalidInput',
        `${bucket} is no name for a bucket. Give 3 to 63 small letters, digits, dots and hyphens, as the bucket is named.`,
      ]
    case 'PermanentRedirect':
    case 'AuthorizationHeaderMalformed':
    case 'IllegalLocationConstraintException':
    case '301':
      return ['InvalidInput', otherRegion(error)]
    case 'RequestTimeTooSkewed':
    case 'RequestExpired':
      return [
        'PermissionDenied',
        'the clock of this machine differs too much from that of the service. Set the clock.',
      ]
    case 'CredentialsProviderError':
      return [
        'PermissionDenied',
        'no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role.',
      ]
    case 'InvalidAccessKeyId':
    case 'SignatureDoesNotMatch':
    case 'InvalidToken':
    case 'ExpiredToken':
      return ['PermissionDenied', `the service refuses the credentials (${error.name}). Renew them.`]
    case 'NotImplemented':
      return ['Unsupported', 'the service does not implement this request. Use another service.']
  }
  if (/^Region is missing/.test(error.message ?? '')) {
    return ['InvalidInput', 'no region is given. Set AWS_REGION, or write ?region=… behind the URL.']
  }
  if (status === 301 || status === 307) return ['InvalidInput', otherRegion(error)]
  if (status === 401 || status === 403) {
    return [
      'PermissionDenied',
      `the service forbids it (${error.name}). Allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload there, and s3:ListBucket and s3:ListBucketMultipartUploads of the bucket.`,
    ]
  }
  if (status === 0 && error.code === 'ENOTFOUND') {
    return [
      'ServiceUnavailable',
      'the name of the service is not known here. Check the endpoint and the network.',
    ]
  }
  if (status === 0 && (error.code !== undefined || error.name === 'TimeoutError')) {
    return [
      'ServiceUnavailable',
      `the service cannot be reached (${error.code ?? error.name}). Check the endpoint, and try again.`,
    ]
  }
  if (status === 429 || status >= 500) {
    return [
      'ServiceUnavailable',
      `the service cannot answer now (${error.name}, ${status}). Try again later.`,
    ]
  }
  return ['Internal', `the service answered ${error.name ?? 'an error'}. See the cause of this error.`]
}

function otherRegion({ $response, Region }: S3Error): string {
  const region = $response?.headers?.['x-amz-bucket-region'] ?? Region
  const where = region === undefined ? 'in another region' : `in the region ${region}`
  return `the bucket lies ${where}. Set AWS_REGION to that, or write ?region=… behind the URL.`
}
