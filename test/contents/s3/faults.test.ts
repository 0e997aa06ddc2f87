import { inspect } from 'node:util'
import {
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { type CatalogError, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { type Fault, faultyProxy, type Passing } from '../faulty-proxy.ts'
import { s3Place } from './server.ts'

const place = await s3Place()
const proxy = typeof place === 'string' ? (undefined as never) : await faultyProxy(place.endpoint)
afterAll(() => proxy?.close())

describe.skipIf(typeof place === 'string')('content in S3 behind a bad network', () => {
  let content: Content
  /** The same objects, past the proxy. */
  let beside: Content
  let prefix: string

  beforeEach(async () => {
    proxy.decide = () => undefined
    proxy.seen.length = 0
    if (typeof place === 'string') return
    const url = place.freshUrl(proxy.url)
    content = await openContent(url)
    beside = await openContent(url.replace(encodeURIComponent(proxy.url), encodeURIComponent(place.endpoint)))
    prefix = /^s3:\/\/[^/]+\/([^?]+)/.exec(url)![1]!
  })

  const isPut = ({ method, query }: Passing) => method === 'PUT' && !query.has('partNumber')
  const isGet = ({ method, query }: Passing) => method === 'GET' && !query.has('list-type')
  const isComplete = ({ method, query }: Passing) => method === 'POST' && query.has('uploadId')

  /** Lets a fault happen to the first requests of a kind. */
  function fail(kind: (passing: Passing) => boolean, fault: Fault, times = 1): void {
    let left = times
    proxy.decide = (passing) => (kind(passing) && left-- > 0 ? fault : undefined)
  }

  const answerOf = (status: number, code: string, headers?: Record<string, string>): Fault => ({
    kind: 'answer',
    status,
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>about AKIAEXAMPLEEXAMPLE00</Message><AWSAccessKeyId>AKIAEXAMPLEEXAMPLE00</AWSAccessKeyId></Error>`,
    ...(headers && { headers }),
  })

  async function uploads(): Promise<number> {
    if (typeof place === 'string') return 0
    const { Uploads = [] } = await place.client.send(
      new ListMultipartUploadsCommand({ Bucket: place.bucket, Prefix: prefix }),
    )
    return Uploads.length
  }

  test('a put whose answer was lost meets its own object, and has succeeded', async () => {
    fail(isPut, { kind: 'lose' })
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    expect(proxy.seen.filter((seen) => seen.startsWith('PUT'))).toHaveLength(2)
    expect(proxy.seen.filter((seen) => seen.startsWith('HEAD'))).toHaveLength(1)
  })

  test('a put whose answer was lost has failed where the object is that of another writer', async () => {
    await beside.put('a', bytesOf('theirs'))
    fail(isPut, { kind: 'lose' })
    await refused(content.put('a', bytesOf('mine')), 'ConcurrentModification')
    expect(await text(beside, 'a')).toBe('theirs')
  })

  test('a put all of whose answers were lost is told by the object that is there', async () => {
    fail(isPut, { kind: 'lose' }, Infinity)
    await content.put('mine', bytesOf('mine'))
    expect(await text(beside, 'mine')).toBe('mine')
    // Some services end the connection when they refuse a large object, before they have read it.
    await beside.put('a', bytesOf('theirs'))
    await refused(content.put('a', Buffer.alloc(4 << 20)), 'ConcurrentModification')
    expect(await text(beside, 'a')).toBe('theirs')
    fail(isPut, { kind: 'drop' }, Infinity)
    await refused(content.put('b', bytesOf('mine')), 'ServiceUnavailable')
    expect(await paths(beside, '')).toEqual(['a', 'mine'])
  })

  test('an upload in parts whose last answer was lost has succeeded, and leaves nothing behind', async () => {
    const bytes = Buffer.alloc(9 << 20, 'parts')
    let isFirst = true
    proxy.decide = (passing) => {
      const isOwn = isComplete(passing) && !passing.path.endsWith('.partial') && isFirst
      if (!isOwn) return undefined
      isFirst = false
      return { kind: 'lose' }
    }
    await content.put('t/large', bytes)
    expect(bytes.equals((await beside.get('t/large'))!)).toBe(true)
    expect(await uploads()).toBe(0)
    expect(await paths(beside, '')).toEqual(['t/large'])
  })

  test('a writer who comes while parts are uploaded wins, and nothing of the upload stays', async () => {
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

  test('a conflict that the service could not decide is tried again, and not for ever', async () => {
    fail(isPut, answerOf(409, 'ConditionalRequestConflict'), 3)
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    fail(isPut, answerOf(409, 'ConditionalRequestConflict'), Infinity)
    const error = await refused(content.put('b', bytesOf('mine')), 'ServiceUnavailable')
    expect(error.message).toMatch(/could not be decided in 5 attempts\. Try again\.$/)
    expect(await paths(beside, '')).toEqual(['a'])
  })

  test('a service that is busy is asked again, and not for ever', async () => {
    fail(isPut, answerOf(503, 'SlowDown'), 2)
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    fail(() => true, answerOf(503, 'SlowDown'), Infinity)
    const calls = [() => content.put('b', bytesOf('x')), () => paths(content, '')]
    for (const call of calls) {
      const error = await refused(call(), 'ServiceUnavailable')
      expect(error.message).toMatch(/the service cannot answer now \(SlowDown, 503\)\. Try again later\.$/)
    }
    expect(await text(beside, 'a')).toBe('mine')
  })

  test('an answer that ends too early is asked for again, and never taken for the object', async () => {
    await beside.put('a', Buffer.alloc(300_000, 'a'))
    fail(isGet, { kind: 'cut' }, 2)
    expect((await content.get('a'))!.length).toBe(300_000)
    fail(isGet, { kind: 'cut' }, 2)
    expect((await content.get('a', { start: 1, end: 200_000 }))!.length).toBe(199_999)
    fail(isGet, { kind: 'cut' }, Infinity)
    const error = await refused(content.get('a'), 'ServiceUnavailable')
    expect(error.message).toMatch(/its answer was cut off or damaged in each of 5 attempts\. Try again\.$/)
  })

  test('a service that knows no ranges is understood', async () => {
    await beside.put('a', bytesOf('0123456789'))
    proxy.decide = (passing) => {
      delete passing.headers.range
      return undefined
    }
    expect(await text(content, 'a', { start: 3, end: 5 })).toBe('34')
  })

  test('a service that does not remove many objects at once is asked for one after the other', async () => {
    for (const name of ['t/1', 't/2', 'u/3']) await beside.put(name, bytesOf(name))
    fail(({ query }) => query.has('delete'), answerOf(501, 'NotImplemented'), Infinity)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual(['u/3'])
  })

  test('more objects than a page are listed and removed', async () => {
    await Promise.all(Array.from({ length: 25 }, (_, i) => beside.put(`t/${i}`, bytesOf('x'))))
    proxy.decide = (passing) => {
      if (passing.query.has('list-type')) passing.query.set('max-keys', '10')
      return undefined
    }
    expect(await paths(content, 't/')).toHaveLength(25)
    expect(proxy.seen.filter((seen) => seen.includes('continuation-token'))).toHaveLength(2)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual([])
  })

  test('uploads that were begun and left are listed as unfinished, and can be removed', async () => {
    if (typeof place === 'string') return
    const Key = `${prefix}/tables/x/data/1.arrow`
    await place.client.send(new CreateMultipartUploadCommand({ Bucket: place.bucket, Key }))
    const found = await paths(content, 'tables/')
    expect(found).toEqual([expect.stringMatching(/^tables\/x\/data\/\.[0-9a-f-]{36}\.partial$/)])
    expect(await uploads()).toBe(1)
    for await (const { becomes } of content.list('tables/')) expect(becomes).toBe('tables/x/data/1.arrow')
    await content.remove(found[0]!)
    expect(await uploads()).toBe(0)
    expect(await paths(content, 'tables/')).toEqual([])
  })

  test('folders that other programs make are no objects, and files of other programs are', async () => {
    if (typeof place === 'string') return
    const { client, bucket: Bucket } = place
    for (const Key of ['t/', 't/_versions/', 't/_versions/1.manifest', 't/x']) {
      const Body = Key.endsWith('/') ? '' : Key
      await client.send(new PutObjectCommand({ Bucket, Key: `${prefix}/${Key}`, Body }))
    }
    expect(await paths(content, '')).toEqual(['t/_versions/1.manifest', 't/x'])
    await refused(content.put('t/x', bytesOf('mine')), 'ConcurrentModification')
    const shared = content.shared!
    expect(await shared.names('t/')).toEqual(['x'])
    expect(await shared.names('t/_versions/')).toEqual(['1.manifest'])
    expect(await shared.names('none/')).toEqual([])
    expect(await shared.sync('t/x')).toBe(3)
    expect(await shared.sync('t/y')).toBeUndefined()
    expect(await shared.link('t/y', 't/z')).toBe('missing')
    expect(await shared.link('t/x', 't/_versions/1.manifest')).toBe('taken')
    fail(isPut, { kind: 'lose' })
    expect(await shared.link('t/x', 't/y')).toBe('linked')
    expect(await text(content, 't/y')).toBe('t/x')
    await shared.replace('t/y', bytesOf('new'))
    expect(await text(content, 't/y')).toBe('new')
  })

  test('each failure is a sentence that says what to do, and holds no credential', async () => {
    const cases: [Fault, string, RegExp][] = [
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
    ]
    for (const [fault, code, message] of cases) {
      fail(() => true, fault, Infinity)
      for (const call of [
        () => content.put('a', bytesOf('x')),
        () => content.get('a'),
        () => paths(content, ''),
      ]) {
        const error = await refused(call(), code as CatalogError['code'])
        expect(error.message).toMatch(message)
        expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/AKIAEXAMPLE|a-secret/)
      }
    }
  })

  test('a service that is not there is told by its reason', async () => {
    if (typeof place === 'string') return
    const nowhere = await openContent(place.freshUrl('http://127.0.0.1:1'))
    const error = await refused(nowhere.get('a'), 'ServiceUnavailable')
    expect(error.message).toMatch(/cannot be reached \(ECONNREFUSED\)\. Check the endpoint, and try again\.$/)
  })

  test('of two writers of a path exactly one succeeds, and its object is there, whatever happens', async () => {
    const faults = fc.constantFrom<Fault | undefined>(
      undefined,
      { kind: 'lose' },
      answerOf(409, 'ConditionalRequestConflict'),
      answerOf(503, 'SlowDown'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(faults, { maxLength: 5 }), fc.nat(3), async (list, run) => {
        const path = `run/${run}/${Math.random()}`
        const left = [...list]
        proxy.decide = (passing) => (isPut(passing) ? left.shift() : undefined)
        const writers = [content, content, beside]
        const outcomes = await Promise.allSettled(
          writers.map((own, i) => own.put(path, bytesOf(`writer ${i}`))),
        )
        const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
        const there = await text(beside, path)
        // A writer that could not learn its outcome says so, and may be the one.
        const unknown = outcomes.flatMap((outcome, i) =>
          outcome.status === 'rejected' && (outcome.reason as CatalogError).code === 'ServiceUnavailable'
            ? [i]
            : [],
        )
        if (won.length === 1) expect(there).toBe(`writer ${won[0]}`)
        else expect([won, unknown.map((i) => `writer ${i}`)]).toEqual([[], expect.arrayContaining([there])])
      }),
      { numRuns: 12 },
    )
  })
})
