import { cp, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { keys } from '../../src/base/store/records.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { openCatalog, verifyCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { run } from './run.ts'

// A process copies a database and its content, which takes a while on purpose.
limitEach(60)

const node = process.execPath

/**
 * Copies the records of a schema in one snapshot, as pg_dump does, and the content a while afterwards. An unfinished file
 * gets its name while others are copied. Tools that copy folders pass over a file that has gone, and cpSync fails.
 */
const copying = `
  const { cpSync } = require('node:fs')
  const { setTimeout: sleep } = require('node:timers/promises')
  const [url, schema, content, target] = process.argv.slice(1)
  const { Client } = require('pg')
  void (async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('CREATE TABLE ' + schema + '.dump AS SELECT * FROM ' + schema + '.records')
    await client.end()
    await sleep(1_000)
    cpSync(content, target, { recursive: true, filter: (path) => !path.endsWith('.partial') })
  })()`

describe.skipIf(missingPostgres)('a backup of a database and its content', () => {
  test('is whole under a lease, while others drop and overwrite tables all the time', async () => {
    const server = await sharedServer()
    const url = await server.freshUrl()
    const schema = new URL(url).searchParams.get('schema')!
    const folder = await freshFolder()
    const rows = join(folder, 'rows')
    const saved = join(folder, 'saved')
    const catalog = await openCatalog(url, { content: pathToFileURL(rows).href })
    const data = [{ x: 1 }, { x: 2 }]
    const names = Array.from({ length: 6 }, (_, n) => `t${n}`)
    // All writers may have dropped their tables at the moment of the copy.
    for (const name of [...names, 'kept']) await catalog.createTable({ id: [name], data })
    let isOver = false
    const writer = async (name: string) => {
      for (let n = 0; !isOver; n++) {
        const id = [name]
        if (n % 2 === 0) await catalog.createTable({ id, mode: 'Overwrite', data })
        else {
          await catalog.dropTable({ id })
          await catalog.createTable({ id, data })
        }
        await catalog.vacuum({ graceMillis: 0 }).catch(() => {})
      }
    }
    const writers = Promise.all(names.map(writer))
    const command = [node, '-e', copying, server.url(), schema, rows, saved]
    const ran = await run(['backup-lease', url, '--', ...command])
    isOver = true
    await writers
    expect(ran).toEqual({ code: 0, out: '', err: '' })
    // The deferred removals have happened once the lease has ended.
    await catalog.vacuum({ graceMillis: 0 })
    expect((await catalog.verify()).findings).toEqual([])
    await catalog.close()

    const restored = await server.freshUrl()
    const target = new URL(restored).searchParams.get('schema')!
    await server.query(`INSERT INTO ${target}.records SELECT * FROM ${schema}.dump`)
    await rename(rows, join(folder, 'lost'))
    await cp(saved, rows, { recursive: true })
    const report = await verifyCatalog(restored)
    expect(report.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
    expect(report.tables).toBeGreaterThan(0)
  })

  test('leaves no lease, whatever comes of the command', async () => {
    const url = await (await sharedServer()).freshUrl()
    await (await openCatalog(url, { content: pathToFileURL(await freshFolder()).href })).close()
    const store = await openPostgresStore(url)
    const leases = () => store.read((reader) => [...reader.range({ prefix: keys.backupLeases })].length)
    const during = `process.exit(7)`
    const failed = await run(['backup-lease', url, '--', node, '-e', during])
    expect(failed).toMatchObject({ code: 1 })
    expect(failed.err).toContain('ended with exit code 7: what it copied is not complete')
    const missing = await run(['backup-lease', url, '--', 'no-such-program'])
    expect(missing).toMatchObject({ code: 1 })
    expect(missing.err).toContain('no-such-program cannot be run')
    expect((await run(['backup-lease', url])).code).toBe(2)
    expect(await leases()).toBe(0)
    await store.close()
  })
})

test('the command that copies a directory is ended with the lease', async () => {
  const directory = join(await freshFolder(), 'catalog')
  await (await openCatalog(directory)).close()
  const started = join(await freshFolder(), 'started')
  const waiting = `require('node:fs').writeFileSync(process.argv[1], ''); setInterval(() => {}, 1_000)`
  const ending = new AbortController()
  const ran = run(['backup-lease', directory, '--', node, '-e', waiting, started], { signal: ending.signal })
  await expect.poll(() => readFile(started).catch(() => undefined)).toBeDefined()
  ending.abort()
  expect(await ran).toMatchObject({ code: 130 })
})
