import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { bucketSuite, type Service, type Trial } from '../bucket/suite.ts'
import type { Fault, Passing } from '../faulty-proxy.ts'
import { type Place, s3Place } from './server.ts'

const answerOf = (status: number, code: string, headers?: Record<string, string>): Fault => ({
  kind: 'answer',
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>about AKIAEXAMPLEEXAMPLE00</Message><AWSAccessKeyId>AKIAEXAMPLEEXAMPLE00</AWSAccessKeyId></Error>`,
  ...(headers && { headers }),
})

function serviceAt({ client, bucket, ...place }: Place): Service {
  return {
    ...place,
    name: 'S3',
    plant: (Key, Body) => client.send(new PutObjectCommand({ Bucket: bucket, Key, Body })),
    isPut: ({ method, query }) => method === 'PUT' && !query.has('partNumber'),
    isGet: ({ method, query }) => method === 'GET' && !query.has('list-type'),
    dropCondition: ({ headers }) => delete headers['if-none-match'],
    shortenPage: ({ query }) => query.has('list-type') && query.set('max-keys', '10'),
    busy: answerOf(503, 'SlowDown'),
    undecided: answerOf(409, 'ConditionalRequestConflict'),
    refusals: [
      [answerOf(400, 'InvalidBucketName'), 'InvalidInput', /rows is no name for a bucket\. Give 3 to 63/],
      [answerOf(404, 'NoSuchBucket'), 'InvalidInput', /there is no bucket rows\. Create it/],
      [answerOf(403, 'AccessDenied'), 'PermissionDenied', /forbids it \(AccessDenied\)\. Allow s3:GetObject/],
      [
        answerOf(403, 'InvalidAccessKeyId'),
        'PermissionDenied',
        /refuses the credentials \(InvalidAccessKeyId\)\. Renew them/,
      ],
      [
        answerOf(400, 'ExpiredToken'),
        'PermissionDenied',
        /refuses the credentials \(ExpiredToken\)\. Renew them/,
      ],
      [
        answerOf(403, 'RequestTimeTooSkewed'),
        'PermissionDenied',
        /the clock of this machine differs too much.*Set the clock/,
      ],
      [
        answerOf(301, 'PermanentRedirect', { 'x-amz-bucket-region': 'eu-west-1' }),
        'InvalidInput',
        /the bucket lies in the region eu-west-1\. Set AWS_REGION/,
      ],
      [answerOf(501, 'NotImplemented'), 'Unsupported', /does not implement this request/],
      [answerOf(418, 'Teapot'), 'Internal', /answered Teapot\. See the cause/],
    ],
    secrets: /AKIAEXAMPLE|a-secret/,
    sayings: {
      busy: /the service cannot answer now \(SlowDown, 503\)\. Try again later\.$/,
      unreachable: /cannot be reached \(ECONNREFUSED\)\. Check the endpoint, and try again\.$/,
    },
    races: 12,
  }
}

const isComplete = ({ method, query }: Passing) => method === 'POST' && query.has('uploadId')

/** Large objects travel in parts, and many are removed in one request. */
function ofPartsAndMany({ client, bucket: Bucket }: Place, trial: () => Trial): void {
  async function uploads(): Promise<number> {
    const { Uploads = [] } = await client.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix: trial().prefix }),
    )
    return Uploads.length
  }

  test('an upload in parts whose last answer was lost has succeeded, and leaves nothing behind', async () => {
    const { content, beside, fail } = trial()
    const bytes = Buffer.alloc(9 << 20, 'parts')
    fail((passing) => isComplete(passing) && !passing.path.endsWith('.partial'), { kind: 'lose' })
    await content.put('t/large', bytes)
    expect(bytes.equals((await beside.get('t/large'))!)).toBe(true)
    expect(await uploads()).toBe(0)
    expect(await paths(beside, '')).toEqual(['t/large'])
  })

  test('a writer who comes while parts are uploaded wins, and nothing of the upload stays', async () => {
    const { content, beside, proxy } = trial()
    proxy.decide = async (passing) => {
      if (passing.query.get('partNumber') === '2')
        await beside.put('t/large', bytesOf('first')).catch(() => {})
      return undefined
    }
    await refused(content.put('t/large', Buffer.alloc(9 << 20, 'parts')), 'ConcurrentModification')
    expect(await text(beside, 't/large')).toBe('first')
    expect(await uploads()).toBe(0)
  })

  test('where a service completes an upload over an object, large objects travel whole', async () => {
    const { content, beside, proxy } = trial()
    proxy.decide = (passing) => {
      if (isComplete(passing)) delete passing.headers['if-none-match']
      return undefined
    }
    const bytes = Buffer.alloc(9 << 20, 'whole')
    await content.put('t/large', bytes)
    await refused(content.put('t/large', Buffer.alloc(9 << 20)), 'ConcurrentModification')
    expect(bytes.equals((await beside.get('t/large'))!)).toBe(true)
    expect(await uploads()).toBe(0)
    expect(await paths(beside, '')).toEqual(['t/large'])
  })

  test('uploads that were begun and left are listed as unfinished, and can be removed', async () => {
    const { content, prefix } = trial()
    const Key = `${prefix}tables/x/data/1.arrow`
    await client.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    const found = await paths(content, 'tables/')
    expect(found).toEqual([expect.stringMatching(/^tables\/x\/data\/\.[0-9a-f-]{36}\.partial$/)])
    expect(await uploads()).toBe(1)
    for await (const { becomes } of content.list('tables/')) expect(becomes).toBe('tables/x/data/1.arrow')
    await content.remove(found[0]!)
    expect(await uploads()).toBe(0)
    expect(await paths(content, 'tables/')).toEqual([])
  })

  test('a service that does not remove many objects at once is asked for one after the other', async () => {
    const { content, beside, fail } = trial()
    for (const name of ['t/1', 't/2', 'u/3']) await beside.put(name, bytesOf(name))
    fail(({ query }) => query.has('delete'), answerOf(501, 'NotImplemented'), Infinity)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual(['u/3'])
  })
}

const place = await s3Place()
if (typeof place === 'string') bucketSuite(place)
else bucketSuite(serviceAt(place), (trial) => ofPartsAndMany(place, trial))
