import { inspect } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { type CatalogError, openCatalog, openContent } from '../../../src/tabularium/index.ts'
import { refused } from '../../../src/testing/suites/checks.ts'
import { bytesOf, paths, text } from '../../../src/testing/suites/content/trial.ts'
import { contentSuite } from '../../../src/testing/suites/content-suite.ts'
import { declared } from '../../catalog/lance/support.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { type Fault, type FaultyProxy, faultyProxy, type Passing } from '../faulty-proxy.ts'

/** A service of object storage: where it is, and what its requests and refusals look like. */
export interface Service {
  readonly name: string
  readonly endpoint: string
  /** The URL of a content of its own, which nobody has used yet. Another endpoint may stand before the service. */
  freshUrl(endpoint?: string): string
  /** Stores an object as another program does, by its whole key. */
  plant(key: string, body: string): Promise<unknown>
  isPut(passing: Passing): boolean
  isGet(passing: Passing): boolean
  /** Takes the condition out of a put, so that the service replaces what is there. */
  dropCondition(passing: Passing): void
  /** Asks for ten objects a page, where the request is a listing. */
  shortenPage(passing: Passing): void
  readonly busy: Fault
  /** The refusal of a put while the service cannot decide between two writers, if it has one. */
  readonly undecided?: Fault
  /** Refusals with a secret in their texts, and the errors that callers get. */
  readonly refusals: readonly (readonly [Fault, CatalogError['code'], RegExp])[]
  /** What no error may contain. */
  readonly secrets: RegExp
  /** The ends of messages about a service that is busy, and about one that is not there. */
  readonly sayings: { readonly busy: RegExp; readonly unreachable: RegExp }
  /** How many races are run. The client of a service may wait seconds before it asks again. */
  readonly races: number
}

/** A fresh content behind a proxy. */
export interface Trial {
  readonly url: string
  readonly content: Content
  /** The same objects, past the proxy. */
  readonly beside: Content
  /** The begin of all keys, which ends in a slash. */
  readonly prefix: string
  readonly proxy: FaultyProxy
  /** Lets a fault happen to the first requests of a kind. */
  fail(kind: (passing: Passing) => boolean, fault: Fault, times?: number): void
}

/**
 * Judges the content of a service, also behind a bad network. `more` adds tests of what only this service does. A text
 * says why the service is not there.
 */
export function bucketSuite(service: Service | string, more: (trial: () => Trial) => void = () => {}): void {
  if (typeof service === 'string') {
    test.skip(`a service of object storage is not tried: ${service}`)
    return
  }
  // The driver of one service waits 1, 2, 4 and 8 seconds before it asks again.
  limitEach(180)
  contentSuite(
    { describe, test },
    () => {
      const url = service.freshUrl()
      return { open: () => openContent(url) }
    },
    { name: `the content in ${service.name}`, durable: true },
  )
  describe(`content in ${service.name} behind a bad network`, () => {
    const trial = trialsOf(service)
    writes(service, trial)
    answers(service, trial)
    others(service, trial)
    more(trial)
  })
}

function trialsOf(service: Service): () => Trial {
  let proxy: FaultyProxy
  let trial: Trial
  beforeAll(async () => {
    proxy = await faultyProxy(service.endpoint)
  })
  afterAll(() => proxy.close())
  beforeEach(async () => {
    proxy.decide = () => undefined
    proxy.seen.length = 0
    const url = service.freshUrl(proxy.url)
    const direct = url.replace(encodeURIComponent(proxy.url), encodeURIComponent(service.endpoint))
    trial = {
      url,
      content: await openContent(url),
      beside: await openContent(direct),
      prefix: `${/^\w+:\/\/[^/]+\/([^?]+)/.exec(url)![1]!}/`,
      proxy,
      fail(kind, fault, times = 1) {
        let left = times
        proxy.decide = (passing) => (kind(passing) && left-- > 0 ? fault : undefined)
      },
    }
  })
  return () => trial
}

const isFor = ({ path, query }: Passing, name: string) => `${path}?${query}`.includes(name)

function writes({ isPut, undecided, busy, races }: Service, trial: () => Trial): void {
  test('a put whose answer was lost meets its own object, and has succeeded', async () => {
    const { content, beside, proxy, fail } = trial()
    fail(isPut, { kind: 'lose' })
    await content.put('a', bytesOf('mine'))
    expect(await text(beside, 'a')).toBe('mine')
    // Two puts, and a look at the object that is there.
    expect(proxy.seen).toHaveLength(3)
  })

  test('a put whose answer was lost has failed where the object is that of another writer', async () => {
    const { content, beside, fail } = trial()
    await beside.put('a', bytesOf('theirs'))
    fail(isPut, { kind: 'lose' })
    await refused(content.put('a', bytesOf('mine')), 'ConcurrentModification')
    expect(await text(beside, 'a')).toBe('theirs')
  })

  test('a put all of whose answers were lost is told by the object that is there', async () => {
    const { content, beside, proxy } = trial()
    await beside.put('a', bytesOf('theirs'))
    proxy.decide = (passing) =>
      isPut(passing) ? { kind: isFor(passing, 'dropped') ? 'drop' : 'lose' } : undefined
    await Promise.all([
      content.put('mine', bytesOf('mine')),
      // Some services end the connection when they refuse a large object, before they have read it.
      refused(content.put('a', Buffer.alloc(4 << 20)), 'ConcurrentModification'),
      refused(content.put('dropped', bytesOf('mine')), 'ServiceUnavailable'),
    ])
    expect(await text(beside, 'mine')).toBe('mine')
    expect(await text(beside, 'a')).toBe('theirs')
    expect(await paths(beside, '')).toEqual(['a', 'mine'])
  })

  if (undecided) {
    test('a conflict that the service could not decide is tried again, and not for ever', async () => {
      const { content, beside, fail } = trial()
      fail(isPut, undecided, 3)
      await content.put('a', bytesOf('mine'))
      expect(await text(beside, 'a')).toBe('mine')
      fail(isPut, undecided, Infinity)
      const error = await refused(content.put('b', bytesOf('mine')), 'ServiceUnavailable')
      expect(error.message).toMatch(/could not be decided in 5 attempts\. Try again\.$/)
      expect(await paths(beside, '')).toEqual(['a'])
    })
  }

  test('of two writers of a path exactly one succeeds, and its object is there, whatever happens', async () => {
    const { content, beside, proxy } = trial()
    const faults = fc.constantFrom<Fault | undefined>(undefined, { kind: 'lose' }, busy, undecided)
    await fc.assert(
      fc.asyncProperty(fc.array(faults, { maxLength: 5 }), async (list) => {
        const path = `run/${Math.random()}`
        const left = [...list]
        proxy.decide = (passing) => (isPut(passing) ? left.shift() : undefined)
        const writers = [content, content, beside]
        const outcomes = await Promise.allSettled(
          writers.map((own, i) => own.put(path, bytesOf(`writer ${i}`))),
        )
        const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [`writer ${i}`] : []))
        // A writer that could not learn its outcome says so, and may be the one.
        const unknown = outcomes.flatMap((outcome, i) =>
          outcome.status === 'rejected' && (outcome.reason as CatalogError).code === 'ServiceUnavailable'
            ? [`writer ${i}`]
            : [],
        )
        const there = await text(beside, path)
        if (won.length > 0) expect(won).toEqual([there])
        else expect(unknown).toContain(there)
      }),
      { numRuns: races },
    )
  })
}

function answers(
  { isPut, isGet, busy, refusals, secrets, sayings, ...service }: Service,
  trial: () => Trial,
): void {
  test('a service that is busy is asked again, and not for ever', async () => {
    const { content, beside, fail } = trial()
    fail(isPut, busy, 2)
    await content.put('a', bytesOf('mine'))
    fail(isGet, busy, 2)
    expect(await text(content, 'a')).toBe('mine')
    // Only the look at the object that was not put is answered: a client may take half a minute to give it up.
    fail((passing) => isPut(passing) || !isFor(passing, 'not-put'), busy, Infinity)
    const calls = [content.put('not-put', bytesOf('x')), content.get('a'), paths(content, '')]
    const errors = await Promise.all(calls.map((call) => refused(call, 'ServiceUnavailable')))
    for (const error of errors) {
      expect(error.message).toMatch(sayings.busy)
    }
    expect(await text(beside, 'a')).toBe('mine')
    expect(await paths(beside, '')).toEqual(['a'])
  })

  test('an answer that ends too early is asked for again, and never taken for the object', async () => {
    const { content, beside, fail } = trial()
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251))
    await beside.put('a', bytes)
    for (const range of [undefined, { start: 1, end: 200_000 }]) {
      fail(isGet, { kind: 'cut' }, 2)
      expect(bytes.subarray(range?.start, range?.end).equals((await content.get('a', range))!)).toBe(true)
      fail(isGet, { kind: 'cut' }, Infinity)
      const error = await refused(content.get('a', range), 'ServiceUnavailable')
      expect(error.message).toMatch(/its answer was cut off or damaged in each of 5 attempts\. Try again\.$/)
    }
  })

  test('a service that knows no ranges is understood', async () => {
    const { content, beside, proxy } = trial()
    await beside.put('a', bytesOf('0123456789'))
    proxy.decide = ({ headers }) => {
      for (const name of ['range', 'x-ms-range']) delete headers[name]
      return undefined
    }
    expect(await text(content, 'a', { start: 3, end: 5 })).toBe('34')
    expect(await text(content, 'a', { start: 8, end: 20 })).toBe('89')
    expect(await text(content, 'a', { start: 12, end: 20 })).toBe('')
  })

  test('each failure is a sentence that says what to do, and holds no credential', async () => {
    const { content, fail } = trial()
    for (const [fault, code, message] of refusals) {
      fail(() => true, fault, Infinity)
      const calls = [() => content.put('a', bytesOf('x')), () => content.get('a'), () => paths(content, '')]
      for (const call of calls) {
        const error = await refused(call(), code)
        expect(error.message).toMatch(message)
        expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(secrets)
      }
    }
  })

  test('a service that is not there is told by its reason', async () => {
    const gone = await faultyProxy(service.endpoint)
    await gone.close()
    const nowhere = await openContent(service.freshUrl(gone.url))
    expect((await refused(nowhere.get('a'), 'ServiceUnavailable')).message).toMatch(sayings.unreachable)
  })
}

function others({ isPut, plant, dropCondition, shortenPage }: Service, trial: () => Trial): void {
  test('more objects than a page are listed and removed', async () => {
    const { content, beside, proxy } = trial()
    await Promise.all(Array.from({ length: 25 }, (_, i) => beside.put(`t/${i}`, bytesOf('x'))))
    await beside.put('u', bytesOf('x'))
    let pages = 0
    proxy.decide = (passing) => {
      const before = `${passing.query}`
      shortenPage(passing)
      if (`${passing.query}` !== before) pages++
      return undefined
    }
    expect(await paths(content, 't/')).toHaveLength(25)
    expect(pages).toBe(3)
    expect(await content.shared!.names('t/')).toHaveLength(25)
    await content.remove('t/')
    expect(await paths(beside, '')).toEqual(['u'])
  })

  test('a removal whose answer was lost has happened', async () => {
    const { content, beside, fail } = trial()
    await beside.put('a', bytesOf('x'))
    fail(({ method }) => method === 'DELETE', { kind: 'lose' })
    await content.remove('a')
    expect(await paths(beside, '')).toEqual([])
  })

  test('folders that other programs make are no objects, and files of other programs are', async () => {
    const { content, prefix, fail } = trial()
    for (const key of ['t/', 't/_versions/', 't/_versions/1.manifest', 't/x']) {
      await plant(prefix + key, key.endsWith('/') ? '' : key)
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

  test('a catalog keeps its rows there, owns its prefix, and publishes manifests', async () => {
    const { url, content, proxy } = trial()
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
    proxy.decide = (passing) => {
      dropCondition(passing)
      return undefined
    }
    await refused(openCatalog(folder), 'Unsupported')
  })
}
