import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Table } from '@lancedb/lancedb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Served, served } from './support/served.ts'

/*
 * LanceDB's namespace client against a catalog that keeps the versions of its tables. Writers look for conflicts among
 * the manifests in `_versions`, so each commit must be there before anybody hears of it.
 */

let server: Served
beforeEach(async () => {
  server = await served('lmdb', { managedVersioning: true, listing: 'children' })
})
afterEach(() => server[Symbol.asyncDispose]())

const id = ['counters']
const open = async () => (await server.namespace()).openTable('counters')
const count = (table: Table, row: number) => table.update({ where: `id = ${row}`, valuesSql: { n: 'n + 1' } })

/** Ten counters, in two versions. */
async function counters(): Promise<void> {
  const rows = Array.from({ length: 10 }, (_, id) => ({ id, n: 0 }))
  const table = await (await server.namespace()).createTable('counters', rows.slice(0, 5))
  await table.add(rows.slice(5))
}

async function rowsOf(table: Table): Promise<[number, number][]> {
  const rows = await table.query().toArray()
  return rows.map(({ id, n }): [number, number] => [Number(id), Number(n)]).sort(([a], [b]) => a - b)
}

async function versionFiles(branch = ''): Promise<string[]> {
  const { location } = await server.catalog.describeTable({ id })
  const names = await readdir(join(fileURLToPath(location), branch && `tree/${branch}`, '_versions'))
  return names.filter((name) => name.includes('.manifest')).sort()
}

const nameOf = (version: number) => `${18446744073709551615n - BigInt(version)}.manifest`

describe('writers through the namespace', () => {
  it('see what others committed since they opened the table', async () => {
    await counters()
    const [stale, other] = await Promise.all([open(), open()])
    await count(other, 3)
    await count(other, 7)
    await open()
    await count(stale, 3).catch(() => count(stale, 3))
    const expected = Array.from({ length: 10 }, (_, id) => [id, id === 3 ? 2 : id === 7 ? 1 : 0])
    expect(await rowsOf(await open())).toEqual(expected)
  })

  it('find each version under its final name, and nothing else', async () => {
    await counters()
    for (let n = 0; n < 3; n++) await count(await open(), n)
    expect(await versionFiles()).toEqual([5, 4, 3, 2, 1].map(nameOf))
    const { versions } = await server.catalog.listTableVersions({ id })
    expect(versions.map(({ manifest_path }) => manifest_path.split('/').at(-1))).toEqual(
      [1, 2, 3, 4, 5].map(nameOf),
    )
  })

  it('make branches, and open those that the catalog makes', async () => {
    await counters()
    const table = await open()
    const branch = await (await table.branches()).create('dev')
    await branch.add([{ id: 10, n: 0 }])
    await count(branch, 3)
    expect(await versionFiles('dev')).toEqual([4, 3, 2].map(nameOf))
    await server.catalog.createTableBranch({ id, name: 'deep/er', from_branch: 'dev' })
    const other = await (await table.branches()).checkout('deep/er')
    await count(other, 3)
    await other.delete('id = 9')
    const rows = await rowsOf(await (await (await open()).branches()).checkout('deep/er'))
    expect([rows.length, rows[3]]).toEqual([10, [3, 2]])
    expect((await rowsOf(branch)).length).toBe(11)
    expect((await rowsOf(await open()))[3]).toEqual([3, 0])
    const { branches } = await server.catalog.listTableBranches({ id })
    expect(Object.keys(branches)).toEqual(['deep/er', 'dev'])
    expect(Object.keys(await (await table.branches()).list()).sort()).toEqual(['deep/er', 'dev'])
    await expect(server.catalog.deleteTableBranch({ id, name: 'dev' })).rejects.toMatchObject({
      code: 'InvalidTableState',
    })
    await server.catalog.deleteTableBranch({ id, name: 'deep/er' })
    await (await table.branches()).delete('dev')
    expect((await server.catalog.listTableBranches({ id })).branches).toEqual({})
    // Its versions are gone as well, so that the name is free.
    await (await (await table.branches()).create('dev')).add([{ id: 11, n: 0 }])
    expect(await versionFiles('dev')).toEqual([3, 2].map(nameOf))
  })

  it('clean up, and keep what the catalog tagged', async () => {
    await counters()
    for (let n = 0; n < 3; n++) await count(await open(), n)
    await server.catalog.createTableTag({ id, tag: 'stable', version: 2 })
    const table = await open()
    expect(await (await table.tags()).list()).toMatchObject({ stable: { version: 2 } })
    await (await table.tags()).create('mine', 3)
    expect(Object.keys((await server.catalog.listTableTags({ id })).tags)).toEqual(['mine', 'stable'])
    const cleanUp = async () =>
      (await open()).optimize({ cleanupOlderThan: new Date(Date.now() + 1_000), deleteUnverified: true })
    await expect(cleanUp()).rejects.toThrow('"stable": 2')
    await table.checkout('stable')
    expect((await rowsOf(table)).every(([, n]) => n === 0)).toBe(true)

    await server.catalog.deleteTableTag({ id, tag: 'stable' })
    await (await table.tags()).delete('mine')
    await cleanUp()
    const left = (await versionFiles()).map((name) => 18446744073709551615n - BigInt(name.slice(0, 20)))
    expect(left).not.toContain(2n)
    const { versions } = await server.catalog.listTableVersions({ id, descending: true })
    expect(versions.map(({ version }) => BigInt(version))).toEqual(left)
    expect((await rowsOf(await open())).filter(([, n]) => n === 1)).toHaveLength(3)
  })

  it('see what was written past the catalog, and go on from there', async () => {
    await counters()
    const stale = await open()
    const { location } = await server.catalog.describeTable({ id })
    const folder = fileURLToPath(location)
    // LanceDB opens folders of this name.
    await symlink(folder, join(server.folder, 'past.lance'))
    const past = await (await connect(server.folder)).openTable('past')
    await count(past, 3)
    await count(stale, 3).catch(() => count(stale, 3))
    await past.checkoutLatest()
    expect([(await rowsOf(past))[3], (await rowsOf(await open()))[3]]).toEqual([
      [3, 2],
      [3, 2],
    ])
    expect(await versionFiles()).toEqual([4, 3, 2, 1].map(nameOf))
  })
})
