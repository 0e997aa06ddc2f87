import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type CatalogRecord, keys } from '../../../src/base/store/records.ts'
import { serve } from '../../../src/server/index.ts'
import { migratePostgres, openPostgresStore } from '../../../src/stores/postgres/index.ts'
import { keepContent, type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { SmallPooler } from '../../support/small-pooler.ts'
import { filesIn, freshName, type Original, original, rename, templateOf } from './copied.ts'

const data = [{ x: 1 }, { x: 2 }]
const id = ['kept']

async function fill(catalog: LocalCatalog): Promise<void> {
  await catalog.createTable({ id, data })
  await catalog.insertIntoTable({ id, data: [{ x: 3 }] })
  await catalog.createTable({ id: ['other'], data })
}

async function recordAt(url: string): Promise<CatalogRecord> {
  const store = await openPostgresStore(url)
  const record = await store.read((reader) => reader.get<CatalogRecord>(keys.catalog))
  await store.close()
  return record!
}

async function change(url: string, edit: (record: CatalogRecord) => CatalogRecord): Promise<void> {
  const store = await openPostgresStore(url)
  await store.write((writer) => writer.put(keys.catalog, edit(writer.get<CatalogRecord>(keys.catalog)!)))
  await store.close()
}

/** Opens a catalog that must be where it lives. */
async function openedAtHome(url: string): Promise<LocalCatalog> {
  const catalog = closedAfterwards(await openCatalog(url))
  expect(catalog.isCopy).toBe(false)
  await catalog.insertIntoTable({ id, data: [{ x: 4 }] })
  return catalog
}

describe.skipIf(missingPostgres)('a copy of a database', () => {
  test('answers reads, and nothing that is done there touches the rows of the original', async () => {
    const catalog = await original(fill)
    const { url } = await templateOf(catalog)
    const before = await filesIn(catalog.rows)
    const records = await recordAt(url)
    const warnings: (Error & { code?: string })[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const copy = closedAfterwards(await openCatalog(url, { optimize: 'background' }))
    expect(copy.isCopy).toBe(true)
    expect(await copy.countTableRows({ id })).toMatchObject({ count: 3 })
    expect((await copy.listTables({ id: [] })).tables).toEqual(['kept', 'other'])
    expect(await copy.verify()).toMatchObject({ ok: true, tables: 2 })
    const warned = warnings.find(({ code }) => code === 'TABULARIUM_COPY')
    expect(warned?.message).toMatch(
      /its database has the number \d+ and not \d+.*--adopt-content.*--keep-content/,
    )
    const folder = await freshFolder()
    expect(await copy.exportTo(`${folder}/files`, { history: true })).toMatchObject({ tables: 2 })
    const changes: (() => Promise<unknown>)[] = [
      () => copy.dropTable({ id }),
      () => copy.createTable({ id, mode: 'Overwrite', data }),
      () => copy.insertIntoTable({ id, data }),
      () => copy.deleteFromTable({ id, predicate: 'x = 1' }),
      () => copy.optimizeTable({ id }),
      () => copy.deregisterTable({ id }),
      () => copy.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] }),
      () => copy.createNamespace({ id: ['n'] }),
      () => copy.beginTransaction({}),
      () => copy.transaction((tx) => tx.dropTable({ id })),
      () => copy.vacuum({ graceMillis: 0 }),
      () => copy.withBackupLease(async () => {}),
      () => copy.importFrom(`${folder}/files`),
      () => coreOf(copy).store.write((writer) => writer.put(['z'], 1)),
    ]
    for (const attempt of changes) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'PermissionDenied',
        message: expect.stringContaining('is a copy of the one that the catalog lives in'),
      })
    }
    await copy.close()
    expect(await filesIn(catalog.rows)).toEqual(before)
    expect(await recordAt(url)).toEqual(records)
    await openedAtHome(catalog.url)
  })

  test('says so to those who look after its server', async () => {
    const catalog = await original(fill)
    const { url } = await templateOf(catalog)
    const ready = async (location: string) => {
      const opened = closedAfterwards(await openCatalog(location))
      const server = await serve(opened, { auth: false, port: 0 })
      onTestFinished(() => server.close())
      const refused = await fetch(`${server.url}/v1/table/kept/drop`, { method: 'POST' })
      return [await (await fetch(`${server.url}/readyz`)).json(), refused.status]
    }
    expect(await ready(url)).toEqual([{ status: 'ready', changes: 'refused', reason: 'copy' }, 403])
    expect(await ready(catalog.url)).toEqual([{ status: 'ready' }, 200])
  })

  test('takes another content by --adopt-content only, which the error says', async () => {
    const catalog = await original(fill)
    const { url } = await templateOf(catalog)
    await expect(openCatalog(url, { content: `${catalog.content}2` })).rejects.toThrow('--adopt-content')
  })

  test('in another schema of the same database is one, too', async () => {
    const { server, database, url } = await original(fill)
    await server.query('ALTER SCHEMA tabularium RENAME TO first', database)
    await migratePostgres(`${url}?schema=first`)
    await openedAtHome(`${url}?schema=first`)
    await migratePostgres(`${url}?schema=second`)
    await server.query('INSERT INTO second.records SELECT * FROM first.records', database)
    const copy = closedAfterwards(await openCatalog(`${url}?schema=second`))
    expect(copy.isCopy).toBe(true)
    await expect(copy.dropTable({ id })).rejects.toThrow('its schema has the number')
  })

  test('on another server is one, whatever the numbers of its database and schema are', async () => {
    const { url } = await original(fill)
    await change(url, (record) => ({ ...record, home: { ...record.home, server: '7000000000000000000' } }))
    const copy = closedAfterwards(await openCatalog(url))
    await expect(copy.dropTable({ id })).rejects.toThrow('its server has the number')
  })

  test('that takes the address of the original is refused until it is told to keep the rows', async () => {
    const catalog = await original(fill)
    const { server, database, url } = catalog
    const copy = await templateOf(catalog)
    const open = await openedAtHome(url)
    const old = freshName()
    await rename(server, database, old)
    await rename(server, copy.database, database)
    const before = await filesIn(catalog.rows)
    const late = () => open.dropTable({ id })
    await expect(late()).rejects.toMatchObject({
      code: 'ServiceUnavailable',
      message: expect.stringContaining('a copy of the database answers there now'),
    })
    expect(await filesIn(catalog.rows)).toEqual(before)
    await expect(keepContent(url)).rejects.toThrow('is still there, on the same server')
    await server.query(`DROP DATABASE ${old} WITH (FORCE)`)
    expect(await keepContent(url)).toBe(true)
    expect(await keepContent(url)).toBe(false)
    // The insert after the copy was made is not there, and what was open goes on.
    expect(await open.countTableRows({ id })).toMatchObject({ count: 3 })
    await open.dropTable({ id })
    await openCatalog(url).then((again) => again.close())
  })
})

describe.skipIf(missingPostgres)('what is no copy', () => {
  test('is a database that has another name, is reached by another way, or by several servers', async () => {
    const { server, database, url }: Original = await original(fill)
    const name = freshName()
    await rename(server, database, name)
    const renamed = url.replace(database, name)
    const ways = [renamed, renamed.replace('127.0.0.1', 'localhost')]
    for (const way of ways) await openedAtHome(way)
  })

  test('is a database behind a pooler', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const catalog = await openCatalog(url, { content: pathToFileURL(await freshFolder()).href })
    await fill(catalog)
    await catalog.close()
    const pooler = await SmallPooler.start(server.port, 4)
    onTestFinished(() => pooler.close())
    await openedAtHome(url.replace(/:\d+\//, `:${pooler.port}/`))
    await openedAtHome(url)
  })

  test('is a catalog that does not know where it lives: it learns that when it is opened for writing', async () => {
    const { url } = await original(fill)
    const { home } = await recordAt(url)
    expect(home).toEqual({
      server: expect.stringMatching(/^\d+$/),
      database: expect.stringMatching(/^\d+$/),
      schema: expect.stringMatching(/^\d+$/),
    })
    await change(url, ({ home: _, ...record }) => record)
    await (await openCatalog(url, { readOnly: true })).close()
    expect((await recordAt(url)).home).toBeUndefined()
    await openedAtHome(url)
    expect((await recordAt(url)).home).toEqual(home)
  })

  test('is the database to a user who may not ask for the number of the server', async () => {
    const { server, database, url } = await original(fill)
    const role = freshName()
    await server.query(`CREATE ROLE ${role} LOGIN`)
    const revoke = 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC'
    const grants = `GRANT USAGE ON SCHEMA tabularium TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tabularium TO ${role}`
    await server.query(`${revoke}; ${grants}`, database)
    const asUser = url.replace('postgres@', `${role}@`)
    await openedAtHome(asUser)
    // What was not known is noted once somebody may know it.
    await change(url, ({ home, ...record }) => ({ ...record, home: { database: home!.database! } }))
    await openedAtHome(asUser)
    expect(Object.keys((await recordAt(url)).home!)).toEqual(['database', 'schema'])
    await openedAtHome(url)
    expect(Object.keys((await recordAt(url)).home!).sort()).toEqual(['database', 'schema', 'server'])
  })
})
