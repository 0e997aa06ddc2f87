import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/index.ts'
import { memoryContent } from '../../src/contents/memory/index.ts'
import { Readiness } from '../../src/server/core/readiness.ts'
import { fetchHandler, serve } from '../../src/server/index.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { limitEach } from '../support/time-limit.ts'
import { asking, expectProblem, type Reply } from './support/ask.ts'

// Servers of PostgreSQL start, stop and come back.
limitEach(60)

type Catalog = Awaited<ReturnType<typeof openCatalog>>

/** Serves a catalog until the test ends, and answers with how to ask about it. */
async function served(catalog: Catalog): Promise<(path: string) => Promise<Reply>> {
  const server = await serve(catalog, { auth: false, port: 0, log: false, limits: { eventLoopDelay: 0 } })
  onTestFinished(async () => {
    await server.close()
    await catalog.close()
  })
  const ask = asking(fetch, server.url)
  return (path) => ask('GET', path)
}

/** A catalog over a store whose reads can be counted, held back, and made to fail. */
async function watched() {
  const store = memoryStore()
  const reads = { count: 0, before: (): Promise<void> | undefined => undefined }
  const read = store.read.bind(store)
  store.read = async (body) => {
    reads.count++
    await reads.before()
    return read(body)
  }
  const catalog = await openCatalog({ store, content: memoryContent() })
  onTestFinished(() => catalog.close())
  reads.count = 0
  return { catalog, reads }
}

const silent = { error: () => {} }

function expectUnready(reply: Reply, why: string): void {
  expectProblem(reply, 503, 17, '/readyz')
  expect(reply.json).toMatchObject({ detail: expect.stringContaining(why) })
  expect(reply.headers.get('retry-after')).toBe('1')
}

describe('who asks whether the store answers', () => {
  it('shares one read with those who ask at once', async () => {
    const { catalog, reads } = await watched()
    let answer = () => {}
    reads.before = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    const readiness = new Readiness(catalog, silent, { answer: 3_600_000, cached: 0 })
    const asked = Array.from({ length: 1_000 }, () => readiness.check())
    answer()
    await Promise.all(asked)
    expect(reads.count).toBe(1)
  })

  it.each(['answered', 'failed'])('is told what was found a moment ago: %s', async (what) => {
    const { catalog, reads } = await watched()
    if (what === 'failed') reads.before = () => Promise.reject(new Error('no'))
    const kept = new Readiness(catalog, silent, { answer: 3_600_000, cached: 3_600_000 })
    const found = () =>
      kept.check().then(
        () => 'answered',
        () => 'failed',
      )
    for (let n = 0; n < 100; n++) expect(await found()).toBe(what)
    expect(reads.count).toBe(1)
    const fresh = new Readiness(catalog, silent, { answer: 3_600_000, cached: 0 })
    for (let n = 0; n < 3; n++) await fresh.check().catch(() => {})
    expect(reads.count).toBe(4)
  })

  it('asks a store that never answers a few times only, and again once it has answered', async () => {
    const { catalog, reads } = await watched()
    const held: (() => void)[] = []
    reads.before = () => new Promise<void>((resolve) => held.push(resolve))
    const readiness = new Readiness(catalog, silent, { answer: 1, cached: 0 })
    for (let n = 0; n < 20; n++) {
      await expect(readiness.check()).rejects.toMatchObject({
        code: 'ServiceUnavailable',
        message: expect.stringContaining('no answer within 0.001 s'),
      })
    }
    expect(reads.count).toBe(4)
    reads.before = () => undefined
    for (const letGo of held) letGo()
    await expect.poll(() => readiness.check().then(() => 'ready', String)).toBe('ready')
  })

  it('leaves one line in the log each time that the store goes away', async () => {
    const { catalog, reads } = await watched()
    const logged: unknown[] = []
    const log = { error: (fields: object) => void logged.push(fields) }
    const readiness = new Readiness(catalog, log, { answer: 3_600_000, cached: 0 })
    const gone = new Error('host db.example is out of reach')
    for (const isAway of [true, true, false, true, true]) {
      reads.before = () => (isAway ? Promise.reject(gone) : undefined)
      const refusal = await readiness.check().catch((error) => error)
      if (isAway) expect(refusal.message).not.toContain('db.example')
      else expect(refusal).toBeUndefined()
    }
    expect(logged).toEqual([{ err: gone }, { err: gone }])
  })
})

describe('/readyz', () => {
  it.each(['memory:', 'a directory'])('answers for a catalog in %s', async (where) => {
    const ask = await served(await openCatalog(where === 'memory:' ? where : await freshFolder()))
    const { status, json } = await ask('/readyz')
    expect([status, json]).toEqual([200, { status: 'ready' }])
  })

  it('needs no permission of the hook that decides about operations', async () => {
    const ask = await served(await openCatalog('memory:', { authorize: () => false }))
    expect((await ask('/readyz')).status).toBe(200)
  })

  it('says that the store fails, and nothing of how', async () => {
    const { catalog, reads } = await watched()
    reads.before = () => Promise.reject(new Error('secret'))
    const ask = await served(catalog)
    const reply = await ask('/readyz')
    expectUnready(reply, 'cannot be read')
    expect(reply.text).not.toContain('secret')
    expect((await ask('/healthz')).status).toBe(200)
  })

  it('asks the server behind which the catalog lies', async () => {
    const { catalog, reads } = await watched()
    const behind = await fetchHandler(catalog, { auth: false })
    let isAway = false
    const remote = connect('http://localhost', {
      retries: 0,
      fetch: (request) =>
        isAway ? Promise.reject(new TypeError('refused')) : behind(request, { remoteAddress: '127.0.0.1' }),
    })
    const ask = await served(remote as Catalog)
    expect((await ask('/readyz')).status).toBe(200)
    expect(reads.count).toBe(1)
    isAway = true
    await expect.poll(async () => (await ask('/readyz')).status).toBe(503)
  })

  describe.skipIf(missingPostgres)('over a database', () => {
    async function overDatabase() {
      const database = await sharedServer()
      const proxy = await TcpProxy.start(database.port)
      onTestFinished(() => proxy.close())
      const content = `file://${await freshFolder()}`
      const ask = await served(
        await openCatalog((await database.freshUrl(proxy.port)) as `postgres://${string}`, { content }),
      )
      const status = async () => (await ask('/readyz')).status
      expect(await status()).toBe(200)
      return { proxy, ask, status }
    }

    it('says that it is away, and that it is back', async () => {
      const { proxy, ask, status } = await overDatabase()
      proxy.onSent = () => 0
      proxy.cut()
      await expect.poll(status).toBe(503)
      expectUnready(await ask('/readyz'), 'no answer within 2 s')
      expect((await ask('/healthz')).status).toBe(200)
      proxy.onSent = undefined
      await expect.poll(status).toBe(200)
    })

    it('says that it never answers, also when some connections stay dead', async () => {
      const { proxy, ask, status } = await overDatabase()
      proxy.beforeSent = () => new Promise(() => {})
      await expect.poll(status).toBe(503)
      expectUnready(await ask('/readyz'), 'no answer within 2 s')
      expect((await ask('/healthz')).status).toBe(200)
      proxy.beforeSent = undefined
      await expect.poll(status).toBe(200)
      // What was sent meanwhile is held back for ever: without an end, the catalog would wait for its answers.
      proxy.cut()
    })
  })
})
