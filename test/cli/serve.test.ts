import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { tableFromArrays, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it, onTestFinished } from 'vitest'
import { main } from '../../src/cli/main.ts'
import { toBytes, toMillis } from '../../src/cli/options.ts'
import { rootOptions } from '../../src/cli/root-options.ts'
import { connect } from '../../src/client/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { IcebergRequests, schema } from '../iceberg/rest.ts'
import { freshFolder } from '../support/catalogs.ts'
import { childrenOf } from '../support/child-processes.ts'
import { lanceIt } from '../support/lance-package.ts'
import { lines, run } from './run.ts'

/** Serves in this process until the test ends, and returns the printed URL. */
async function serving(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const stop = new AbortController()
  let said = ''
  const url = new Promise<string>((resolve, reject) => {
    const io = {
      stdin: (async function* () {})(),
      stdout: {
        write: (text: string | Uint8Array) => {
          said += String(text)
          resolve(/^tabularium listening on (\S+)\n$/.exec(said)![1]!)
        },
      },
      stderr: {
        write: (text: string | Uint8Array) =>
          String(text).startsWith('note: a new catalog was created') || reject(new Error(String(text))),
      },
      env,
      version: '1.2.3',
      signal: stop.signal,
    }
    const done = main(['serve', ...args, '--port', '0'], io)
    onTestFinished(async () => {
      stop.abort()
      expect(await done).toBe(0)
    })
  })
  return url
}

describe('serve', () => {
  it('offers a directory that every command can be used on by its URL', async () => {
    const url = await serving([await freshFolder(), '--no-auth'])
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await run(['create-namespace', url, 'prod'])).code).toBe(0)
    expect((await run(['create', url, 'prod.t', '--data', '[{"a":1},{"a":2}]'])).err).toBe('')
    expect(lines(await run(['count', url, 'prod.t', '--where', 'a > 1']))).toEqual([{ count: 1 }])
    expect(lines(await run(['list', url]))).toEqual([{ table: 'prod.t' }])
    expect(lines(await run(['query', url, 'prod.t', '--columns', 'a']))).toEqual([{ a: 1 }, { a: 2 }])
    expect(lines(await run(['set-metadata', url, 'prod.t', '--metadata', 'u=m']))).toMatchObject([
      { metadata: { u: 'm' } },
    ])
    const { code, err } = await run(['describe', url, 'prod.u'])
    expect([code, err]).toEqual([1, expect.stringMatching(/^tabularium: TableNotFound: .*\n$/)])
  })

  lanceIt('runs Lance in a process of its own, unless that is left out', async () => {
    const processes = () => childrenOf(process.pid, 'lance/isolated/child').length
    for (const [option, count] of [
      ['--lance-memory=2GiB', 1],
      ['--no-lance-process', 0],
    ] as const) {
      const url = await serving([await freshFolder(), '--no-auth', '--format', 'lance', option])
      const before = processes()
      expect((await run(['create', url, 't', '--data', '[{"a":1}]'])).err).toBe('')
      expect(lines(await run(['count', url, 't']))).toEqual([{ count: 1 }])
      expect(processes() - before).toBe(count)
    }
    const { err } = await run(['serve', 'memory:', '--no-auth', '--no-lance-process', '--lance-time', '1m'])
    expect(err).toContain('--lance-memory and --lance-time are about the process')
  })

  it('commands are part of a transaction of the server by --transaction', async () => {
    const url = await serving(['memory:', '--no-auth', '--transaction-idle', '90s'])
    const [usual] = lines(await run(['begin-transaction', url]))
    expect(usual).toMatchObject({ status: 'Running', idle_timeout_seconds: 90 })
    const [begun] = lines(await run(['begin-transaction', url, '--idle-timeout-seconds', '300']))
    const { transaction_id: id } = begun as { transaction_id: string }
    const inside = ['--transaction', id]
    for (const args of [
      ['create', url, 't', '--data', '[{"a":1,"b":"2020-01-01"}]'],
      ['insert', url, 't', '--data', '[{"a":2,"b":"2020-02-02"}]'],
      ['mv', url, 't', 'u'],
    ])
      expect((await run([...args, ...inside])).err).toBe('')
    expect(lines(await run(['list', url, ...inside]))).toEqual([{ table: 'u' }])
    expect(lines(await run(['query', url, 'u', '--columns', 'a', ...inside]))).toEqual([{ a: 1 }, { a: 2 }])
    expect(lines(await run(['list', url]))).toEqual([])
    expect(lines(await run(['commit-transaction', url, id]))).toMatchObject([{ status: 'Succeeded' }])
    expect(lines(await run(['list', url]))).toEqual([{ table: 'u' }])
    const ended = await run(['rollback-transaction', url, id])
    expect([ended.code, ended.err]).toEqual([1, expect.stringContaining('ConcurrentModification')])
  })

  it('takes the size of a cache in words, and with its folder only', async () => {
    expect(['10GiB', '1.5 MB', '7', '2kb'].map(toBytes)).toEqual([10 * 2 ** 30, 1_500_000, 7, 2_000])
    for (const wrong of ['', 'much', '5 bytes', '-1', '1.5.2GiB'])
      expect(() => toBytes(wrong)).toThrow(/10GiB/)
    const folder = await freshFolder()
    const alone = await run(['serve', folder, '--no-auth', '--content-cache-size', '1GiB'])
    expect([alone.code, alone.err]).toEqual([2, expect.stringContaining('needs --content-cache')])
    const near = await run(['serve', folder, '--no-auth', '--content-cache', join(folder, 'cache')])
    expect([near.code, near.err]).toEqual([1, expect.stringContaining('has its rows nearby')])
  })

  it('holds dropped tables for a day, or for as long as it was told', async () => {
    const url = await serving(['memory:', '--no-auth'])
    await using catalog = await openCatalog(url)
    const ran = async (...args: string[]) => {
      const { code, err, out } = await run(args)
      expect([args, code, err]).toEqual([args, 0, ''])
      return out
    }
    for (const _ of [1, 2]) {
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
      await ran('drop', url, 't')
    }
    const { dropped: tables } = await catalog.listDroppedTables({ id: [] })
    const [{ table_id, dropped_at, retained_until }] = tables as [(typeof tables)[number]]
    expect(Date.parse(retained_until) - Date.parse(dropped_at)).toBe(24 * 3_600_000)
    expect(await ran('dropped', url)).toContain(table_id)
    await ran('undrop', url, 't', 'back', '--table-id', table_id)
    await ran('undrop', url, 't')
    expect((await catalog.listAllTables({})).tables).toEqual(['back', 't'])
    expect((await run(['undrop', url, 't', '--table-id', table_id])).err).toContain('No dropped table t')
    await ran('drop', url, 't', '--purge')
    await ran('drop', url, 'back')
    expect(await ran('purge', url, 'back')).toContain('1')
    expect((await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])

    const none = await serving(['memory:', '--no-auth', '--retain-dropped', '0s'])
    await using holding = await openCatalog(none)
    await holding.declareTable({ id: ['t'] })
    await ran('drop', none, 't')
    expect((await holding.listDroppedTables({ id: [] })).dropped).toEqual([])
    const { code, err } = await run(['serve', 'memory:', '--no-auth', '--retain-dropped', '4000d'])
    expect([code, err]).toEqual([2, expect.stringContaining('--retain-dropped')])
  })

  it('tells the rule of retention that it was given, and refuses one that is none', async () => {
    const url = await serving(['memory:', '--no-auth', '--retain-versions', '2', '--retain-age', '30d'])
    await using catalog = await openCatalog(url)
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    const retention = { versions: 2, age: 30 * 24 * 3_600_000 }
    expect(await catalog.describeTable({ id: ['t'] })).toMatchObject({ retention })
    const { out } = await run(['describe-table', url, 't', '--json'])
    expect(JSON.parse(out)).toMatchObject({ retention })
    for (const [option, value] of [
      ['--retain-versions', '0'],
      ['--retain-versions', 'all'],
      ['--retain-age', '4000d'],
    ] as const) {
      const { code, err } = await run(['serve', 'memory:', '--no-auth', option, value])
      expect([code, err]).toEqual([2, expect.stringContaining(option)])
    }
  })

  it('keeps as many records of changes as it was told', async () => {
    const url = await serving([
      'memory:',
      '--no-auth',
      '--transaction-count',
      '20',
      '--transaction-age',
      '7d',
    ])
    const catalog = await openCatalog(url)
    for (let n = 0; n < 100; n++) await catalog.createNamespace({ id: [`n${n}`] })
    const left = async () => (await catalog.listTransactions({})).transactions.length
    await expect.poll(left).toBeLessThanOrEqual(25)
    await catalog.close()
    for (const [option, value] of [
      ['--transaction-count', '0'],
      ['--transaction-count', '1.5'],
      ['--transaction-age', 'long'],
      ['--transaction-age', '4000d'],
    ] as const) {
      const { code, err } = await run(['serve', 'memory:', '--no-auth', option, value])
      expect([code, err]).toEqual([2, expect.stringContaining(option)])
    }
  })

  it('takes the time to drain in words', async () => {
    expect(['0s', '500ms', '10s', '1.5 m', '1h'].map(toMillis)).toEqual([0, 500, 10_000, 90_000, 3_600_000])
    for (const wrong of ['', '10', '-1s', '10 seconds', 's', '61m', '1e3s'])
      expect(() => toMillis(wrong)).toThrow(/10s/)
    const { code, err } = await run(['serve', 'memory:', '--no-auth', '--drain', 'soon'])
    expect([code, err]).toEqual([2, expect.stringContaining('--drain')])
  })

  it('takes as many bytes of rows in one request as it is told', async () => {
    const serveWith = (size: string) => serving(['memory:', '--no-auth', '--arrow-bytes', size])
    const [small, large] = [await serveWith('2KiB'), await serveWith('200KiB')]
    const data = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => ({ n })))
    const create = async (url: string, table: string, rows: number) => {
      const { code, err } = await run(['create', url, table, '--data', data(rows)])
      return [code, err]
    }
    expect(await create(small, 'a', 10)).toEqual([0, ''])
    expect(await create(small, 'b', 1_000)).toEqual([1, expect.stringMatching(/2,?048/)])
    expect(await create(large, 'b', 1_000)).toEqual([0, ''])
    expect((await run(['serve', 'memory:', '--no-auth', '--arrow-bytes', 'much'])).code).toBe(2)
  })

  it('takes as many bytes of rows that arrive as it is told', async () => {
    const serveWith = (size: string) => serving(['memory:', '--no-auth', '--streamed-bytes', size])
    const [small, large] = [await serveWith('1200KiB'), await serveWith('2MiB')]
    const rows = tableToIPC(tableFromArrays({ n: new Float64Array(200_000) }), { format: 'stream' })!
    const create = async (url: string) => {
      const answer = await fetch(`${url}/v1/table/t/create`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.apache.arrow.stream' },
        body: new Blob([rows as Uint8Array<ArrayBuffer>]).stream(),
        ...{ duplex: 'half' },
      })
      return [answer.status, await answer.text()]
    }
    expect(await create(small)).toEqual([400, expect.stringContaining('1,228,800 bytes')])
    expect(await create(large)).toEqual([200, expect.anything()])
    expect((await run(['serve', 'memory:', '--no-auth', '--streamed-bytes', 'much'])).code).toBe(2)
  })

  it('on a directory, commands say that a transaction needs a server', async () => {
    const folder = await freshFolder()
    for (const args of [
      ['begin-transaction', folder],
      ['commit-transaction', folder, 'x'],
      ['rollback-transaction', folder, 'x'],
      ['list', folder, '--transaction', 'x'],
      ['declare', folder, 't', '--transaction', 'x'],
    ]) {
      const { code, err } = await run(args)
      expect([code, err]).toEqual([2, expect.stringContaining('works with the URL of a server')])
    }
  })

  it('takes tokens, and commands send the one they are given', async () => {
    const url = await serving(['memory:', '--token', 'the-first-token-1', '--token', 'the-second-token'])
    expect((await run(['list', url])).err).toMatch(
      /^tabularium: Unauthenticated: .* --token, TABULARIUM_TOKEN/,
    )
    for (const token of ['the-first-token-1', 'the-second-token']) {
      expect((await run(['list', url, '--token', token])).code).toBe(0)
      expect((await run(['list', url, '--api-key', token])).code).toBe(0)
    }
    expect((await run(['list', url, '--token', 'the-third-token-1'])).code).toBe(1)
  })

  it('listings can be those of direct children', async () => {
    const url = await serving(['memory:', '--no-auth', '--listing', 'children'])
    await run(['create-namespace', url, 'a'])
    for (const table of ['x', 'a.y']) await run(['declare', url, table])
    expect(lines(await run(['list', url]))).toEqual([{ table: 'x' }])
    expect(lines(await run(['list', url, 'a']))).toEqual([{ table: 'y' }])
  })

  it('chooses locations of new tables below --root', async () => {
    const folder = await freshFolder()
    const near = await serving([
      'memory:',
      '--no-auth',
      '--root',
      `file://${folder}/new`,
      '--location-root',
      folder,
    ])
    const created = lines(await run(['create', near, 'u', '--data', '[{"a":1}]'])) as { location: string }[]
    expect(created[0]!.location).toContain(`file://${folder}/new/`)
    expect(lines(await run(['count', near, 'u']))).toEqual([{ count: 1 }])
    expect((await run(['drop', near, 'u'])).code).toBe(0)
  })

  it('--root in object storage needs no access, and only clients write there', async () => {
    const url = await serving(['memory:', '--no-auth', '--root', 's3://bucket/tables/'])
    await using catalog = connect(url)
    const { location } = await catalog.declareTable({ id: ['t'] })
    expect(location).toMatch(/^s3:\/\/bucket\/tables\/\w+$/)
    const refused = await run(['create', url, 'u', '--data', '[{"a":1}]'])
    expect(refused.err).toMatch(/^tabularium: InvalidTableState: .*s3:\/\/bucket\/tables\//)
  })

  it('a folder of --root is a root by itself, by its path or its URL, also for Iceberg', async () => {
    for (const write of [(folder: string) => folder, (folder: string) => pathToFileURL(folder).href]) {
      const folder = await freshFolder()
      const url = await serving(['memory:', '--no-auth', '--root', write(folder)])
      const created = lines(await run(['create', url, 'u', '--data', '[{"a":1}]'])) as { location: string }[]
      expect(created[0]!.location).toContain(`${pathToFileURL(folder).href}/`)
      expect(lines(await run(['count', url, 'u']))).toEqual([{ count: 1 }])
      const rest = new IcebergRequests(`${url}/iceberg`)
      await rest.post('namespaces', { namespace: ['prod'] })
      const { body } = await rest.post('namespaces/prod/tables', { name: 't', schema })
      expect(body.metadata.location).toContain(`${pathToFileURL(folder).href}/`)
      expect((await rest.get('namespaces/prod/tables/t')).status).toBe(200)
    }
    const missing = join(await freshFolder(), 'missing')
    const refused = await run(['serve', 'memory:', '--no-auth', '--root', missing])
    expect([refused.code, refused.err]).toEqual([
      1,
      expect.stringContaining(`"${missing}/" cannot be reached`),
    ])
  })

  it.each([
    [['DIR', {}], undefined, undefined],
    [['DIR', { root: 's3://lake/new/' }], 's3://lake/new/', undefined],
    [['DIR', { root: 's3://lake/new?endpoint=http://a' }], 's3://lake/new/', undefined],
    [['DIR', { root: 's3://lake/new', locationRoot: ['s3://lake'] }], 's3://lake/new/', ['s3://lake']],
    [['DIR', { root: '/lakes', locationRoot: ['/lake'] }], 'file:///lakes/', ['/lake', '/lakes/']],
    [['DIR', { root: 's3://b/tables/x', content: 's3://b/tables' }], 's3://b/tables/x/', undefined],
    [['/data/catalog', { root: 'file:///data/catalog/x' }], 'file:///data/catalog/x/', undefined],
    [['postgres://a/b', { root: '/data/x y' }], 'file:///data/x%20y/', ['/data/x y/']],
  ] as const)('of %j the roots follow', ([location, typed], tableRoot, locationRoots) => {
    expect(rootOptions(location, typed)).toEqual({ tableRoot, locationRoots })
  })

  it('tells when it cannot listen', async () => {
    const url = await serving(['memory:', '--no-auth'])
    const { code, err } = await run(['serve', 'memory:', '--no-auth', '--port', new URL(url).port])
    expect([code, err]).toEqual([1, expect.stringMatching(/^tabularium: ServiceUnavailable: .*in use/)])
    expect((await run(['serve', 'memory:', '--no-auth', '--host', '0.0.0.0'])).err).toMatch(/InvalidInput/)
  })
})
