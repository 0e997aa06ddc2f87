import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { main } from '../../../src/cli/main.ts'
import { connect } from '../../../src/client/index.ts'
import {
  catalogFixture,
  type FakeServerOptions,
  fakeCatalog,
  fakeServer,
  serverFixture,
} from '../../../src/testing/index.ts'
import { start } from '../../cli/run.ts'
import { outcome, until } from './ways.ts'

const seed = { prod: { flights: [{ delay: 75 }, { delay: 12 }] } }
const flights = ['prod', 'flights']

/** Calls the control routes of a server like `curl`. */
function control(url: string, headers: Record<string, string> = {}) {
  return async (method: string, path: string, body?: string) => {
    const response = await fetch(`${url}/_control${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: whatever JSON the server sends
    return [response.status, (await response.json()) as any] as const
  }
}

async function serve(options: FakeServerOptions) {
  const server = await fakeServer(options)
  onTestFinished(() => server.close())
  return server
}

describe('a fake server', () => {
  it('has no control routes unless they are asked for', async () => {
    const server = await serve({ seed })
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/reset'],
      ['POST', '/faults'],
      ['GET', '/calls'],
    ] as const)
      expect((await control(server.url)(method, path))[0]).toBe(404)
  })

  it('is controlled by its routes', async () => {
    const server = await serve({ seed, control: true })
    const ask = control(server.url)
    const catalog = connect(server.url, { retries: 0 })
    expect(await ask('GET', '')).toMatchObject([
      200,
      { clock: { iso: '2026-01-01T00:00:00.000Z' }, calls: 0, faults: [] },
    ])
    const fault = { operation: 'countTableRows', table: flights, fail: 'Throttling', times: 1 }
    expect(await ask('POST', '/faults', JSON.stringify(fault))).toMatchObject([
      200,
      { id: 'fault-1', fired: 0 },
    ])
    expect(await outcome(catalog.countTableRows({ id: flights }))).toBe('Throttling')
    expect(await outcome(catalog.countTableRows({ id: flights }))).toEqual({ count: 2 })
    expect(await ask('GET', '/faults')).toMatchObject([
      200,
      { faults: [{ id: 'fault-1', seen: 2, fired: 1 }] },
    ])
    expect(await ask('GET', '/calls?operation=countTableRows,dropTable&limit=1')).toMatchObject([
      200,
      {
        total: 2,
        dropped: 0,
        calls: [{ operation: 'countTableRows', request: { id: flights }, response: { count: 2 } }],
      },
    ])
    const [, { calls }] = await ask('GET', '/calls')
    expect(calls[0].error).toMatchObject({ code: 'Throttling', number: 21 })
    expect(await ask('POST', '/clock', '{"advance":1500}')).toMatchObject([
      200,
      { iso: '2026-01-01T00:00:01.500Z' },
    ])
    expect(await ask('POST', '/clock', '{"set":"2030-01-01"}')).toMatchObject([
      200,
      { now: Date.UTC(2030, 0, 1) },
    ])
    expect(await ask('GET', '/clock')).toMatchObject([200, { now: Date.UTC(2030, 0, 1) }])
    expect((await ask('POST', '/seed', '{"dev":{"t":[{"x":1}]}}'))[0]).toBe(200)
    expect((await catalog.listAllTables({})).tables).toEqual(['dev$t', 'prod$flights'])
    expect((await ask('DELETE', '/faults/fault-1'))[0]).toBe(200)
    expect((await ask('DELETE', '/calls'))[0]).toBe(200)
    expect((await ask('POST', '/reset'))[0]).toBe(200)
    expect((await catalog.listAllTables({})).tables).toEqual(['prod$flights'])
    expect(server.clock.now()).toBe(Date.UTC(2026, 0, 1))
  })

  it('releases a transaction that stays Running, and a delayed call', async () => {
    const server = await serve({ seed, control: true })
    const ask = control(server.url)
    const catalog = connect(server.url, { retries: 0 })
    await ask('POST', '/faults', '{"operation":"deleteFromTable","running":true}')
    const { transaction_id } = await catalog.deleteFromTable({ id: flights, predicate: 'delay > 60' })
    const status = async () => (await catalog.describeTransaction({ id: [transaction_id!] })).status
    expect(await status()).toBe('Running')
    await ask('POST', '/faults/fault-1/release')
    expect(await status()).toBe('Succeeded')
    await ask('POST', '/faults', '{"operation":"countTableRows","delay":"released"}')
    const waiting = outcome(catalog.countTableRows({ id: flights }))
    await until(() => server.calls.of('countTableRows').length === 1)
    expect((await ask('DELETE', '/faults'))[0]).toBe(200)
    expect(await waiting).toEqual({ count: 1 })
  })

  it('refuses what cannot be', async () => {
    const server = await serve({ control: true })
    for (const [method, path, body, message] of [
      ['POST', '/faults', '{"fial":"Throttling"}', /fial is not a field/],
      ['POST', '/faults', '[]', /A fault is an object/],
      ['POST', '/faults', '{"fail"', /is no JSON/],
      ['POST', '/faults', undefined, /A fault is an object/],
      ['POST', '/clock', '{"advance":-5}', /milliseconds from 0/],
      ['POST', '/clock', '{}', /The clock takes/],
      ['POST', '/seed', '{"a":5}', /seed\.a is a number/],
      ['POST', '/seed', '5', /seed must be an object/],
      ['POST', '/seed', '{"a":{"$arrow":"AAAA"}}', /seed\.a: .*Arrow/],
      ['DELETE', '/faults/fault-9', undefined, /no fault "fault-9"/],
      ['GET', '/calls?limit=0', undefined, /limit must be/],
      ['GET', '/calls?limit=1e9', undefined, /limit must be/],
      ['GET', '/calls?operation=toString', undefined, /There is no operation "toString"/],
    ] as const) {
      const [status, { code, detail }] = await control(server.url)(method, path, body)
      expect([status, code]).toEqual([400, 13])
      expect(detail).toMatch(message)
    }
  })

  it('lets in to its control routes whom it lets in to operations', async () => {
    const server = await serve({ control: true, token: 'a-long-random-token' })
    expect((await control(server.url)('POST', '/reset'))[0]).toBe(401)
    expect(
      (await control(server.url, { authorization: 'Bearer a-long-random-token' })('POST', '/reset'))[0],
    ).toBe(200)
    const open = await serve({ control: true })
    expect((await control(open.url, { origin: 'https://elsewhere.example' })('POST', '/reset'))[0]).toBe(403)
  })

  it('has forks on ports of their own, and serves a fake that is there already', async () => {
    const catalog = await fakeCatalog({ seed })
    const server = await serve({ catalog })
    const fork = await server.fork()
    onTestFinished(() => fork.close())
    expect(fork.url).not.toBe(server.url)
    await connect(fork.url).dropTable({ id: flights })
    expect((await connect(server.url).listAllTables({})).tables).toEqual(['prod$flights'])
    expect([server.calls.length, fork.calls.length]).toEqual([1, 1])
    await server.close()
    expect(await catalog.countTableRows({ id: flights })).toEqual({ count: 2 })
    await expect(fakeServer({ catalog, seed })).rejects.toThrow(
      /the catalog is given, so seed would go unheard/,
    )
  })
})

describe('the command fake', () => {
  it('serves a seed from a file until it is interrupted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'seed.json')
    await writeFile(file, JSON.stringify(seed))
    const started = await startFake(['--seed', file, '--control', '--now', '2030-01-01T00:00:00Z'])
    expect((await connect(started.url).listAllTables({})).tables).toEqual(['prod$flights'])
    expect(await control(started.url)('GET', '/clock')).toMatchObject([
      200,
      { iso: '2030-01-01T00:00:00.000Z' },
    ])
    expect(await started.stop()).toBe(0)
  })

  it('has no control routes by default, and says what is wrong with a seed', async () => {
    const started = await startFake([])
    expect((await control(started.url)('POST', '/reset'))[0]).toBe(404)
    expect(await started.stop()).toBe(0)
    await expect(startFake(['--seed', 'no-such-file.json'])).rejects.toThrow(/--seed: ENOENT/)
  })

  it('takes its token from the environment, which others on the machine do not see', async () => {
    const started = await startFake(['--control'], { TABULARIUM_TOKEN: 'short' })
    expect((await control(started.url)('GET', ''))[0]).toBe(401)
    expect((await control(started.url, { authorization: 'Bearer short' })('GET', ''))[0]).toBe(200)
    expect(await started.stop()).toBe(0)
  })

  it.each(['the input ends', 'it is told to', 'its parent is killed'])(
    'ends when %s, if it is to end with its input',
    async (how) => {
      const child = start(['fake', '--end-with-input'])
      onTestFinished(() => void child.kill('SIGKILL'))
      const [line] = await once(child.stdout, 'data')
      expect(String(line)).toMatch(/^tabularium listening on /)
      if (how === 'the input ends') child.stdin.end('more')
      else if (how === 'it is told to') child.kill('SIGTERM')
      // The effect of a kill on a pipe.
      else child.stdin.destroy()
      expect(await once(child, 'close')).toEqual([0, null])
    },
  )

  it('goes on when its input ends, unless it is told otherwise', async () => {
    const child = start(['fake'])
    const [line] = await once(child.stdout, 'data')
    child.stdin.end()
    const url = String(line).trim().split(' ').at(-1)!
    for (let tries = 0; tries < 20; tries++) expect((await connect(url).listAllTables({})).tables).toEqual([])
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
  })
})

async function startFake(args: readonly string[], env: Record<string, string> = {}) {
  const stop = new AbortController()
  let done: Promise<number> | undefined
  const url = await new Promise<string>((resolve, reject) => {
    const io = {
      stdin: (async function* () {})(),
      stdout: {
        write: (text: string | Uint8Array) =>
          resolve(
            /^tabularium listening on (\S+)\n(Iceberg REST at \1\/iceberg\n)?$/.exec(String(text))![1]!,
          ),
      },
      stderr: { write: (text: string | Uint8Array) => reject(new Error(String(text))) },
      env,
      version: '1.2.3',
      signal: stop.signal,
    }
    done = main(['fake', ...args], io)
  })
  return {
    url,
    stop: () => {
      stop.abort()
      return done
    },
  }
}

describe('fixtures', () => {
  const test = it.extend({
    catalog: catalogFixture({ seed }),
    server: serverFixture({ seed, control: true }),
  })

  test.for([1, 2])('give each test a fake of its own: %i', async (_, { catalog, server }) => {
    expect(await catalog.dropTable({ id: flights })).toMatchObject({ id: flights })
    expect(await connect(server.url).dropTable({ id: flights })).toMatchObject({ id: flights })
    expect([catalog.calls.length, server.calls.length]).toEqual([1, 1])
  })
})
