import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migratePostgres } from '../../src/stores/postgres/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { dumpingPrograms, missingPostgres, PostgresServer } from '../support/postgres.ts'
import { scriptPath } from '../support/scripts.ts'
import { limitEach } from '../support/time-limit.ts'
import { start } from './run.ts'

// Servers of PostgreSQL are dumped, stopped and restored.
limitEach(60)

/*
 * The exact commands of docs/postgres.md, on PostgreSQL servers with PostgreSQL's own programs. Stubs of npx and aws
 * run this program, and copy folders.
 */

const programs = missingPostgres === undefined ? await dumpingPrograms() : undefined
if (programs === undefined) console.warn('Restoring dumps is not tried: there is no pg_dump beside a server.')

const data = [{ x: 1 }, { x: 2 }]
const names = Array.from({ length: 12 }, (_, n) => `t${n}`)

async function commands(mark: string): Promise<string> {
  const page = await readFile('docs/postgres.md', 'utf8')
  const block = new RegExp(`<!-- ${mark} -->\\n\`\`\`sh\\n(.*?)\`\`\`\\n<!-- /${mark} -->`, 's').exec(page)
  return block![1]!
}

/** A folder for the commands of the page, with stubs of their programs. */
async function desk(): Promise<(script: string, env?: Record<string, string>) => Promise<string>> {
  const folder = await freshFolder()
  const stand = async (name: string, script: string) => {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, name), 0o755)
  }
  await stand('npx', `shift; exec '${process.execPath}' '${scriptPath('src/cli/index.ts')}' "$@"`)
  // aws s3 sync FROM TO, for URLs of folders.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell reads it.
  await stand('aws', 'from="${3#file://}"; to="${4#file://}"; mkdir -p "$to" && cp -a "$from/." "$to"')
  const path = [folder, programs!, process.env.PATH].join(delimiter)
  return async (script, env = {}) => {
    const child = spawn('sh', ['-e', '-c', script], {
      cwd: folder,
      env: { ...process.env, ...env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text))
    const [code] = await once(child, 'close')
    expect(code, said).toBe(0)
    return said
  }
}

async function started(): Promise<PostgresServer> {
  const server = await PostgresServer.start({}, programs)
  onTestFinished(() => server.stop())
  return server
}

/** A catalog with some tables, in the database `tables` of a server. */
async function region(server: PostgresServer): Promise<{ url: string; rows: string; content: string }> {
  await server.query('CREATE DATABASE tables')
  const url = server.url('tables')
  await migratePostgres(url)
  const rows = join(await freshFolder(), 'rows')
  const content = pathToFileURL(rows).href
  const catalog = await openCatalog(url, { content })
  for (const name of names) {
    await catalog.createTable({ id: [name], data })
    await catalog.insertIntoTable({ id: [name], data: [{ x: 3 }] })
  }
  await catalog.close()
  return { url, rows, content }
}

async function expectSound(url: string, tables = names.length): Promise<void> {
  const catalog = await openCatalog(url)
  expect(catalog.isCopy).toBe(false)
  expect(await catalog.verify()).toMatchObject({ ok: true, tables, problems: 0 })
  await catalog.close()
}

describe.skipIf(programs === undefined)('the commands of the page about PostgreSQL', () => {
  test('bring a lost region back on another server, and its catalog changes as before', async () => {
    const run = await desk()
    const [lost, server] = [await started(), await started()]
    const { url, rows, content } = await region(lost)
    const saving = (await commands('back up'))
      .replaceAll('postgres://app@db.example/tables', url)
      .replaceAll('s3://bucket/prefix', content)
    await run(saving)
    await lost.pause()
    await rename(rows, `${rows}-lost`)
    const ROWS = pathToFileURL(join(await freshFolder(), 'rows')).href
    const SERVER = server.url('').replace(/\/$/, '')
    const said = await run(await commands('restore'), { SERVER, ROWS })
    expect(said).toContain(`"adopted":{"content":"${ROWS}","tables":${names.length}`)
    await expectSound(`${SERVER}/tables`)
    const catalog = closedAfterwards(await openCatalog(`${SERVER}/tables`))
    expect(await catalog.countTableRows({ id: ['t0'] })).toMatchObject({ count: 3 })
    await catalog.dropTable({ id: ['t0'] })
    await catalog.vacuum({ graceMillis: 0 })
    await catalog.close()
    await rename(`${rows}-lost`, rows)
    await lost.resume()
    await expectSound(url)
  })

  test('make a second catalog beside the first, from a dump on the same server', async () => {
    const run = await desk()
    const server = await started()
    const { url } = await region(server)
    const SERVER = server.url('').replace(/\/$/, '')
    const STAGING_ROWS = pathToFileURL(join(await freshFolder(), 'rows')).href
    await run(await commands('staging'), { SERVER, STAGING_ROWS })
    await expectSound(`${SERVER}/staging`)
    const staging = closedAfterwards(await openCatalog(`${SERVER}/staging`))
    for (const name of names) await staging.dropTable({ id: [name] })
    // The lease of the original is in the dump, until it expires or the copy gets its own rows.
    await staging.vacuum({ graceMillis: 0 })
    await expectSound(url)
  })

  test('may be killed while rows are copied, and do the rest when they run again', async () => {
    const run = await desk()
    const server = await started()
    const { url, rows } = await region(server)
    const SERVER = server.url('').replace(/\/$/, '')
    await run(
      `psql -q "$SERVER/postgres" -c 'CREATE DATABASE staging'; pg_dump -Fc -f s.dump "$SERVER/tables"; pg_restore -d "$SERVER/staging" s.dump`,
      { SERVER },
    )
    const place = join(await freshFolder(), 'rows')
    const target = pathToFileURL(place).href
    const arguments_ = ['migrate', `${SERVER}/staging`, '--adopt-content', target]
    const objects = async () =>
      (await readdir(place, { recursive: true }).catch(() => [])).filter((path) => path.endsWith('.arrow'))
        .length
    for (const most of [0, 3, 9]) {
      const child = start(arguments_)
      const ended = once(child, 'close')
      await expect.poll(objects, { interval: 1 }).toBeGreaterThan(most)
      child.kill('SIGKILL')
      await ended
      await expectSound(url)
    }
    const child = start(arguments_)
    const [code] = await once(child, 'close')
    expect(code).toBe(0)
    await expectSound(`${SERVER}/staging`)
    await expectSound(url)
    expect((await readdir(rows)).sort()).toEqual(['catalog.json', 'tables'])
  })

  test('keep the rows of a standby that takes over, and of a database that moved for good', async () => {
    const run = await desk()
    const server = await started()
    const { url } = await region(server)
    // A standby has the files of its primary, byte by byte.
    await server.pause()
    const folder = await freshFolder()
    await cp(join(server.folder, 'data'), join(folder, 'data'), { recursive: true })
    await server.resume()
    const standby = await PostgresServer.over(folder, programs!)
    onTestFinished(() => standby.stop())
    await server.pause()
    const there = closedAfterwards(await openCatalog(standby.url('tables')))
    expect(there.isCopy).toBe(false)
    await there.insertIntoTable({ id: ['t1'], data })
    await there.close()
    const SERVER = standby.url('').replace(/\/$/, '')
    await run(
      `pg_dump -Fc -f m.dump "$SERVER/tables"; psql -q "$SERVER/postgres" -c 'DROP DATABASE tables' -c 'CREATE DATABASE tables'; pg_restore -d "$SERVER/tables" m.dump`,
      { SERVER },
    )
    const moved = closedAfterwards(await openCatalog(`${SERVER}/tables`))
    expect(moved.isCopy).toBe(true)
    const said = await run('npx tabularium migrate "$SERVER/tables" --keep-content', { SERVER })
    expect(said).toContain('"kept":true')
    await expectSound(`${SERVER}/tables`)
    await server.resume()
    expect(url).not.toBe(standby.url('tables'))
  })
})
