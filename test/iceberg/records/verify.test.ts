import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { icebergFormats } from '../../../src/iceberg/index.ts'
import { lines, run } from '../../cli/run.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { makeTable, makeView, servedDirectory } from '../directory.ts'

const formats = icebergFormats

async function scene() {
  const served = await servedDirectory()
  await served.rest.post('namespaces', { namespace: ['prod'] })
  return served
}

test('a sound catalog with tables and views of Iceberg has no findings, and their files are counted', async () => {
  const { rest, catalog, directory } = await scene()
  await makeTable(rest, 't', { commits: 2 })
  await makeView(rest, 'v')
  expect(await catalog.verify({ formats })).toMatchObject({
    ok: true,
    findings: [],
    versions: 4,
    objects: 4,
    elsewhere: 0,
  })
  expect(await catalog.verify({ formats, quick: true })).toMatchObject({ ok: true, findings: [], objects: 4 })
  // Without the format, the catalog does not know what the files are.
  expect(await catalog.verify()).toMatchObject({ ok: true, elsewhere: 2 })
  expect((await run(['verify', directory])).code).toBe(0)
})

test('each kind of damage is named with the table, the version and the file', async () => {
  const { rest, catalog, directory } = await scene()
  const names = ['gone', 'cut', 'noise', 'other', 'shape']
  const files: Record<string, string> = {}
  for (const name of names) files[name] = fileURLToPath(await makeTable(rest, name))
  rmSync(files.gone!)
  writeFileSync(files.cut!, readFileSync(files.cut!).subarray(0, 40))
  const size = readFileSync(files.noise!).length
  writeFileSync(files.noise!, 'x'.repeat(size))
  writeFileSync(files.other!, readFileSync(files.shape!))
  writeFileSync(
    files.shape!,
    readFileSync(files.shape!, 'utf8').replace('"format-version":2', '"format-version":9'),
  )
  const { ok, findings, problems } = await catalog.verify({ formats })
  expect({ ok, problems }).toEqual({ ok: false, problems: 5 })
  const said = Object.fromEntries(findings.map(({ id, message }) => [id!.at(-1), message]))
  expect(said.gone).toMatch(/of version 2 is missing\. Restore/)
  expect(said.cut).toMatch(/has 40 bytes, and should have \d+/)
  expect(said.noise).toMatch(/cannot be used: Cannot parse metadata file/)
  expect(said.other).toMatch(/has the (table-uuid|format-version)|bytes, and should have/)
  expect(said.shape).toMatch(/cannot be used/)
  const quick = await catalog.verify({ formats, quick: true })
  expect(
    quick.findings.map(({ id }) => id!.at(-1)).filter((name) => name === 'gone' || name === 'cut'),
  ).toEqual(expect.arrayContaining(['gone', 'cut']))
  const told = await run(['verify', directory, '--json'])
  expect(told.code).toBe(1)
  expect(lines(told)).toContainEqual(expect.objectContaining({ id: 'prod.gone', kind: 'content' }))
})

test('a metadata file of another table is found by its UUID, whatever its size', async () => {
  const { rest, catalog } = await scene()
  const a = fileURLToPath(await makeTable(rest, 'a'))
  const other = readFileSync(fileURLToPath(await makeTable(rest, 'b')), 'utf8')
  const own = readFileSync(a, 'utf8')
  const uuid = /"table-uuid":"([^"]+)"/
  writeFileSync(
    a,
    own.replace(uuid, () => uuid.exec(other)![0]),
  )
  const { findings } = await catalog.verify({ formats })
  expect(findings).toMatchObject([
    { id: ['prod', 'a'], message: expect.stringMatching(/has the table-uuid .*, and its version has/) },
  ])
})

test('tables below further roots are verified with these roots', async () => {
  const directory = join(await freshFolder(), 'catalog')
  const root = `${directory}-warehouse`
  mkdirSync(root)
  const served = await servedDirectory(directory, { locationRoots: [root] })
  await served.rest.post('namespaces', { namespace: ['prod'] })
  const file = fileURLToPath(await makeTable(served.rest, 't', { location: `file://${root}/t` }))
  rmSync(file)
  expect((await run(['verify', directory, '--json'])).code).toBe(0)
  const told = await run(['verify', directory, '--json', '--location-root', root])
  expect({ code: told.code, out: told.out }).toMatchObject({
    code: 1,
    out: expect.stringContaining('is missing'),
  })
})

test('a table that moved is sound, and a vacuum keeps what its earlier metadata names', async () => {
  const { rest, catalog } = await scene()
  const first = await makeTable(rest, 't')
  const location = first.slice(0, first.indexOf('/metadata/'))
  const updates = [{ action: 'set-location', location: location.replace(/[^/]+$/, 'elsewhere') }]
  expect((await rest.post('namespaces/prod/tables/t', { requirements: [], updates })).status).toBe(200)
  await catalog.vacuum({ graceMillis: 0 })
  expect(await catalog.verify({ formats })).toMatchObject({ ok: true, findings: [], versions: 3 })
})
