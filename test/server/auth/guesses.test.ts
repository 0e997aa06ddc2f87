import { describe, expect, it } from 'vitest'
import { fetchHandler, type HttpOptions, type TokenVerifier } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { asking, expectProblem } from '../support/ask.ts'

const path = '/v1/namespace/$/describe'
const token = 'correct-horse-battery'

/** A server with a limit of three requests, asked from an address. */
async function limited(auth: HttpOptions['auth']) {
  const handler = await fetchHandler(closedAfterwards(await openCatalog('memory:')), {
    limits: { eventLoopDelay: 0 },
    auth,
    rateLimit: { requests: 3, perMillis: 600_000 },
  })
  return (given: string | undefined, remoteAddress = '192.0.2.1', at = path) =>
    asking((request) => handler(request, { remoteAddress }), 'http://localhost')(
      at === path ? 'POST' : 'GET',
      at,
      at === path ? {} : undefined,
      given === undefined ? {} : { 'x-api-key': given },
    )
}

/** Lets in `right` after a while, and counts how often it was asked. */
function judge() {
  const asked: unknown[] = []
  const verify: TokenVerifier = async (given) => {
    asked.push(given)
    await new Promise((resolve) => setImmediate(resolve))
    if (given === 'broken') throw new Error('the database is down')
    return given?.startsWith('right') ? { name: given } : undefined
  }
  return { asked, verify }
}

describe('wrong credentials', () => {
  it('are limited by the address they come from', async () => {
    const as = await limited({ tokens: [token] })
    const statuses = []
    for (let i = 0; i < 10; i++) statuses.push((await as(`wrong-${i}`)).status)
    expect(statuses).toStrictEqual([401, 401, 401, ...Array(7).fill(503)])
    const reply = await as('wrong')
    expectProblem(reply, 503, 21, path, /wrong credentials/)
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(500)
    expectProblem(await as('wrong', '192.0.2.2'), 401, 16, path)
    // Who shares the address keeps out nobody who has a token.
    expect((await as(token)).status).toBe(200)
  })

  it('are limited at the metrics too', async () => {
    const as = await limited({ tokens: [token] })
    for (let i = 0; i < 3; i++) expect((await as('wrong', undefined, '/metrics')).status).toBe(401)
    expect((await as('wrong', undefined, '/metrics')).status).toBe(503)
    expect((await as('wrong')).status).toBe(503)
  })

  it('count before they are checked, and many at once as well', async () => {
    const { asked, verify } = judge()
    const as = await limited({ verify })
    const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => as(`wrong-${i}`)))
    const statuses = replies.map(({ status }) => status)
    expect(statuses.filter((status) => status === 401).length).toBe(3)
    expect(statuses.filter((status) => status === 503).length).toBe(17)
    expect(asked.length).toBe(3)
    expect((await as(undefined)).status).toBe(503)
  })

  it('count no more when they were right, or could not be checked', async () => {
    const { asked, verify } = judge()
    const as = await limited({ verify })
    for (let i = 0; i < 5; i++) expect((await as(`right-${i}`)).status).toBe(200)
    for (let i = 0; i < 5; i++) expect((await as('broken')).status).toBe(500)
    expect((await as('wrong')).status).toBe(401)
    expect(asked.length).toBe(11)
  })

  it('are not credentials that are missing', async () => {
    const as = await limited({ tokens: [token] })
    for (let i = 0; i < 10; i++) expect((await as(undefined)).status).toBe(401)
  })
})

describe('without credentials', () => {
  async function open() {
    const handler = await fetchHandler(closedAfterwards(await openCatalog('memory:')), {
      limits: { eventLoopDelay: 0 },
      auth: false,
    })
    return async (headers: Record<string, string>, remoteAddress?: string) => {
      const request = new Request(`http://localhost${path}`, { method: 'POST', headers })
      return (await handler(request, { remoteAddress })).status
    }
  }

  it('a function answers its own process', async () => {
    expect(await (await open())({})).toBe(200)
  })

  it('a function does not believe a host', async () => {
    const ask = await open()
    expect(await ask({ host: 'localhost' })).toBe(401)
    expect(await ask({ host: '127.0.0.1:2333' })).toBe(401)
    expect(await ask({ host: 'localhost' }, '203.0.113.9')).toBe(401)
    expect(await ask({}, '203.0.113.9')).toBe(401)
    expect(await ask({ host: 'localhost' }, '127.0.0.1')).toBe(200)
    expect(await ask({ host: 'localhost' }, '::1')).toBe(200)
    expect(await ask({ host: 'evil.example' }, '127.0.0.1')).toBe(403)
  })

  it.each(['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-real-ip', 'via'])(
    'a request with %s is one that a proxy passes on',
    async (name) => {
      const ask = await open()
      expect(await ask({ [name]: '127.0.0.1' })).toBe(401)
      expect(await ask({ host: 'localhost', [name]: '127.0.0.1' }, '127.0.0.1')).toBe(401)
    },
  )
})
