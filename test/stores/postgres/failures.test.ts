import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { readAddress } from '../../../src/stores/postgres/address.ts'
import { engineOf } from '../../../src/stores/postgres/check.ts'
import { explain } from '../../../src/stores/postgres/failure.ts'
import { migratePostgres, openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { stepsTo, storeFormat } from '../../../src/stores/postgres/schema.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { missingPostgres, PostgresServer, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { limitEach } from '../../support/time-limit.ts'
import { opened, refusal } from './refusal.ts'

// It waits for connections that the server does not give for seconds.
limitEach(60)

describe.skipIf(missingPostgres)('a database', () => {
  test('that is not ready says what to do', async () => {
    const server = await sharedServer()
    expect(await opened(server.url('none_such'))).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('no such database'),
    })
    expect(await opened(server.url())).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('tabularium migrate'),
    })
    const url = await server.freshUrl()
    const schema = new URL(url).searchParams.get('schema')!
    await server.query(`INSERT INTO ${schema}.format VALUES (99)`)
    expect(await opened(url)).toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining('newer'),
    })
    expect(await refusal(migratePostgres(url))).toMatchObject({ code: 'Unsupported' })
    await server.query(`DELETE FROM ${schema}.format`)
    expect(await opened(url)).toMatchObject({ code: 'InvalidInput' })
    await server.query(`CREATE SCHEMA others; CREATE TABLE others.records (id integer)`)
    expect(await refusal(migratePostgres(server.url('postgres', '?schema=others')))).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('?schema='),
    })
    // Nothing was made in part.
    const tables = await server.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'others'`)
    expect(tables).toEqual([{ tablename: 'records' }])
    await server.query(`CREATE DATABASE old ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`)
    expect((await refusal(migratePostgres(server.url('old')))).message).toContain('UTF8')
    // Restored there, from another database.
    await server.query(`CREATE SCHEMA tabularium; ${stepsTo('tabularium').join(';')}`, 'old')
    expect(await opened(server.url('old'))).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('UTF8'),
    })
  })

  test('is migrated once, whoever does it', async () => {
    const server = await sharedServer()
    const url = server.url('postgres', '?schema=Odd "name" é')
    const reports = await Promise.all([1, 2, 3].map(() => migratePostgres(url)))
    expect(reports.map(({ from }) => from).sort()).toEqual([storeFormat, storeFormat, null])
    const store = await openPostgresStore(url)
    await store.write((tx) => tx.put(['a'], 1))
    await store.close()
    expect(await migratePostgres(url)).toEqual({ from: storeFormat, to: storeFormat })
  })

  test('is migrated and used whatever its users have for settings', async () => {
    const server = await sharedServer()
    const settings = {
      serial: ['default_transaction_isolation = serializable', 'default_transaction_deferrable = on'],
      repeatable: ["default_transaction_isolation = 'repeatable read'", 'statement_timeout = 5000'],
      textual: ['standard_conforming_strings = off', 'bytea_output = escape', "client_encoding = 'LATIN1'"],
      elsewhere: ['search_path = no_such, public', "lock_timeout = '1ms'"],
    }
    for (const [role, own] of Object.entries(settings)) {
      await server.query(`CREATE ROLE ${role} LOGIN SUPERUSER`)
      for (const setting of own) await server.query(`ALTER ROLE ${role} SET ${setting}`)
      const url = server.url('postgres', `?schema=${role}`).replace('postgres@', `${role}@`)
      const reports = await Promise.all([1, 2, 3].map(() => migratePostgres(url)))
      expect(reports.map(({ from }) => from).sort()).toEqual([storeFormat, storeFormat, null])
      const store = await openPostgresStore(url)
      const odd = 'é\\"\u0000{}'
      await Promise.all([1, 2].map((n) => store.write((tx) => tx.put(['odd', n], odd))))
      await store.write((tx) => tx.append!(['log'], odd))
      await store.close()
      const again = await openPostgresStore(url)
      expect(await again.read((tx) => Array.from(tx.range({}), ({ value }) => value))).toEqual([
        odd,
        odd,
        odd,
      ])
      await again.close()
    }
  })

  test('that nobody may write can be read, and says so', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const schema = new URL(url).searchParams.get('schema')!
    await using catalog = await openCatalog(url as `postgres://${string}`, { content: memoryContent() })
    await catalog.createNamespace({ id: ['prod'] })
    await server.query(
      `CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA ${schema} TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO reader`,
    )
    const asReader = url.replace('postgres@', 'reader@') as `postgres://${string}`
    await using read = await openCatalog(asReader, { content: memoryContent() })
    expect(await read.listNamespaces({ id: [] })).toMatchObject({ namespaces: ['prod'] })
    expect(await refusal(read.createNamespace({ id: ['x'] }))).toMatchObject({
      code: 'PermissionDenied',
      message: expect.stringContaining('privilege'),
    })
    const readOnly = `${url}&options=${encodeURIComponent('-c default_transaction_read_only=on')}`
    const store = await openPostgresStore(readOnly)
    expect(await refusal(store.write((tx) => tx.put(['a'], 1)))).toMatchObject({ code: 'PermissionDenied' })
    await store.close()
    expect(await opened(url.replace('postgres@', 'nobody_such@'))).toMatchObject({ code: 'PermissionDenied' })
  })

  test('wants its password from the URL, the environment or a file, and never tells it', async () => {
    // Before PostgreSQL 14, passwords are kept in another form unless this is said.
    const server = await PostgresServer.start({ password_encryption: "'scram-sha-256'" })
    onTestFinished(() => server.stop())
    const url = await server.freshUrl()
    await server.query(`ALTER ROLE postgres PASSWORD 'hunter2 é:\\'; SELECT pg_reload_conf()`)
    const hba = join(server.folder, 'data', 'pg_hba.conf')
    await writeFile(hba, 'host all all 127.0.0.1/32 scram-sha-256\n')
    await server.kill()
    await server.resume()
    const login = (password: string) => url.replace('postgres@', `postgres:${encodeURIComponent(password)}@`)
    const used = async (address: string) => {
      const store = await openPostgresStore(address)
      await store.write((tx) => tx.put(['a'], 1))
      expect(inspect(store, { depth: 9, showHidden: true })).not.toContain('hunter2')
      await store.close()
    }
    await used(login('hunter2 é:\\'))
    vi.stubEnv('PGPASSWORD', 'hunter2 é:\\')
    onTestFinished(() => void vi.unstubAllEnvs())
    await used(url)
    vi.stubEnv('PGPASSWORD', '')
    const file = join(await freshFolder(), 'passwords')
    await writeFile(file, `# all\n*:1:*:*:no\n127.0.0.1:${server.port}:*:postgres:hunter2 é\\:\\\\\n`, {
      mode: 0o600,
    })
    vi.stubEnv('PGPASSFILE', file)
    await used(url)
    await chmod(file, 0o644)
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const without = await opened(url)
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('chmod 600'))
    expect(without).toMatchObject({
      code: 'PermissionDenied',
      message: expect.stringContaining('PGPASSWORD'),
    })
    const wrong = await opened(login('hunter3'))
    expect(wrong).toMatchObject({ code: 'PermissionDenied' })
    for (const error of [without, wrong]) expect(inspect(error, { depth: 9 })).not.toMatch(/hunter/)
  })

  test('that is a standby is refused', async () => {
    const server = await PostgresServer.start()
    onTestFinished(() => server.stop())
    const url = await server.freshUrl()
    await server.pause()
    await writeFile(join(server.folder, 'data', 'standby.signal'), '')
    await server.resume()
    expect(await opened(url)).toMatchObject({
      code: 'ServiceUnavailable',
      message: expect.stringContaining('standby'),
    })
    expect((await refusal(migratePostgres(url))).message).toContain('standby')
  })

  test('whose connections share one session is refused', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    await server.query(`
      CREATE SCHEMA as_pglite;
      CREATE FUNCTION as_pglite.version() RETURNS text LANGUAGE sql AS
        $$ SELECT 'PostgreSQL 18.6 (PGlite 0.5.14) on wasm32-unknown-emscripten'::text $$`)
    const pglite = `${url}&options=${encodeURIComponent('-c search_path=as_pglite,pg_catalog')}`
    for (const refused of [await opened(pglite), await refusal(migratePostgres(pglite))]) {
      expect(refused).toMatchObject({
        code: 'Unsupported',
        message: expect.stringMatching(/the server is PGlite, .* Use a PostgreSQL server, or a directory\.$/),
      })
    }
  })

  test('of another engine is refused', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    // As H2 answers, which has no such function.
    await server.query(`
      CREATE SCHEMA as_h2;
      CREATE FUNCTION as_h2.pg_is_in_recovery() RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'Function not found' USING ERRCODE = '90022'; END $$`)
    const other = `${url}&options=${encodeURIComponent('-c search_path=as_h2,pg_catalog')}`
    for (const refused of [await opened(other), await refusal(migratePostgres(other))]) {
      expect(refused).toMatchObject({
        code: 'Unsupported',
        message: expect.stringMatching(
          /is another engine \(it answered 90022\)\. Use PostgreSQL 12 or later\.$/,
        ),
      })
    }
  })

  test('behind a pooler that runs transactions otherwise is refused', async () => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const store = await openPostgresStore(await server.freshUrl(proxy.port))
    const level = 'ISOLATION LEVEL READ COMMITTED'
    proxy.onSent = (bytes) => {
      const at = bytes.indexOf(level)
      if (at >= 0) bytes.write('ISOLATION LEVEL SERIALIZABLE'.padEnd(level.length), at)
      return undefined
    }
    const error = await refusal(store.write((tx) => tx.put(['a'], 1)))
    expect(error).toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(
        /a pooler .* to transaction or session mode, and Pgpool-II to the mode raw\.$/,
      ),
    })
    expect(await store.read((tx) => tx.get(['a']))).toBeUndefined()
    await store.close()
  })

  test.each([1, 2])('that gives %i connections is used by those', async (limit) => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const url = await server.freshUrl(proxy.port)
    const schema = new URL(url).searchParams.get('schema')!
    await server.query(
      `CREATE ROLE limited${limit} LOGIN CONNECTION LIMIT ${limit};
       GRANT USAGE ON SCHEMA ${schema} TO limited${limit};
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO limited${limit}`,
    )
    let asked = 0
    const start = performance.now()
    proxy.onSent = (bytes) => {
      if (bytes.includes('application_name')) asked++
      return undefined
    }
    const store = await openPostgresStore(url.replace('postgres@', `limited${limit}@`))
    onTestFinished(() => store.close())
    const work = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < 60; n++) {
        await store.write((tx) => tx.put(['n', writer], n))
        expect(await store.read((tx) => tx.get(['n', writer]))).toBe(n)
        const all = await store.read((tx) => Array.from(tx.range({ prefix: ['n'] })).length)
        expect(all).toBeGreaterThan(0)
      }
    })
    // Within a turn, a change needs a connection besides that of the turn.
    work.push(store.inTurn!('one', () => store.write((tx) => tx.put(['in turn'], 1))))
    await Promise.all(work)
    expect(await store.read((tx) => tx.get(['in turn']))).toBe(1)
    // Several were asked for at first, before one was refused; and again each ten seconds.
    expect(asked).toBeLessThan(10 * Math.ceil((performance.now() - start) / 10_000))
  })

  test('that speaks no TLS is refused where TLS is wanted', async () => {
    const server = await sharedServer()
    const url = `${await server.freshUrl()}&sslmode=verify-full`
    expect((await opened(url)).message).toContain('TLS')
  })
})

test('a server that is out of reach, or is none, is told at once', async () => {
  expect(await opened('postgres://127.0.0.1:1/db')).toMatchObject({
    code: 'ServiceUnavailable',
    message: expect.stringContaining('ECONNREFUSED'),
  })
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  onTestFinished(() => void silent.close())
  const { port } = silent.address() as { port: number }
  expect(await opened(`postgres://127.0.0.1:${port}/db?connect_timeout=1`)).toMatchObject({
    code: 'ServiceUnavailable',
  })
})

test('an address is read as PostgreSQL itself reads it', async () => {
  const env = { PGHOST: 'db.example', PGPORT: '6000', PGUSER: 'me', PGDATABASE: 'tables', PGAPPNAME: 'app' }
  expect(await readAddress('postgres://', env)).toMatchObject({
    host: 'db.example',
    port: 6000,
    user: 'me',
    database: 'tables',
    schema: 'tabularium',
    applicationName: 'app',
    ssl: { rejectUnauthorized: true },
  })
  expect(await readAddress('postgresql://you%40x@[::1]:7000/d%20b?schema=s', env)).toMatchObject({
    host: '::1',
    port: 7000,
    user: 'you@x',
    database: 'd b',
    schema: 's',
    ssl: false,
  })
  expect(await readAddress('postgres:///db?host=/var/run/postgresql', {})).toMatchObject({
    host: '/var/run/postgresql',
    ssl: false,
  })
  expect(await readAddress('postgres://h/d?sslmode=no-verify', env)).toMatchObject({
    ssl: { rejectUnauthorized: false },
  })
  expect(await readAddress('postgres://h/d', { PGSSLMODE: 'disable' })).toMatchObject({ ssl: false })
  for (const wrong of [
    'postgres://h/d?sslmode=prefer',
    'postgres://h/d?schema=pg_x',
    'postgres://h/d?shema=x',
    'postgres://h:0/d',
    'postgres://h/d?connect_timeout=soon',
    'postgres:///d?host=one,two',
  ]) {
    expect(await refusal(readAddress(wrong, env))).toMatchObject({ code: 'InvalidInput' })
  }
  // What would be ignored is said.
  expect((await refusal(readAddress('postgres://', { PGSERVICE: 'tables' }))).message).toContain('PGHOST')
  expect((await refusal(readAddress('postgres://', { PGHOST: 'one,two' }))).message).toContain('alone')
  // Beside a host, the service would give what the URL leaves out.
  expect((await refusal(readAddress('postgres://h/d', { PGSERVICE: 'tables' }))).message).toMatch(
    /PGSERVICE is "tables".*Files of services are not read\. Unset it/,
  )
  expect(await readAddress('postgres://h/d', { PGSERVICE: '' })).toMatchObject({ host: 'h' })
})

test('engines are told apart by what they say of themselves', () => {
  expect(engineOf('PostgreSQL 18.4 on x86_64-pc-linux-gnu').hasTurns).toBe(true)
  expect(engineOf('CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu)').hasTurns).toBe(false)
  expect(engineOf('PostgreSQL 15.2-YB-2025.1.0.0-b0 on x86_64').hasTurns).toBe(false)
})

test('errors of the server become errors of the catalog', () => {
  const of = (code: string) =>
    explain(Object.assign(new Error('x'), { code, severity: 'ERROR' }), 'the catalog')
  const codes = {
    '53100': 'ServiceUnavailable',
    '53200': 'ServiceUnavailable',
    '53400': 'ServiceUnavailable',
    '40001': 'ServiceUnavailable',
    '25006': 'PermissionDenied',
    '08P01': 'InvalidInput',
    '42501': 'PermissionDenied',
    XX000: 'Internal',
  }
  for (const [state, code] of Object.entries(codes)) expect(of(state).code).toBe(code)
  expect(of('53100').message).toContain('disk is full')
})
