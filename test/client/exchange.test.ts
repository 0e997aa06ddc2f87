import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { retryDelay } from '../../src/client/exchange.ts'
import { type ClientOptions, connect } from '../../src/client/index.ts'
import { errorBody } from '../../src/protocol/status.ts'
import { type ErrorCode, errorNumbers } from '../../src/tabularium/index.ts'
import { gate } from '../support/gate.ts'
import { fails } from '../support/refusals.ts'
import { turns } from '../support/turns.ts'

type Answer = Response | Error | (() => Promise<Response>)

const busy = (headers: Record<string, string> = { 'retry-after': '0' }) =>
  Response.json(errorBody('Throttling', 'Slow down.', '/'), { status: 503, headers })
const listing = () => Response.json({ tables: ['t'] })
const refused = () =>
  Object.assign(new TypeError('fetch failed'), {
    cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  })

/** A client whose server gives these answers, one after the other. */
function scripted(answers: Answer[], options: ClientOptions = {}) {
  const sent: Request[] = []
  const catalog = connect('http://host', {
    ...options,
    fetch: async (request) => {
      sent.push(request)
      const answer = answers.shift()
      if (answer === undefined) throw new Error('one request too many')
      if (answer instanceof Error) throw answer
      return typeof answer === 'function' ? answer() : answer
    },
  })
  return { catalog, sent }
}

/** Answers when the request is aborted, and not before. */
const never = (signal: AbortSignal) =>
  new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

describe('errors', () => {
  it.each(Object.keys(errorNumbers) as ErrorCode[])('%s comes as it was there', async (code) => {
    const body = errorBody(code, `It is about ${code}.`, '/v1/x')
    const { catalog } = scripted([Response.json(body, { status: body.status })], { retries: 0 })
    const error = await fails(catalog.describeTable({ id: ['t'] }), code, `It is about ${code}.`)
    expect(error.number).toBe(errorNumbers[code])
  })

  it.each([
    [404, 'Unsupported'],
    [500, 'Internal'],
    [502, 'ServiceUnavailable'],
    [504, 'ServiceUnavailable'],
    [413, 'InvalidInput'],
  ] as const)('a body that is not JSON, status %i, becomes %s', async (status, code) => {
    const { catalog } = scripted([new Response('<html>no</html>', { status })], { retries: 0 })
    await fails(catalog.describeTable({ id: ['t'] }), code, `status ${status}`)
  })

  it('an answer that is none is told', async () => {
    const { catalog } = scripted([
      new Response('<html>welcome</html>'),
      Response.json(['x']),
      Response.json('3'),
      new Response(null, { status: 302, headers: { location: 'https://elsewhere/' } }),
    ])
    await fails(catalog.describeTable({ id: ['t'] }), 'Internal', 'not JSON')
    await fails(catalog.describeTable({ id: ['t'] }), 'Internal', 'not a JSON object')
    await fails(catalog.countTableRows({ id: ['t'] }), 'Internal', 'not a row count')
    await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable', 'redirects to https://elsewhere/')
  })

  it('an answer that breaks off says what may be the reason', async () => {
    const lost = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })
    const half = () => {
      const source = new ReadableStream({
        start: (body) => body.enqueue(new Uint8Array(8)),
        pull: (body) => body.error(lost),
      })
      return new Response(source)
    }
    const { catalog } = scripted([half(), half()], { retries: 0 })
    await fails(
      catalog.queryTable({ id: ['t'] }),
      'ServiceUnavailable',
      'broke off its answer (UND_ERR_SOCKET)',
      'ask for fewer rows or columns',
    )
    const change = await fails(catalog.dropTable({ id: ['t'] }), 'ServiceUnavailable', 'broke off')
    expect(change.message).toContain('may have been made')
  })

  it('an empty body is an empty answer', async () => {
    const { catalog } = scripted([new Response(null, { status: 204 })])
    expect(await catalog.dropNamespace({ id: ['n'], mode: 'Skip' })).toEqual({})
  })
})

describe('sending again', () => {
  it('is done for reads, when the server is busy or cannot be reached', async () => {
    const { catalog, sent } = scripted([busy(), refused(), new Response('', { status: 429 }), listing()])
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
    expect(sent).toHaveLength(4)
  })

  it('is done where a proxy may pass the request on in a moment, and changes tell what is not known', async () => {
    const bodies = ['', '<html><title>no</title></html>', '{"message":"no"}', '{"error":{"code":14}}']
    for (let status = 400; status < 600; status++) {
      const foreign = () => new Response(bodies[status % bodies.length], { status })
      const isBusy = status === 429 || status === 502 || status === 503
      const read = scripted([foreign(), isBusy ? listing() : foreign()], { retries: 1 })
      const answer = await read.catalog.listTables({ id: [] }).catch((error: unknown) => error)
      expect(answer, String(status)).toMatchObject(
        isBusy ? { tables: ['t'] } : { message: expect.stringContaining(`status ${status}`) },
      )
      expect(read.sent.length, String(status)).toBe(isBusy ? 2 : 1)
      const change = scripted([foreign()], { retries: 1 })
      const error = await change.catalog.dropTable({ id: ['t'] }).catch((error: Error) => error.message)
      const isUnknown = status >= 500 && status !== 501 && status !== 505
      expect(/may have been made or not/.test(String(error)), String(status)).toBe(isUnknown)
      expect(change.sent.length).toBe(1)
    }
  })

  it('has an end', async () => {
    const { catalog, sent } = scripted([busy(), busy(), busy()], { retries: 2 })
    await fails(catalog.listTables({ id: [] }), 'Throttling', 'Slow down')
    expect(sent).toHaveLength(3)
  })

  it('is not done for changes, nor for errors that would come again', async () => {
    const { catalog, sent } = scripted([
      busy(),
      refused(),
      Response.json(errorBody('TableNotFound', 'Gone.', '/'), { status: 404 }),
      Response.json(errorBody('Internal', 'Broken.', '/'), { status: 500 }),
    ])
    await fails(catalog.dropTable({ id: ['t'] }), 'Throttling')
    await fails(catalog.dropTable({ id: ['t'] }), 'ServiceUnavailable', 'cannot be reached', 'ECONNREFUSED')
    await fails(catalog.describeTable({ id: ['t'] }), 'TableNotFound')
    await fails(catalog.describeTable({ id: ['t'] }), 'Internal')
    expect(sent).toHaveLength(4)
  })

  it('gives up when the server asks for a longer wait than allowed', async () => {
    const { catalog, sent } = scripted([busy({ 'retry-after': '3600' })])
    await fails(catalog.listTables({ id: [] }), 'Throttling')
    expect(sent).toHaveLength(1)
  })

  it('ends with the signal’s reason when aborted in between', async () => {
    const { catalog, sent } = scripted([busy({ 'retry-after': '20' })])
    const abort = new AbortController()
    const done = catalog.listTables({ id: [] }, { signal: abort.signal })
    done.catch(() => {})
    const reason = new Error('enough')
    await expect.poll(() => sent.length).toBe(1)
    // By then it has read the answer, and waits.
    await turns()
    abort.abort(reason)
    await expect(done).rejects.toBe(reason)
  })

  it('waits at least what Retry-After says, in seconds or as a date, and longer each time', () => {
    const wait = (attempt: number, retryAfter: string | null, random: number) =>
      retryDelay(attempt, retryAfter, { random: () => random, now: () => Date.UTC(2026, 0, 1) })
    expect(wait(0, null, 1)).toBe(100)
    expect(wait(3, null, 1)).toBe(800)
    expect(wait(30, null, 1)).toBe(5_000)
    expect(wait(3, null, 0)).toBe(0)
    expect(wait(0, '2', 0)).toBe(2_000)
    expect(wait(0, '2', 1)).toBe(2_100)
    expect(wait(0, 'Thu, 01 Jan 2026 00:00:07 GMT', 0)).toBe(7_000)
    expect(wait(0, 'Wed, 31 Dec 2025 00:00:00 GMT', 0)).toBe(0)
    expect(wait(0, 'soon', 0)).toBe(0)
  })
})

describe('a request whose answer is lost', () => {
  const reset = () =>
    Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
    })
  const unsent = (code: string) =>
    Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(`no ${code}`), { code }) })
  const lost: [what: string, answer: () => Answer][] = [
    ['a cut connection', reset],
    ['a proxy that lost the server', () => new Response('<html>', { status: 502 })],
    ['a proxy that waited too long', () => new Response('<html>', { status: 504 })],
    ['a server that says nothing', () => () => new Promise(() => {})],
  ]

  it.each(lost)('by %s, says that a change may have been made', async (_, answer) => {
    const given = answer()
    const catalog = connect('http://host', {
      timeout: 20,
      rowTimeout: 20,
      retries: 0,
      fetch: async ({ signal }) => {
        if (given instanceof Error) throw given
        return typeof given === 'function' ? never(signal) : given.clone()
      },
    })
    const change = catalog.dropTable({ id: ['t'] })
    await fails(change, 'ServiceUnavailable', 'may have been made or not. Look before you make it again')
    const inside = catalog.dropTable({ id: ['t'] }, { transaction: '01JDZ6Y4M8Q3V0S1T2R3N4P5K6' })
    await fails(inside, 'ServiceUnavailable', 'inside of its transaction. Give that up')
    await fails(catalog.beginTransaction({}), 'ServiceUnavailable', 'Begin another transaction')
    const end = catalog.commitTransaction({ id: ['01JDZ6Y4M8Q3V0S1T2R3N4P5K6'] })
    await fails(end, 'ServiceUnavailable', 'describe the transaction')
    const read = await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable')
    expect(read.message).not.toContain('may have been')
  })

  it.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])(
    'is none where nothing was sent: %s',
    async (code) => {
      const { catalog } = scripted([unsent(code)])
      await fails(catalog.dropTable({ id: ['t'] }), 'ServiceUnavailable', `cannot be reached (${code})`)
    },
  )

  it('is asked for again when it is the end of a transaction, until a server tells it', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    onTestFinished(() => void vi.restoreAllMocks())
    const transaction_id = '01JDZ6Y4M8Q3V0S1T2R3N4P5K6'
    const away = Array.from({ length: 20 }, (_, n) => (n % 2 ? reset() : unsent('ECONNREFUSED')))
    const begun = () => Response.json({ transaction_id, status: 'Running', properties: {} })
    const committed = () => Response.json({ transaction_id, status: 'Succeeded', properties: {} })
    const { catalog, sent } = scripted([begun(), ...away, committed()])
    let runs = 0
    expect(await catalog.transaction(() => ++runs)).toBe(1)
    expect(runs).toBe(1)
    expect(sent).toHaveLength(2 + away.length)
    // Those who want no retries get none.
    const once = scripted([begun(), reset(), Response.json({}, { status: 503 })], { retries: 0 })
    const error = await fails(
      once.catalog.transaction(() => 1),
      'ServiceUnavailable',
      'describe the transaction',
    )
    expect(error.transaction_id).toBe(transaction_id)
  })
})

describe('credentials', () => {
  const unauthorized = () =>
    Response.json(errorBody('Unauthenticated', 'Say who you are.', '/'), { status: 401 })
  const authorization = ({ headers }: Request) => headers.get('authorization')

  it('a token and a key are sent with every request', async () => {
    const { catalog, sent } = scripted([listing()], { token: 'abc', apiKey: 'key', headers: { 'x-a': 'b' } })
    await catalog.listTables({ id: [] })
    expect(authorization(sent[0]!)).toBe('Bearer abc')
    expect(sent[0]!.headers.get('x-api-key')).toBe('key')
    expect(sent[0]!.headers.get('x-a')).toBe('b')
  })

  it('headers that are always sent give way to those of the request', async () => {
    const headers = { 'Content-Type': 'text/plain', 'X-Team': 'red', Authorization: 'Basic x' }
    const { catalog, sent } = scripted([Response.json({}), listing()], { headers })
    await catalog.createNamespace({ id: ['n'], context: { 'header.x-team': 'blue' } })
    await catalog.listTables({ id: [] })
    expect(sent[0]!.headers.get('content-type')).toBe('application/json')
    expect(sent.map(({ headers }) => headers.get('x-team'))).toEqual(['blue', 'red'])
    expect(authorization(sent[1]!)).toBe('Basic x')
  })

  it('a fixed token that is refused is refused', async () => {
    const { catalog, sent } = scripted([unauthorized()], { token: 'abc' })
    await fails(catalog.listTables({ id: [] }), 'Unauthenticated', 'Say who you are.')
    expect(sent).toHaveLength(1)
  })

  it('a function is asked once, and once more after a 401, for changes too', async () => {
    let asked = 0
    const { catalog, sent } = scripted([listing(), unauthorized(), Response.json({}), listing()], {
      token: async () => `token-${++asked}`,
    })
    await catalog.listTables({ id: [] })
    await catalog.createNamespace({ id: ['n'] })
    await catalog.listTables({ id: [] })
    expect(sent.map(authorization)).toEqual([1, 1, 2, 2].map((n) => `Bearer token-${n}`))
    expect(asked).toBe(2)
    expect(await sent[2]!.json()).toEqual({ id: ['n'] })
  })

  it('a second 401 is the answer', async () => {
    let asked = 0
    const { catalog } = scripted([unauthorized(), unauthorized()], { token: () => `token-${++asked}` })
    await fails(catalog.listTables({ id: [] }), 'Unauthenticated')
    expect(asked).toBe(2)
  })

  it('requests at the same time share one new token', async () => {
    let asked = 0
    const catalog = connect('http://host', {
      token: async () => `token-${++asked}`,
      fetch: async (request) => (authorization(request) === 'Bearer token-1' ? unauthorized() : listing()),
    })
    await Promise.all(Array.from({ length: 20 }, () => catalog.listTables({ id: [] })))
    expect(asked).toBe(2)
  })

  it('a function that fails is asked again the next time; one that gives nothing is told', async () => {
    const tokens = [Promise.reject(new Error('no network')), Promise.resolve('abc')]
    const { catalog } = scripted([listing()], { token: () => tokens.shift()! })
    await expect(catalog.listTables({ id: [] })).rejects.toThrow('no network')
    await catalog.listTables({ id: [] })
    const nothing = scripted([], { token: () => undefined as never })
    await fails(nothing.catalog.listTables({ id: [] }), 'Unauthenticated', 'returned no valid token')
  })
})

describe('time', () => {
  it('is limited for what touches no rows, and told', async () => {
    const catalog = connect('http://host', { timeout: 20, retries: 0, fetch: ({ signal }) => never(signal) })
    await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable', 'within 20 ms')
  })

  it('is limited for work on rows when wanted', async () => {
    const catalog = connect('http://host', { rowTimeout: 20, fetch: ({ signal }) => never(signal) })
    await fails(catalog.deleteFromTable({ id: ['t'], predicate: 'a' }), 'ServiceUnavailable', 'within 20 ms')
  })

  it('includes the body', async () => {
    const catalog = connect('http://host', {
      timeout: 20,
      retries: 0,
      fetch: async ({ signal }) =>
        new Response(
          new ReadableStream({
            start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
          }),
        ),
    })
    await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable', 'within 20 ms')
  })

  it('that is up is not tried again', async () => {
    const slow = Object.assign(new TypeError('fetch failed'), {
      cause: Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' }),
    })
    const { catalog, sent } = scripted([slow, () => never(sent[1]!.signal)], { timeout: 20 })
    await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable', 'the time that fetch allows')
    await fails(catalog.describeTable({ id: ['t'] }), 'ServiceUnavailable', 'within 20 ms')
    expect(sent).toHaveLength(2)
  })

  it('an abort rejects with its reason, also before anything was sent', async () => {
    const { open: send, opened: isSent } = gate()
    const fetch = ({ signal }: Request) => {
      send()
      return never(signal)
    }
    const catalog = connect('http://host', { fetch })
    const abort = new AbortController()
    const reason = new Error('enough')
    const done = catalog.listTables({ id: [] }, { signal: abort.signal })
    done.catch(() => {})
    await isSent
    abort.abort(reason)
    await expect(done).rejects.toBe(reason)
    const { catalog: unused, sent } = scripted([])
    await expect(unused.listTables({ id: [] }, { signal: abort.signal })).rejects.toBe(reason)
    expect(sent).toEqual([])
  })
})
