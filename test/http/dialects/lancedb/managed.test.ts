import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Table } from '@lancedb/lancedb'
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
})
