import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import { writeParquet } from '../../src/engine/parquet/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { lines, run } from './run.ts'

const rows = [
  { origin: 'SFO', delay: 12n, tags: ['late', null] },
  { origin: 'JFK', delay: null, tags: [] },
]

/** A folder with the Parquet file `flights.parquet`, and where a catalog may be. */
async function given() {
  const folder = await freshFolder()
  const path = join(folder, 'flights.parquet')
  await writeFile(path, writeParquet([rows]))
  return { folder, path, bytes: await readFile(path), catalog: join(folder, 'catalog') }
}

async function rowsOfFile(path: string) {
  const { buffer, byteOffset, byteLength } = await readFile(path)
  return parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer })
}

test('rows come from Parquet files and from standard input, and go to Parquet files', async () => {
  const { folder, path, bytes, catalog } = await given()
  expect(await run(['create', catalog, 't', '--data', path])).toMatchObject({ code: 0, err: '' })
  expect(await run(['insert', catalog, 't', '--data', '-'], { stdin: bytes })).toMatchObject({
    code: 0,
    err: '',
  })
  const found = join(folder, 'found.parquet')
  expect(await run(['query', catalog, 't', '-o', found])).toEqual({ code: 0, out: '', err: '' })
  expect(await rowsOfFile(found)).toEqual([...rows, ...rows])
  expect(
    lines(await run(['schema', catalog, 't', '--json'])).map((line) => (line as { type: string }).type),
  ).toEqual(['string', 'int64', 'list<item: string>'])
})

test('an export has rows as Parquet files, and is imported', async () => {
  const { folder, path, catalog } = await given()
  await run(['create', catalog, 't', '--data', path])
  const [exported, imported] = [join(folder, 'exported'), join(folder, 'imported')]
  expect(await run(['export', catalog, exported, '--format', 'parquet'])).toMatchObject({ code: 0, err: '' })
  expect(await rowsOfFile(join(exported, 't', 'rows.parquet'))).toEqual(rows)
  expect(await run(['import', exported, imported])).toMatchObject({ code: 0, err: '' })
  expect(await run(['head', imported, 't', '--json'])).toEqual(await run(['head', catalog, 't', '--json']))
  expect(await run(['export', catalog, join(folder, 'other'), '--format', 'orc'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('Allowed choices are arrow, parquet'),
  })
})

test('a damaged file leaves no table, and no rows', async () => {
  const { folder, path, bytes, catalog } = await given()
  const damaged = join(folder, 'damaged.parquet')
  // The last page of data, so what comes before it was read.
  await writeFile(damaged, bytes.with(bytes.indexOf('late') - 8, 255))
  const refused = {
    code: 2,
    err: expect.stringMatching(
      /^tabularium: --data .*damaged\.parquet: The Parquet file .* It is damaged: write it again\.\n$/,
    ),
  }
  expect(await run(['create', catalog, 't', '--data', damaged])).toMatchObject(refused)
  await run(['create', catalog, 't', '--data', path])
  expect(await run(['insert', catalog, 't', '--data', damaged])).toMatchObject(refused)
  expect(lines(await run(['count', catalog, 't']))).toEqual([{ count: 2 }])
})

test.each([
  [
    'text in a file so named',
    'x.parquet',
    'a,b\n1,2\n',
    /^tabularium: --data .*x\.parquet is not a Parquet file, which begins with PAR1: .*\n$/,
  ],
  ['the beginning alone', 'x.bin', 'PAR1, and no more', /does not end with PAR1, so it was cut off/],
])('%s is refused', async (_, name, text, message) => {
  const { folder, catalog } = await given()
  await writeFile(join(folder, name), text)
  const ran = await run(['create', catalog, 't', '--data', join(folder, name)])
  expect(ran.code).toBe(2)
  expect(ran.err).toMatch(message)
})

test('what Parquet does not have is refused, and leaves no file', async () => {
  const { folder, catalog } = await given()
  const schema = JSON.stringify({
    fields: [{ name: 'd', type: { type: 'decimal:128:5:-2' }, nullable: true }],
  })
  expect(await run(['create', catalog, 't', '--data', '[{"d":"100"}]', '--schema', schema])).toMatchObject({
    code: 0,
  })
  const path = join(folder, 'x.parquet')
  const ran = await run(['query', catalog, 't', '-o', path])
  expect(ran.err).toContain('Parquet has no decimals of 5 digits with -2 after the point, as column "d" has')
  await expect(readFile(path)).rejects.toThrow('ENOENT')
})
