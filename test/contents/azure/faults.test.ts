import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { type CatalogError, openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { declared } from '../../catalog/lance/support.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { type Fault, faultyProxy, type Passing } from '../faulty-proxy.ts'
import { azurePlace } from './server.ts'

const place = await azurePlace()
const proxy = typeof place === 'string' ? (undefined as never) : await faultyProxy(place.endpoint)
afterAll(() => proxy?.close())

describe.skipIf(typeof place === 'string')('content in Azure behind a bad network', () => {
  let url: string
  let content: Content
  /** The same blobs, past the proxy. */
  let beside: Content

  beforeEach(async () => {
    proxy.decide = () => undefined
    proxy.seen.length = 0
    if (typeof place === 'string') return
    url = place.freshUrl(proxy.url)
    content = await openContent(url)
    beside = await openContent(url.replace(encodeURIComponent(proxy.url), encodeURIComponent(place.endpoint)))
  })

  const isPut = ({ method }: Passing) => method === 'PUT'
  const isGet = ({ method, query }: Passing) => method === 'GET' && !query.has('comp')

  /** Lets a fault happen to the first requests of a kind. */
  function fail(kind: (passing: Passing) => boolean, fault: Fault, times = 1): void {
    let left = times
    proxy.decide = (passing) => (kind(passing) && left-- > 0 ? fault : undefined)
  }

  const answerOf = (status: number, code: string): Fault => ({
    kind: 'answer',
    status,
    headers: { 'x-ms-error-code': code },
    body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>see ?sv=1&amp;sig=c2VjcmV0</Message></Error>`,
  })

  test('a put whose answer was lost meets its own blob, and has succeeded', async () => {
    fail(isPut, { kind: 'lose' })
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    expect(proxy.seen.filter((seen) => seen.startsWith('PUT'))).toHaveLength(2)
    await beside.put('b', bytesOf('theirs'))
    fail(isPut, { kind: 'lose' })
    await refused(content.put('b', bytesOf('mine')), 'ConcurrentModification')
    expect(await text(beside, 'b')).toBe('theirs')
  })

  test('a service that is busy is asked again, and not for ever', async () => {
    fail(isPut, answerOf(503, 'ServerBusy'), 2)
    await content.put('a', bytesOf('mine'))
    fail(() => true, answerOf(503, 'ServerBusy'), Infinity)
    const error = await refused(content.get('a'), 'ServiceUnavailable')
    expect(error.message).toMatch(/cannot answer now \(ServerBusy, 503\)\. Try again later\.$/)
    expect(await text(beside, 'a')).toBe('mine')
  })

  test('an answer that ends too early is asked for again, and never taken for the blob', async () => {
    await beside.put('a', Buffer.alloc(300_000, 'a'))
    fail(isGet, { kind: 'cut' }, 2)
    expect(Buffer.compare((await content.get('a'))!, Buffer.alloc(300_000, 'a'))).toBe(0)
    fail(isGet, { kind: 'cut' }, Infinity)
    await refused(content.get('a', { start: 1, end: 200_000 }), 'ServiceUnavailable')
  })

  test('all blobs below a prefix are removed', async () => {
    await Promise.all(Array.from({ length: 25 }, (_, i) => beside.put(`t/${i}`, bytesOf('x'))))
    await beside.put('u', bytesOf('x'))
    expect(await paths(content, 't/')).toHaveLength(25)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual(['u'])
  })

  test('files of other programs are shared', async () => {
    const shared = content.shared!
    await shared.replace('t/_versions/1.manifest', bytesOf('one'))
    await shared.replace('t/x', bytesOf('theirs'))
    expect(await shared.names('t/')).toEqual(['x'])
    expect(await shared.names('none/')).toEqual([])
    expect(await shared.sync('t/x')).toBe(6)
    expect(await shared.sync('t/y')).toBeUndefined()
    expect(await shared.link('t/y', 't/z')).toBe('missing')
    expect(await shared.link('t/x', 't/_versions/1.manifest')).toBe('taken')
    fail(isPut, { kind: 'lose' })
    expect(await shared.link('t/x', 't/y')).toBe('linked')
    expect(await text(content, 't/y')).toBe('theirs')
  })

  test('each failure is a sentence that says what to do, and holds no credential', async () => {
    const cases: [Fault, string, RegExp][] = [
      [answerOf(404, 'ContainerNotFound'), 'InvalidInput', /there is no such container\. Create it/],
      [answerOf(403, 'AuthorizationPermissionMismatch'), 'PermissionDenied', /forbids it.*Storage Blob Data/],
      [answerOf(403, 'AuthenticationFailed'), 'PermissionDenied', /refuses the credentials.*set the clock/],
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
        expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/c2VjcmV0|Eby8vdM02|SharedKey /)
      }
    }
  })

  test('what is missing in the environment or wrong in the URL is said', async () => {
    const wrong = [
      ['az://rows/x', /No account of Azure Storage is given\. Set AZURE_STORAGE_ACCOUNT/],
      ['az://rows/x?region=y', /parameter "region", which nobody reads. It takes account, endpoint/],
      ['az://rows/x?account=a&endpoint=nowhere', /endpoint of the content is not the plain URL/],
    ] as const
    for (const [given, message] of wrong) {
      expect((await refused(openContent(given), 'InvalidInput')).message).toMatch(message)
    }
    process.env.AZURE_STORAGE_CONNECTION_STRING = 'AccountKey=secret'
    try {
      const error = await refused(openContent('az://rows/x'), 'InvalidInput')
      expect(inspect(error, { depth: 9 })).not.toMatch(/secret/)
    } finally {
      delete process.env.AZURE_STORAGE_CONNECTION_STRING
    }
  })

  test('a catalog keeps its rows there, owns its prefix, and publishes manifests', async () => {
    const folder = await freshFolder()
    {
      await using catalog = await openCatalog(folder, { content: url, managedVersioning: true })
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
      await catalog.createTable({ id: ['gone'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['gone'] })
      const dataset = await declared(catalog, content, 'd')
      await catalog.createTableVersion({ id: ['d'], ...(await dataset.stage(1, 'one')) })
      expect(await dataset.manifests()).toEqual([[1, 'one']])
    }
    await using again = await openCatalog(folder)
    expect(await again.countTableRows({ id: ['t'], predicate: 'x > 1' })).toEqual({ count: 1 })
    await again.vacuum({ graceMillis: 0 })
    expect(await again.verify()).toMatchObject({ ok: true, problems: 0 })
    await refused(openCatalog(await freshFolder(), { content: url }), 'InvalidInput')
    // A service that replaces what is there says that it created it.
    fail(isPut, { kind: 'answer', status: 201 }, Infinity)
    await refused(openCatalog(folder), 'Unsupported')
  })

  test('of two writers of a path exactly one succeeds, and its blob is there, whatever happens', async () => {
    const faults = fc.constantFrom<Fault | undefined>(
      undefined,
      { kind: 'lose' },
      answerOf(503, 'ServerBusy'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(faults, { maxLength: 4 }), async (list) => {
        const path = `run/${Math.random()}`
        const left = [...list]
        proxy.decide = (passing) => (isPut(passing) ? left.shift() : undefined)
        const writers = [content, content, beside]
        const outcomes = await Promise.allSettled(
          writers.map((own, i) => own.put(path, bytesOf(`writer ${i}`))),
        )
        const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [`writer ${i}`] : []))
        expect(won).toEqual([await text(beside, path)])
      }),
      { numRuns: 10 },
    )
  })
})
