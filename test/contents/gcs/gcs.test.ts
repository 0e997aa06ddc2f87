import { randomUUID } from 'node:crypto'
import { inspect } from 'node:util'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { type CatalogError, openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { contentSuite } from '../../../src/testing/suites/content-suite.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { type Fault, faultyProxy, type Passing } from '../faulty-proxy.ts'
import { gcsStandIn } from './stand-in.ts'

const standIn = await gcsStandIn('rows', 10)
const proxy = await faultyProxy(standIn.url)
afterAll(async () => {
  await proxy.close()
  standIn.close()
})
const freshUrl = (server = standIn.url) => `gs://rows/${randomUUID()}?endpoint=${encodeURIComponent(server)}`

contentSuite(
  { describe, test },
  () => {
    const url = freshUrl()
    return { open: () => openContent(url) }
  },
  { name: 'the content in Google Cloud Storage', durable: true },
)

describe('content in Google Cloud Storage behind a bad network', () => {
  let url: string
  let content: Content
  let beside: Content

  beforeEach(async () => {
    proxy.decide = () => undefined
    proxy.seen.length = 0
    url = freshUrl(proxy.url)
    content = await openContent(url)
    beside = await openContent(url.replace(encodeURIComponent(proxy.url), encodeURIComponent(standIn.url)))
  })

  const isPut = ({ method }: Passing) => method === 'POST'
  const isGet = ({ query }: Passing) => query.get('alt') === 'media'

  /** Lets a fault happen to the first requests of a kind. */
  function fail(kind: (passing: Passing) => boolean, fault: Fault, times = 1): void {
    let left = times
    proxy.decide = (passing) => (kind(passing) && left-- > 0 ? fault : undefined)
  }

  const answerOf = (status: number, message: string): Fault => ({
    kind: 'answer',
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: { code: status, message, errors: [{ message }] } }),
  })

  test('a put whose answer was lost meets its own object, and has succeeded', async () => {
    fail(isPut, { kind: 'lose' })
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    expect(proxy.seen.filter((seen) => seen.startsWith('POST'))).toHaveLength(2)
    await beside.put('b', bytesOf('theirs'))
    fail(isPut, { kind: 'lose' })
    await refused(content.put('b', bytesOf('mine')), 'ConcurrentModification')
    expect(await text(beside, 'b')).toBe('theirs')
  })

  test('a service that is busy is asked again', async () => {
    fail(isPut, answerOf(503, 'busy'))
    await content.put('a', bytesOf('mine'))
    fail(isGet, answerOf(503, 'busy'), 2)
    expect(await text(content, 'a')).toBe('mine')
  })

  test('an answer that ends too early is asked for again, and never taken for the object', async () => {
    await beside.put('a', Buffer.alloc(300_000, 'a'))
    fail(isGet, { kind: 'cut' }, 2)
    expect(Buffer.compare((await content.get('a'))!, Buffer.alloc(300_000, 'a'))).toBe(0)
    fail(isGet, { kind: 'cut' }, 2)
    expect((await content.get('a', { start: 1, end: 200_000 }))!.length).toBe(199_999)
    fail(isGet, { kind: 'cut' }, Infinity)
    await refused(content.get('a', { start: 1, end: 200_000 }), 'ServiceUnavailable')
  })

  test('more objects than a page are listed and removed', async () => {
    await Promise.all(Array.from({ length: 25 }, (_, i) => beside.put(`t/${i}`, bytesOf('x'))))
    expect(await paths(content, 't/')).toHaveLength(25)
    expect(proxy.seen.filter((seen) => seen.startsWith('GET'))).toHaveLength(3)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual([])
  })

  test('files of other programs are shared', async () => {
    const shared = content.shared!
    await shared.replace('t/_versions/1.manifest', bytesOf('one'))
    await shared.replace('t/x', bytesOf('theirs'))
    expect(await shared.names('t/')).toEqual(['x'])
    expect(await shared.sync('t/x')).toBe(6)
    expect(await shared.sync('t/y')).toBeUndefined()
    expect(await shared.link('t/y', 't/z')).toBe('missing')
    expect(await shared.link('t/x', 't/_versions/1.manifest')).toBe('taken')
    fail(isPut, { kind: 'lose' })
    expect(await shared.link('t/x', 't/y')).toBe('linked')
  })

  test('each failure is a sentence that says what to do, and holds no credential', async () => {
    const cases: [Fault, string, RegExp][] = [
      [
        answerOf(404, 'The specified bucket does not exist.'),
        'InvalidInput',
        /there is no bucket rows\. Create it/,
      ],
      [answerOf(403, 'Bearer ya29.secret may not'), 'PermissionDenied', /forbids it \(403\)\. Give the role/],
      [answerOf(418, 'teapot'), 'Internal', /answered 418\. See the cause/],
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
        expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/secret/)
      }
    }
  })

  test('a service that is not there is told by its reason', async () => {
    const gone = await gcsStandIn('rows')
    gone.close()
    const nowhere = await openContent(freshUrl(gone.url))
    const error = await refused(nowhere.get('a'), 'ServiceUnavailable')
    expect(error.message).toMatch(/cannot be reached \(ECONNREFUSED\)\. Check the network, and try again\.$/)
  })

  test('a catalog keeps its rows there, and owns its prefix', async () => {
    const folder = await freshFolder()
    {
      await using catalog = await openCatalog(folder, { content: url })
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
      await catalog.createTable({ id: ['gone'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['gone'] })
    }
    await using again = await openCatalog(folder)
    expect(await again.countTableRows({ id: ['t'], predicate: 'x > 1' })).toEqual({ count: 1 })
    await again.vacuum({ graceMillis: 0 })
    expect(await again.verify()).toMatchObject({ ok: true, problems: 0 })
    await refused(openCatalog(await freshFolder(), { content: url }), 'InvalidInput')
    proxy.decide = ({ query }) => {
      query.delete('ifGenerationMatch')
      return undefined
    }
    await refused(openCatalog(folder), 'Unsupported')
  })
})
