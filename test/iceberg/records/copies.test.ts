import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { icebergFormats } from '../../../src/iceberg/index.ts'
import { importTables, openCatalog } from '../../../src/tabularium/index.ts'
import { lines, run } from '../../cli/run.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { commitTo, makeTable, makeView, servedDirectory } from '../directory.ts'

/** A catalog with a table and a view inside of its directory, and a table below a further root. */
async function scene() {
  const folder = await freshFolder()
  const root = join(folder, 'warehouse')
  mkdirSync(root)
  const served = await servedDirectory(join(folder, 'catalog'), { locationRoots: [root] })
  await served.rest.post('namespaces', { namespace: ['prod'] })
  await makeTable(served.rest, 'inner', { commits: 2 })
  await makeTable(served.rest, 'outer', { commits: 3, location: `file://${root}/outer` })
  await makeView(served.rest, 'v')
  return { ...served, folder, root }
}

const entries = { inner: 'tables/inner', outer: 'tables/outer', v: 'views/v' }

/** What clients of Iceberg load. */
async function loadedFrom({ rest }: Pick<Awaited<ReturnType<typeof servedDirectory>>, 'rest'>) {
  const loaded: Record<string, unknown> = {}
  for (const [name, path] of Object.entries(entries)) {
    const { status, body } = await rest.get(`namespaces/prod/${path}`)
    loaded[name] = status === 200 ? [body['metadata-location'], body.metadata] : status
  }
  return loaded
}

test('a copy has the versions of tables of Iceberg, which stay in place, and both catalogs go on by themselves', async () => {
  const { rest, directory, folder, root } = await scene()
  const before = await loadedFrom({ rest })
  const told = await run(['copy', directory, join(folder, 'copy')])
  expect(told.code).toBe(1)
  expect(told.err).toContain(`in place: prod.outer, whose files stay at ${pathToFileURL(root).href}/outer`)
  expect(told.err).toMatch(/the rows of 2 tables, which lie outside .* keep the source/s)
  const copy = await servedDirectory(join(folder, 'copy'), {
    locationRoots: [root, join(directory, 'tables')],
  })
  expect(await loadedFrom(copy)).toEqual(before)
  expect(await copy.catalog.listTableVersions({ id: ['prod', 'outer'] })).toMatchObject({
    versions: [{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }],
  })
  const report = await copy.catalog.verify({ formats: icebergFormats })
  expect(report).toMatchObject({ ok: true, elsewhere: 0 })
  await commitTo(copy.rest, 'outer', 4)
  expect(await loadedFrom({ rest })).toEqual(before)
})

test('a copy whose tables all lie outside of the source is complete', async () => {
  const { rest, directory, folder } = await scene()
  await rest.send('DELETE', 'namespaces/prod/tables/inner?purgeRequested=true')
  await rest.send('DELETE', 'namespaces/prod/views/v')
  const told = await run(['copy', directory, join(folder, 'copy'), '--json'])
  expect(told).toMatchObject({ code: 0, err: expect.stringContaining('in place: prod.outer') })
  expect(lines(told)).toMatchObject([{ tables: 1, versions: 4 }])
  expect(await run(['export', directory, join(folder, 'files')])).toMatchObject({
    code: 0,
    err: expect.stringContaining('in place: prod.outer'),
  })
})

test('an export has the versions of tables of Iceberg, and both ways to import it', async () => {
  const { rest, directory, folder, root } = await scene()
  const before = await loadedFrom({ rest })
  const files = join(folder, 'files')
  const told = await run(['export', directory, files])
  expect(told).toMatchObject({ code: 1, err: expect.stringContaining('in place: prod.inner') })
  expect(told.err).toMatch(/All was exported but the rows of 2 tables.* keep the source/s)
  expect(told.err).not.toContain('without rows')
  const locationRoots = [root, join(directory, 'tables')]
  const whole = await servedDirectory(join(folder, 'whole'), { locationRoots })
  const report = await whole.catalog.importFrom(files)
  expect(report).toMatchObject({ tables: 3, versions: 8, withoutRows: [], inPlace: { length: 3 } })
  expect(await loadedFrom(whole)).toEqual(before)
  const latest = await servedDirectory(join(folder, 'latest'), { locationRoots })
  expect(await importTables(latest.catalog, files)).toMatchObject({ versions: 3, inPlace: { length: 3 } })
  expect(await loadedFrom(latest)).toEqual(before)
  await commitTo(latest.rest, 'outer', 4)
})

test('an export that points into the folder of another table is refused as a whole', async () => {
  const { directory, folder, root } = await scene()
  const files = join(folder, 'files')
  await run(['export', directory, files])
  const target = await servedDirectory(join(folder, 'target'), { locationRoots: [root] })
  await target.rest.post('namespaces', { namespace: ['prod'] })
  await makeTable(target.rest, 'victim')
  const id = ['prod', 'victim']
  const { versions } = await target.catalog.listTableVersions({ id })
  const { readFileSync, writeFileSync } = await import('node:fs')
  const path = join(files, 'prod', 'outer', 'table.json')
  const table = JSON.parse(readFileSync(path, 'utf8'))
  table.versions[0].manifest_path = versions[0]!.manifest_path
  writeFileSync(path, JSON.stringify(table))
  await expect(target.catalog.importFrom(files)).rejects.toThrow('lies at the location of another table')
  expect((await target.rest.get('namespaces/prod/tables')).body.identifiers).toHaveLength(1)
})

test('a backup has the files of tables within the catalog, and says where they can be used', async () => {
  const { rest, catalog, directory, folder, root, close } = await scene()
  const before = await loadedFrom({ rest })
  const copy = join(folder, 'backup')
  const place = `${pathToFileURL(directory).href}/`
  const told = await run(['backup', directory, copy])
  expect(told.code).toBe(1)
  expect(told.err).toContain('not copied: the content of prod.outer')
  expect(told.err).toContain(`bound to its place: prod.inner, whose files name each other below ${place}.`)
  await catalog
    .backup(join(folder, 'second'))
    .then(({ pinned }) =>
      expect(pinned.map(({ id }) => id.join('.')).sort()).toEqual(['prod.inner', 'prod.v']),
    )
  await close()
  rmSync(directory, { recursive: true })
  // The copied files are verified where they are, with the original gone.
  const verified = await run(['verify', copy, '--json'])
  expect({ code: verified.code, lines: lines(verified) }).toMatchObject({ code: 0, lines: [{ ok: true }] })
  const elsewhere = await run(['restore', copy, join(folder, 'elsewhere')])
  expect(elsewhere.err).toContain(
    `bound to its place: prod.inner, whose files name each other below ${place}.`,
  )
  const there = await servedDirectory(join(folder, 'elsewhere'), { locationRoots: [root] })
  const refused = await there.rest.get('namespaces/prod/tables/inner')
  expect(refused.status).toBe(400)
  expect(refused.body.error.message).toContain('is out of reach of this catalog')
  await there.close()
  const restored = await run(['restore', copy, directory])
  expect(restored).toMatchObject({ code: 0, err: '' })
  const back = await servedDirectory(directory, { locationRoots: [root] })
  expect(await loadedFrom(back)).toEqual(before)
  await commitTo(back.rest, 'inner', 3)
})

test('a damaged metadata file in a backup is found', async () => {
  const { directory, folder, catalog } = await scene()
  const copy = join(folder, 'backup')
  await catalog.backup(copy)
  const { versions } = await catalog.listTableVersions({ id: ['prod', 'inner'] })
  const file = fileURLToPath(versions[0]!.manifest_path)
  rmSync(join(copy, file.slice(directory.length)))
  const opened = closedAfterwards(await openCatalog(copy))
  const { findings } = await opened.verify({ formats: icebergFormats })
  expect(findings).toMatchObject([{ id: ['prod', 'inner'], message: expect.stringContaining('is missing') }])
})
