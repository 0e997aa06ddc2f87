import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { storeFormat } from '../../src/stores/postgres/schema.ts'
import { freshFolder } from '../support/catalogs.ts'
import { missingPostgres, sharedServer } from '../support/postgres.ts'
import { limitEach } from '../support/time-limit.ts'
import { lines, run, start } from './run.ts'

// Commands and servers are processes of their own.
limitEach(60)

describe.skipIf(missingPostgres)('a catalog in a database', () => {
  test('is prepared, used and moved by commands', async () => {
    const url = (await sharedServer()).url('postgres', '?schema=by_commands')
    const content = pathToFileURL(await freshFolder()).href
    const early = await run(['list', url])
    expect(early).toMatchObject({ code: 1, out: '' })
    expect(early.err).toContain('tabularium migrate')
    const prepared = await run(['migrate', url])
    expect(lines(prepared)).toEqual([{ from: null, to: storeFormat }])
    expect(prepared.err).toContain('Make one with --content of migrate or serve')
    expect((await run(['migrate', url])).err).toBe('')
    const without = await run(['create-namespace', url, 'prod'])
    expect(without.err).toContain('Give --content of tabularium migrate or serve')
    expect(lines(await run(['migrate', url, '--content', content]))).toEqual([
      { from: storeFormat, to: storeFormat },
    ])
    expect((await run(['create-namespace', url, 'prod'])).code).toBe(0)
    const created = await run(['create', url, 'prod.t', '--data', '-'], {
      stdin: '{"x":1}\n{"x":2}\n',
    })
    expect(created.err).toBe('')
    expect(lines(await run(['count', url, 'prod.t']))).toEqual([{ count: 2 }])
    expect(lines(await run(['verify', url]))).toMatchObject([{ ok: true, tables: 1, problems: 0 }])
    expect((await run(['vacuum', url])).code).toBe(0)
    const folder = await freshFolder()
    const files = join(folder, 'files')
    expect((await run(['export', url, files, '--history'])).code).toBe(0)
    expect((await run(['import', files, join(folder, 'disk')])).code).toBe(0)
    expect(lines(await run(['count', join(folder, 'disk'), 'prod.t']))).toEqual([{ count: 2 }])
    const other = (await sharedServer()).url('postgres', '?schema=by_commands_2')
    await run(['migrate', other, '--content', pathToFileURL(await freshFolder()).href])
    expect((await run(['import', files, other])).err).toBe('')
    expect(lines(await run(['count', other, 'prod.t']))).toEqual([{ count: 2 }])
    const target = join(folder, 'copied')
    expect(lines(await run(['copy', url, target]))).toMatchObject([{ tables: 1, versions: 1, rows: 2 }])
    expect(lines(await run(['count', target, 'prod.t']))).toEqual([{ count: 2 }])
    expect((await run(['copy', target, other])).err).toContain('not empty')
    expect((await run(['copy', target, 'http://127.0.0.1:1'])).code).not.toBe(0)
    expect((await run(['backup', url, join(folder, 'copy')])).err).toContain('Unsupported')
  })

  test('is told whose its rows are by one option at a time, and by none where it lives', async () => {
    const url = (await sharedServer()).url('postgres', '?schema=by_options')
    const content = pathToFileURL(await freshFolder()).href
    expect((await run(['migrate', url, '--keep-content'])).err).toContain('There is no catalog')
    expect((await run(['migrate', url, '--adopt-content', content])).err).toContain('There is no catalog')
    await run(['migrate', url, '--content', content])
    expect(lines(await run(['migrate', url, '--keep-content']))).toEqual([
      { from: storeFormat, to: storeFormat, kept: false },
    ])
    const refused = await run(['migrate', url, '--adopt-content', `${content}2`])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('say so with --is-copy')
    for (const options of [
      ['--content', content, '--keep-content'],
      ['--adopt-content', content, '--keep-content'],
      ['--is-copy'],
    ]) {
      expect(await run(['migrate', url, ...options])).toMatchObject({ code: 2, out: '' })
    }
  })

  test('is not prepared where the content is refused', async () => {
    const url = (await sharedServer()).url('postgres', '?schema=by_refusals')
    const nowhere = 's3://bucket/x?region=x&endpoint=http://127.0.0.1:1'
    for (const content of ['nope', 'ftp://host/x', nowhere]) {
      for (const option of ['--content', '--adopt-content']) {
        const refused = await run(['migrate', url, option, content])
        expect(refused, `${option} ${content}`).toMatchObject({ code: 1, out: '' })
      }
    }
    expect(lines(await run(['migrate', url]))).toEqual([{ from: null, to: storeFormat }])
  })

  test('is served by several servers at once', async () => {
    const url = (await sharedServer()).url('postgres', '?schema=by_servers')
    const content = pathToFileURL(await freshFolder()).href
    await run(['migrate', url])
    const servers = await Promise.all(
      [0, 1].map(async () => {
        const child = start(['serve', url, '--content', content, '--no-auth', '--port', '0'])
        const at = await new Promise<string>((resolve) => {
          child.stdout.once('data', (text) => resolve(/http:\S+/.exec(String(text))![0]))
        })
        return { child, at }
      }),
    )
    const [one, two] = servers.map(({ at }) => at) as [string, string]
    expect((await run(['create-namespace', one, 'prod'])).code).toBe(0)
    expect((await run(['declare', two, 'prod.t'])).code).toBe(0)
    expect((await run(['drop', one, 'prod.t'])).code).toBe(0)
    expect((await run(['describe', two, 'prod.t'])).err).toContain('TableNotFound')
    for (const { child } of servers) {
      child.kill('SIGTERM')
      await new Promise((resolve) => child.once('close', resolve))
      expect(child.exitCode).toBe(0)
    }
  })
})

test('a password in a location is not told, however wrong the location is', async () => {
  const locations = [
    'postgres://me:hunter2@127.0.0.1:1/db',
    'postgres://me:hunter2@no-such-host.invalid/db',
    'postgres://me:hun/ter2@host/db',
    'postgres://me:hunter2#x@host/db',
    'postgres://me:hunter2@one,two/db',
    'postgres://me:hunter2@host:99999/db',
    'postgres://me@host/db?password=hunter2&sslmode=prefer',
    'postgres://me@host/db?pasword=hunter2',
    'postgres:/me:hunter2@host/db',
    'postgress://me:hunter2@host/db',
    'mysql://me:hunter2@host/db',
  ]
  for (const location of locations) {
    for (const name of ['list', 'migrate', 'verify', 'vacuum']) {
      const { code, out, err } = await run([name, location])
      expect(code).not.toBe(0)
      expect(out + err).not.toMatch(/hunter2|ter2/)
      expect(err).not.toBe('')
    }
    // It retries while a database may become available.
    const server = start(['serve', location, '--no-auth', '--port', '0'])
    let said = ''
    for await (const chunk of server.stderr) {
      said += chunk
      if (said.includes('\n')) break
    }
    server.kill()
    expect(said).toContain('tabularium')
    expect(said).not.toMatch(/hunter2|ter2/)
  }
})
