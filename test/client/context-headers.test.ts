import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  array,
  constantFrom,
  assert as holds,
  oneof,
  asyncProperty as property,
  record,
  string,
} from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../src/client/index.ts'
import type { CatalogError } from '../../src/tabularium/index.ts'
import { fails } from '../support/refusals.ts'

const requests: IncomingMessage[] = []
let answering: [name: string, value: string][] = []
let server: Server
let url: string

beforeAll(async () => {
  server = createServer((request, response) => {
    requests.push(request)
    for (const [name, value] of answering) response.appendHeader(name, value)
    response.setHeader('content-type', 'application/json').end('{"tables":[]}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

/** All headers that come to a server, in small letters, with all their values. */
async function sent(context: object, token?: string): Promise<Map<string, string[]>> {
  requests.length = 0
  await using client = connect(url, { token, retries: 0 })
  await client.listTables({ id: [], context: context as Record<string, string> })
  const [{ rawHeaders }, ...others] = requests as [IncomingMessage]
  expect(others).toEqual([])
  const all = new Map<string, string[]>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    all.set(name, [...(all.get(name) ?? []), rawHeaders[i + 1]!])
  }
  return all
}

describe.each([undefined, '0123456789abcdef'])('credentials of a context, with the token %s', (token) => {
  it('are sent, and go before the token', async () => {
    const one = await sent({ 'header.Authorization': 'Bearer mine' }, token)
    expect(one.get('authorization')).toEqual(['Bearer mine'])
    const other = await sent({ 'header.X-Api-Key': 'mine' }, token)
    expect([other.get('x-api-key'), other.get('authorization')]).toEqual([['mine'], undefined])
    const both = await sent({ 'header.x-api-key': 'mine', 'header.authorization': 'Basic bWluZQ==' }, token)
    expect([both.get('x-api-key'), both.get('authorization')]).toEqual([['mine'], ['Basic bWluZQ==']])
    const none = await sent({ 'header.x-trace': '1' }, token)
    expect(none.get('authorization')).toEqual(token && [`Bearer ${token}`])
  })
})

it('cookies go both ways', async () => {
  const cookies = await sent({ 'header.Cookie': 'a=1; b=2', 'header.Set-Cookie': 'c=3; Path=/' })
  expect([cookies.get('cookie'), cookies.get('set-cookie')]).toEqual([['a=1; b=2'], ['c=3; Path=/']])
  answering = [
    ['set-cookie', 'a=1; Path=/'],
    ['set-cookie', 'b=2; HttpOnly'],
    ['x-many', '1'],
    ['x-many', '2'],
    ['www-authenticate', 'Bearer'],
  ]
  try {
    await using client = connect(url)
    const { context } = await client.listTables({ id: [] })
    expect(context).toMatchObject({
      'header.set-cookie': 'a=1; Path=/, b=2; HttpOnly',
      'header.x-many': '1, 2',
      'header.www-authenticate': 'Bearer',
    })
  } finally {
    answering = []
  }
})

/**
 * What the client sets by itself, or what cannot be sent at all. It is said here again: a name that the source forgets would
 * be missing in a list of the source, too.
 */
const own = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'x-tabularium-passed-on',
  'x-tabularium-server',
  'sec-fetch-mode',
  '__proto__',
]

const refused: readonly (readonly [context: object, name: string])[] = [
  ...own.map((name) => [{ [`header.${name}`]: 'x' }, `header.${name}`] as const),
  [{ 'header.Host': 'other' }, 'header.Host'],
  [{ 'header.a b': 'v' }, 'header.a b'],
  [{ 'header.': 'v' }, 'header.'],
  [{ 'header.é': 'v' }, 'header.é'],
  [{ 'header.x': 'a\r\nb' }, 'header.x'],
  [{ 'header.x': 'a\0b' }, 'header.x'],
  [{ 'header.x': 'é€' }, 'header.x'],
  [{ 'header.x': ' a' }, 'header.x'],
  [{ 'header.x': 'a\t' }, 'header.x'],
  [{ 'header.x': 5 }, 'header.x'],
  [{ 'header.x': ['a'] }, 'header.x'],
  [{ 'header.x': '1', 'header.X': '2' }, 'header.X'],
]

it.each(refused)('an entry that cannot be sent is refused: %j', async (context, name) => {
  requests.length = 0
  const error = await fails(sent(context), 'InvalidInput', 'context')
  expect(error.message).toContain(name)
  expect(requests).toEqual([])
})

const known = [
  'Authorization',
  'X-Api-Key',
  'Cookie',
  'Set-Cookie',
  'Accept',
  'Date',
  'Origin',
  'Referer',
  'Range',
]
const browsers = [
  'Sec-Fetch-Mode',
  'Accept-Language',
  'User-Agent',
  'If-None-Match',
  'Cache-Control',
  'Pragma',
  'Priority',
]
const others = [
  '__proto__',
  'constructor',
  'Proxy-Authorization',
  'Idempotency-Key',
  'X-Request-Id',
  'Via',
  'DNT',
]
const charactersOf = (text: string) => ({ unit: constantFrom(...text), minLength: 1, maxLength: 12 })
const latin = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code))

const names = oneof(
  constantFrom(...known, ...browsers, ...others, ...own),
  string(charactersOf("abcXYZ019!#$%&'*+-.^_`|~")),
  string({ maxLength: 6 }),
)
const values = oneof(
  string(charactersOf('abc XYZ;=,"%')),
  string(charactersOf(latin)),
  string({ unit: 'binary', maxLength: 8 }),
  constantFrom<unknown>('', 0, true, {}),
)

it('each entry is sent exactly as it is given, or refused by its name', async () => {
  await holds(
    property(array(record({ name: names, value: values }), { minLength: 1, maxLength: 4 }), async (drawn) => {
      const context = Object.fromEntries(drawn.map(({ name, value }) => [`header.${name}`, value]))
      const entries = Object.entries(context)
      const small = entries.map(([key]) => key.slice('header.'.length).toLowerCase())
      const canBeSent = (value: unknown, i: number) =>
        /^[\w!#$%&'*+.^`|~-]+$/.test(small[i]!) &&
        !own.includes(small[i]!) &&
        small.indexOf(small[i]!) === i &&
        typeof value === 'string' &&
        /^([!-~\x80-\xff]([\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/.test(value)
      const bad = entries.filter(([, value], i) => !canBeSent(value, i))
      const came = await sent(context).catch((error: CatalogError) => error)
      if (bad.length === 0) {
        if (came instanceof Error) throw came
        for (const [i, [, value]] of entries.entries()) expect(came.get(small[i]!)).toEqual([value])
      } else {
        expect(came).toMatchObject({ code: 'InvalidInput' })
        const { message } = came as CatalogError
        expect(bad.some(([key]) => message.includes(JSON.stringify(key)))).toBe(true)
      }
    }),
    { numRuns: 400, seed: 7 },
  )
})
