import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  columnFromArray,
  type DataType,
  dictionary,
  int16,
  int32,
  largeUtf8,
  list,
  Type,
  tableFromColumns,
  tableToIPC,
  utf8,
} from '@uwdata/flechette'
import { expect, test } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, freshFolder } from '../../support/catalogs.ts'

const mebibyte = 1024 * 1024
const rows = Array.from({ length: 200 }, (_, i) => ({ x: i % 2, s: `value ${i}` }))
const id = ['t']

/** Changes that ask for 10 MiB or more in some bytes. */
const changes = {
  'an update by a function': (catalog) =>
    catalog.updateTable({ id, updates: [['s', "repeat('ab', 50000)"]] }),
  'an update by a value that differs': (catalog) =>
    catalog.updateTable({ id, updates: [['s', 'repeat(s, 8000)']], predicate: 'x = 1' }),
  'a new column': (catalog) =>
    catalog.alterTableAddColumns({ id, new_columns: [{ name: 'n', expression: 'repeat(s, 8000)' }] }),
  'a new column of a constant': (catalog) =>
    catalog.alterTableAddColumns({ id, new_columns: [{ name: 'n', expression: "repeat('y', 100000)" }] }),
  'a merge of one long row into many': (catalog) =>
    catalog.mergeInsertIntoTable({
      id,
      on: 'x',
      data: [{ x: 1, s: 'z'.repeat(200_000) }],
      when_matched_update_all: true,
    }),
} satisfies Record<string, (catalog: Awaited<ReturnType<typeof openCatalog>>) => Promise<unknown>>

/** Types of columns that hold texts. */
const textTypes: Readonly<Record<string, DataType>> = {
  'texts with 64-bit offsets': largeUtf8(),
  'a dictionary of texts': dictionary(utf8(), int32()),
  'a dictionary of texts with 64-bit offsets': dictionary(largeUtf8(), int16()),
  'lists of texts': list(utf8()),
  'lists with a dictionary of texts': list(dictionary(utf8(), int32())),
}

eachCatalog((open) => {
  test.each(Object.entries(changes))('%s is refused when it would write too much', async (_, change) => {
    const catalog = await open({ growthBytes: mebibyte })
    await catalog.createTable({ id, data: rows })
    await expect(change(catalog)).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringMatching(/would write more than [\d,]+ bytes of new values.*growthBytes/),
    })
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 200 })
    expect(await catalog.countTableRows({ id, predicate: "s LIKE 'value %'" })).toMatchObject({ count: 200 })
  })

  test.each(Object.entries(textTypes))('%s take as many bytes as plain texts', async (_, type) => {
    const catalog = await open({ growthBytes: mebibyte })
    const isList = type.typeId === Type.List
    const s = columnFromArray(
      rows.map(({ s }) => (isList ? [s] : s)),
      type,
    )
    const x = columnFromArray(
      rows.map(({ x }) => x),
      int32(),
    )
    await catalog.createTable({ id, data: tableToIPC(tableFromColumns({ x, s }), {})! })
    const value = isList ? 'make_array(repeat(s[1], 8000))' : 'repeat(s, 8000)'
    await expect(catalog.updateTable({ id, updates: [['s', value]] })).rejects.toThrow('growthBytes')
    await expect(
      catalog.alterTableAddColumns({ id, new_columns: [{ name: 'n', expression: value }] }),
    ).rejects.toThrow('growthBytes')
    await catalog.updateTable({ id, updates: [['s', value.replace('8000', '40')]] })
    expect(await catalog.countTableRows({ id })).toMatchObject({ count: 200 })
  })

  test('deleted rows take no room in a new column of long values', async () => {
    const catalog = await open({ growthBytes: 16 * mebibyte })
    await catalog.createTable({ id, data: Array.from({ length: 3_000 }, (_, x) => ({ x })) })
    await catalog.deleteFromTable({ id, predicate: 'x % 1000 <> 7' })
    const before = (await catalog.getTableStats({ id })).total_bytes
    await catalog.alterTableAddColumns({
      id,
      new_columns: [{ name: 'n', expression: "repeat('x', 1000000)" }],
    })
    expect(await catalog.countTableRows({ id, predicate: 'length(n) = 1000000' })).toMatchObject({ count: 3 })
    expect((await catalog.getTableStats({ id })).total_bytes - before).toBeLessThan(4 * mebibyte)
  })

  test('changes that fit are made, however many rows they are of', async () => {
    const catalog = await open({ growthBytes: mebibyte })
    await catalog.createTable({ id, data: rows })
    await catalog.updateTable({ id, updates: [['s', "upper(s) || repeat('!', 100)"]] })
    await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'n', expression: 'repeat(s, 3)' }] })
    expect(await catalog.countTableRows({ id, predicate: "n LIKE 'VALUE%!'" })).toMatchObject({ count: 200 })
  })
})

test('what is refused leaves nothing on disk', async () => {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder, { growthBytes: mebibyte }))
  await catalog.createTable({ id, data: rows })
  const before = await filesIn(folder)
  for (const change of Object.values(changes)) await expect(change(catalog)).rejects.toThrow('growthBytes')
  expect(await filesIn(folder)).toEqual(before)
})

/** The files of tables, with their sizes. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of await readdir(folder, { recursive: true })) {
    if (!path.endsWith('.arrow') && !path.includes('data')) continue
    const { size } = await stat(join(folder, path))
    found.push(`${path} ${size}`)
  }
  return found.filter((path) => !path.includes('.mdb')).sort()
}
