import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* Folders with files of both engines: a dataset that was written into the folder of one of our own tables, or beside. */

const id = ['t']
type Format = 'arrow' | 'lance'

/** The folder of a table with three versions, in a catalog of its own. */
async function made(format: Format): Promise<{ catalog: LocalCatalog; folder: string }> {
  const catalog = closedAfterwards(await openCatalog(await freshFolder(), { managedVersioning: true }))
  await catalog.createTable({ id, data: [{ by: format, n: 1 }], properties: { format } })
  await catalog.insertIntoTable({ id, data: [{ by: format, n: 2 }] })
  await catalog.insertIntoTable({ id, data: [{ by: format, n: 3 }] })
  const { location } = await catalog.describeTable({ id })
  return { catalog, folder: fileURLToPath(location) }
}

const numbersOf = async (catalog: LocalCatalog, version?: number) =>
  (await rowsOf(catalog, id, version === undefined ? {} : { version })).map(({ by, n }) => `${by} ${n}`)

describe.each([
  ['arrow', 'lance'],
  ['lance', 'arrow'],
] as const)('a table of %s in whose folder files of %s lie', (format, other) => {
  const all = [1, 2, 3].map((n) => `${format} ${n}`)

  lanceIt('stays what it is, through changes, upkeep and a registration', async () => {
    const { catalog, folder } = await made(format)
    const { folder: from } = await made(other)
    await cp(from, folder, { recursive: true })
    expect(await numbersOf(catalog)).toEqual(all)
    expect(await numbersOf(catalog, 2)).toEqual(all.slice(0, 2))
    await catalog.insertIntoTable({ id, data: [{ by: format, n: 4 }] })
    await catalog.updateTable({ id, updates: [['n', 'n + 1']], predicate: 'n = 4' })
    await catalog.createTableTag({ id, tag: 'x', version: 2 })
    await catalog.createTableBranch({ id, name: 'side' })
    await catalog.vacuum({ graceMillis: 0 })
    expect((await catalog.verify()).ok).toBe(true)
    const after = [...all, `${format} 5`]
    expect((await numbersOf(catalog)).sort()).toEqual(after)
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(5)
    await catalog.deregisterTable({ id })
    await catalog.registerTable({ id, location: folder })
    expect((await numbersOf(catalog)).sort()).toEqual(after)
    await catalog.insertIntoTable({ id, data: [{ by: format, n: 6 }] })
    expect((await numbersOf(catalog)).sort()).toEqual([...after, `${format} 6`])
    expect(await numbersOf(catalog, 2)).toEqual(all.slice(0, 2))
    const copy = join(await freshFolder(), 'copy')
    await catalog.backup(copy)
    const copied = closedAfterwards(await openCatalog(copy))
    expect((await numbersOf(copied)).sort()).toEqual([...after, `${format} 6`])
  })
})
