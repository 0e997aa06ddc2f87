import { describe, expect, it, onTestFinished } from 'vitest'
import { type ServeOptions, serve } from '../../src/server/index.ts'
import { callerAddressOf } from '../../src/server/trust-proxy.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { asking } from './support/ask.ts'

type Trust = NonNullable<ServeOptions['trustProxy']>

function addressOf(trust: Trust, peer: string, forwarded?: string): string | undefined {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
  return callerAddressOf(trust)!({ socket: { remoteAddress: peer }, headers } as never)
}

describe('the address of a caller', () => {
  it.each([
    [true, '192.0.2.1', undefined, '192.0.2.1'],
    [true, '192.0.2.1', '203.0.113.9', '203.0.113.9'],
    [true, '192.0.2.1', 'anything, 203.0.113.9', 'anything'],
    ['loopback', '127.0.0.1', '198.51.100.7, 203.0.113.9', '203.0.113.9'],
    ['loopback', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
    ['loopback', '::ffff:127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['loopback', '::1', ' , 203.0.113.9 ,', '203.0.113.9'],
    ['loopback, 10.0.0.0/8', '127.0.0.1', '203.0.113.9, 10.1.2.3', '203.0.113.9'],
    [['10.0.0.0/255.0.0.0'], '10.200.0.1', '203.0.113.9', '203.0.113.9'],
    [['10.0.0.0/255.0.0.0'], '11.0.0.1', '203.0.113.9', '11.0.0.1'],
    [['192.0.2.1', '2001:db8::/32'], '2001:db8::5', '203.0.113.9, 192.0.2.1', '203.0.113.9'],
    ['linklocal', 'fe80::1%eth0', '203.0.113.9', '203.0.113.9'],
    ['uniquelocal', '192.168.7.7', '203.0.113.9, not an address', 'not an address'],
    [[], '127.0.0.1', '203.0.113.9', '127.0.0.1'],
  ] as const)('trusting %j, from %s, forwarded for %j', (trust, peer, forwarded, address) => {
    expect(addressOf(trust, peer, forwarded)).toBe(address)
  })

  it.each([false, 0, 2, '', undefined])('is always that of the connection for %j', (trust) => {
    expect(callerAddressOf(trust)).toBeUndefined()
  })

  it.each([
    'proxy',
    '10.0.0.0/0',
    '10.0.0.0/33',
    '10.0.0.0/255.0.255.0',
    '::1/129',
    '10.0.0.1/8/9',
    'fe80::1%a',
  ])('cannot be told from %s', (range) =>
    expect(() => callerAddressOf([range])).toThrow(JSON.stringify(range)),
  )
})

it('a server without credentials answers no stranger that a proxy on its machine passes on', async () => {
  const answers = async (trustProxy: Trust | undefined, headers: Record<string, string>) => {
    const catalog = await openCatalog('memory:')
    const server = await serve(catalog, {
      limits: { eventLoopDelay: 0 },
      auth: false,
      port: 0,
      log: false,
      trustProxy,
    })
    onTestFinished(async () => {
      await server.close()
      await catalog.close()
    })
    return (await asking(fetch, server.url)('GET', '/v1/table', undefined, headers)).status
  }
  const stranger = { 'x-forwarded-for': '203.0.113.9' }
  const neighbor = { 'x-forwarded-for': '127.0.0.1' }
  expect(await answers(undefined, {})).toBe(200)
  expect(await answers(undefined, stranger)).toBe(401)
  expect(await answers(undefined, neighbor)).toBe(401)
  expect(await answers(undefined, { forwarded: 'for=203.0.113.9' })).toBe(401)
  expect(await answers('loopback', stranger)).toBe(401)
  expect(await answers('loopback', neighbor)).toBe(200)
  expect(await answers('loopback', { 'x-real-ip': '203.0.113.9' })).toBe(401)
})

it('hooks and the rate limit see the caller behind a proxy, and only a proxy is believed', async () => {
  const seen = async (trustProxy: Trust | undefined) => {
    const catalog = await openCatalog('memory:')
    const addresses: unknown[] = []
    const server = await serve(catalog, {
      limits: { eventLoopDelay: 0 },
      auth: { verify: (_token, { remoteAddress }) => void addresses.push(remoteAddress) },
      port: 0,
      log: false,
      trustProxy,
    })
    onTestFinished(async () => {
      await server.close()
      await catalog.close()
    })
    await asking(fetch, server.url)('GET', '/v1/table', undefined, { 'x-forwarded-for': '203.0.113.9' })
    return addresses
  }
  expect(await seen('loopback')).toStrictEqual(['203.0.113.9'])
  expect(await seen('10.0.0.0/8')).toStrictEqual(['127.0.0.1'])
  expect(await seen(undefined)).toStrictEqual(['127.0.0.1'])
})
