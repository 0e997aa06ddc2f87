import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serve } from '../../src/server/index.ts'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { filesIn } from '../support/contents.ts'
import { lines, run } from './run.ts'
import { overHttpServer } from './server.ts'

async function seeded(): Promise<{ folder: string; catalog: string }> {
  const folder = await freshFolder()
  const catalog = join(folder, 'catalog')
  await using opened = await openCatalog(catalog)
  await opened.createTable({ id: ['t'], data: [{ x: 1 }, { x: 2 }] })
  await opened.declareTable({ id: ['far'], location: 's3://bucket/far' })
  return { folder, catalog }
}

test('a catalog is verified, backed up and restored', async () => {
  const { folder, catalog } = await seeded()
  const verified = await run(['verify', catalog])
  expect(verified.code).toBe(0)
  expect(lines(verified)).toMatchObject([{ ok: true, tables: 2, problems: 0 }])
  const copy = join(folder, 'copy')
  const copied = await run(['backup', catalog, copy])
  expect(lines(copied)).toMatchObject([{ tables: 2, objects: 2, elsewhere: 1 }])
  expect(copied.code).toBe(1)
  expect(copied.err).toMatch(
    /^not copied: the content of far at s3:\S+\n.*All was copied but the rows of 1 table, which lie outside of the directory\./s,
  )
  const restored = join(folder, 'restored')
  expect((await run(['restore', copy, restored])).code).toBe(0)
  expect(lines(await run(['count', restored, 't']))).toEqual([{ count: 2 }])
  const again = await run(['restore', copy, restored])
  expect(again).toMatchObject({ code: 1, out: '' })
  expect(again.err).toContain('is not empty')
  const forced = await run(['restore', copy, restored, '--force'])
  expect(existsSync((lines(forced)[0] as { replaced: string }).replaced)).toBe(true)
})

test('what is damaged is named, and the exit code says so', async () => {
  const { catalog } = await seeded()
  const [path] = (await filesIn(catalog)).filter((name) => name.endsWith('.arrow'))
  const file = join(catalog, path!)
  const bytes = readFileSync(file)
  bytes[20]! ^= 1
  writeFileSync(file, bytes)
  const { code, out, err } = await run(['verify', catalog])
  expect(code).toBe(1)
  expect(JSON.parse(out.split('\n')[0]!)).toMatchObject({
    severity: 'problem',
    kind: 'content',
    id: 't',
    where: path,
  })
  expect(err).toContain('1 problems were found')
  expect((await run(['verify', catalog, '--quick'])).code).toBe(0)
  expect((await run(['verify', catalog], { terminal: true })).out).toMatch(/ok +false/)
  expect(await run(['verify', catalog, '--quick', '--deep'])).toMatchObject({ code: 2 })
  expect(await run(['verify', join(catalog, 'none')])).toMatchObject({ code: 1 })
})

test('a catalog is exported and imported', async () => {
  const { folder, catalog } = await seeded()
  const files = join(folder, 'files')
  const exported = await run(['export', catalog, files, '--history'])
  expect(lines(exported)).toMatchObject([{ tables: 2, files: 1, rows: 2 }])
  expect(exported.code).toBe(1)
  expect(exported.err).toMatch(
    /^without rows: far\n.*All was exported but the rows of 1 table, which lie outside/s,
  )
  const other = join(folder, 'other')
  const imported = await run(['import', files, other])
  expect(lines(imported)).toMatchObject([{ tables: 2, rows: 2 }])
  expect(imported.code).toBe(1)
  expect(imported.err).toMatch(
    /^without rows: far\n.*All was imported but the rows of 1 table, of which the export has none\./s,
  )
  expect(lines(await run(['count', other, 't']))).toEqual([{ count: 2 }])
  expect(await run(['import', files, other])).toMatchObject({ code: 1 })
})

test('a copy says where the rows lie that it left out, and fails then', async () => {
  const { folder, catalog } = await seeded()
  const target = join(folder, 'target')
  const copied = await run(['copy', catalog, target])
  expect(copied.code).toBe(1)
  expect(lines(copied)).toMatchObject([{ tables: 2, rows: 2 }])
  expect(copied.err).toMatch(
    /^without rows: far, whose rows lie at s3:\S+\n.*rows of 1 table, which lie outside/s,
  )
  // The rest still exists.
  expect(lines(await run(['count', target, 't']))).toEqual([{ count: 2 }])
  await run(['deregister', catalog, 'far'])
  for (const command of ['copy', 'export', 'backup'])
    expect(await run([command, catalog, join(folder, command)])).toMatchObject({ code: 0, err: '' })
})

test('an import into a server that would leave tables without rows changes nothing', async () => {
  const folder = await freshFolder()
  const [first, files] = [join(folder, 'first'), join(folder, 'files')]
  for (const name of ['a', 'lance', 'z']) await run(['create', first, name, '--data', '[{"x":1}]'])
  await run(['export', first, files])
  const json = join(files, 'lance', 'table.json')
  const { versions, ...table } = JSON.parse(readFileSync(json, 'utf8'))
  const bare = versions.map(({ files: _, ...version }: { readonly files: unknown }) => version)
  const dataset = { location: 'file:///elsewhere' }
  writeFileSync(json, JSON.stringify({ ...table, versions: bare, dataset }))
  const url = await overHttpServer()
  const ran = await run(['import', files, url])
  expect(ran).toMatchObject({ code: 1, out: '' })
  expect(ran.err).toMatch(
    /Unsupported: .*does not take: lance\. Nothing was imported\. .*directory or database/,
  )
  expect(lines(await run(['list', url]))).toEqual([])
})

test('a command that begins a catalog says so once, and one that reads begins none', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catlog')
  for (const args of [['list'], ['describe', 't'], ['vacuum'], ['export', join(folder, 'files')], ['open']]) {
    const [command, ...rest] = args as [string, ...string[]]
    expect(await run([command, location, ...rest])).toMatchObject({ code: 1 })
    expect(existsSync(location)).toBe(false)
  }
  const note = `note: a new catalog was created in ${location}\n`
  const create = ['create', location, 't', '--data', '[{"x":1}]']
  expect((await run([...create, '--mode', 'ExistOk'], { terminal: true })).err).toContain(note)
  expect((await run([...create, '--mode', 'ExistOk'], { terminal: true })).err).not.toContain('note:')
  const files = join(folder, 'files')
  await run(['export', location, files])
  const imported = await run(['import', files, join(folder, 'other')], { terminal: true })
  expect(imported.err).toContain(`note: a new catalog was created in ${join(folder, 'other')}\n`)
  for (const expected of [`note: a new catalog was created in ${join(folder, 'served')}\n`, '']) {
    const stop = new AbortController()
    const served = run(['serve', join(folder, 'served'), '--no-auth', '--port', '0'], {
      signal: stop.signal,
      onOutput: () => stop.abort(),
    })
    expect(await served).toMatchObject({ code: 0, err: expected })
  }
})

test('a drop on a directory says on a terminal that nothing is held, and by a URL it holds', async () => {
  const location = join(await freshFolder(), 'catalog')
  const said = /^note: what was dropped is gone for good: .*drop by its URL\n$/
  const drop = (words: readonly string[], terminal = true) => run(words, { terminal })
  for (const name of ['a', 'b', 'c', 'd', 'n.a', 'n.b']) {
    if (name === 'n.a') await run(['create-namespace', location, 'n'])
    await run(['create', location, name, '--data', '{"x":1}'])
  }
  expect(await drop(['drop', location, 'a'])).toMatchObject({ code: 0, err: expect.stringMatching(said) })
  expect(await drop(['drop-namespace', location, 'n', '--behavior', 'cascade'])).toMatchObject({
    code: 0,
    err: expect.stringMatching(said),
  })
  expect((await drop(['drop', location, 'b', '--purge'])).err).toBe('')
  expect((await drop(['drop', location, 'c'], false)).err).toBe('')
  expect((await drop(['drop', location, 'none'])).err).not.toMatch(/note:/)
  await using catalog = await openCatalog(location, { retainDropped: 60_000 })
  expect((await catalog.listDroppedTables({ id: [] })).dropped).toEqual([])
  await using server = await serve(catalog, { auth: false, port: 0 })
  expect(await drop(['drop', server.url, 'd'])).toMatchObject({ code: 0, err: '' })
  expect((await catalog.listDroppedTables({ id: [] })).dropped.length).toBe(1)
})

test('a dropped table that is misspelt, and an export in place of a backup, are told', async () => {
  const folder = await freshFolder()
  const location = join(folder, 'catalog')
  await using catalog = await openCatalog(location, { retainDropped: 60_000 })
  await catalog.createTable({ id: ['flights'], data: [{ x: 1 }] })
  await catalog.dropTable({ id: ['flights'] })
  const { code, err } = await run(['undrop', location, 'flihgts'])
  expect(code).toBe(1)
  expect(err).toContain('Did you mean flights?')
  expect((await run(['undrop', location, 'flights'])).code).toBe(0)
  const files = join(folder, 'files')
  await run(['export', location, files])
  const restored = await run(['restore', files, join(folder, 'new')])
  expect(restored.code).toBe(2)
  expect(restored.err).toContain(`tabularium import ${files} ${join(folder, 'new')} imports it`)
  expect(existsSync(join(folder, 'new'))).toBe(false)
  for (const [grace, code] of [
    ['30s', 0],
    ['5m', 0],
    ['0s', 0],
    ['30', 2],
    ['soon', 2],
  ] as const)
    expect((await run(['vacuum', location, '--grace', grace])).code).toBe(code)
})
