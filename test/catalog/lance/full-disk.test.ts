import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished } from 'vitest'
import type { CatalogError } from '../../../src/base/errors.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { fillDisk, smallDisk } from '../../contents/small-disk.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { lanceIt } from '../../support/lance-package.ts'
import { limitEach } from '../../support/time-limit.ts'
import { batchOf, filesAt, numbersFrom, numbersOf } from './arriving-support.ts'

limitEach(240)

/* Changes of tables of Lance on a disk that has room for a part of each, or for none of it. */

const id = ['t']

async function* stream(total: number) {
  for (let first = 0; first < total; first += 250_000) yield batchOf(numbersFrom(first, 250_000))
}

const changes: readonly (readonly [string, (catalog: LocalCatalog) => Promise<unknown>])[] = [
  ['insert', (catalog) => catalog.insertIntoTable({ id, data: [{ n: 7 }] })],
  ['insert many', (catalog) => catalog.insertIntoTable({ id, data: batchOf(numbersFrom(0, 500_000)) })],
  ['insert what arrives', (catalog) => catalog.insertIntoTable({ id, data: stream(1_250_000) })],
  ['update', (catalog) => catalog.updateTable({ id, updates: [['n', 'n + 1']], predicate: 'n % 2 = 0' })],
  ['delete', (catalog) => catalog.deleteFromTable({ id, predicate: 'n % 3 = 0' })],
  ['schema metadata', (catalog) => catalog.updateTableSchemaMetadata({ id, metadata: { a: 'b' } })],
  ['index', (catalog) => catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })],
  ['restore', (catalog) => catalog.restoreTable({ id, version: 1 })],
  ['create', (catalog) => catalog.createTable({ id: ['new'], data: batchOf(numbersFrom(0, 500_000)) })],
  ['create of what arrives', (catalog) => catalog.createTable({ id: ['new'], data: stream(1_250_000) })],
]

const state = async (catalog: LocalCatalog) => [
  (await catalog.listTableVersions({ id })).versions.length,
  await numbersOf(catalog, id),
  (await catalog.listTables({ id: [] })).tables,
]

describe.each([
  ['in this process', {}],
  ['in a process of its own', { isolate: true }],
])('a full disk, by Lance %s', (_, lance) => {
  lanceIt('refuses changes as a whole, and takes them once there is room', async ({ skip }) => {
    const disk = smallDisk(24 << 20)
    if ('reason' in disk) return skip(disk.reason)
    onTestFinished(disk.unmount)
    const root = pathToFileURL(disk.path).href
    const content = fileContent(disk.path)
    const catalog = closedAfterwards(
      await openCatalog({ store: memoryStore(), content, root, format: 'lance', lance }),
    )
    await catalog.createTable({ id, data: batchOf(numbersFrom(0, 100_000)) })
    const { location } = await catalog.describeTable({ id })
    let refused = 0
    let made = 0
    for (const free of [0, 12_000, 1_500_000]) {
      for (const [name, change] of changes) {
        const before = await state(catalog)
        const filler = join(disk.path, 'filler')
        await fillDisk(filler, free)
        const error = await change(catalog).then(
          () => undefined,
          (error: CatalogError) => error,
        )
        if (error === undefined) made++
        else {
          refused++
          expect([free, name, error.code, error.message]).toEqual([
            free,
            name,
            'ServiceUnavailable',
            expect.stringMatching(/the disk is full.* Free some space and try again\.$/),
          ])
          expect([free, name, await state(catalog)]).toEqual([free, name, before])
        }
        await rm(filler)
        const { version } = await catalog.insertIntoTable({ id, data: [{ n: -1 }] })
        expect((await numbersOf(catalog, id)).at(-1)).toBe(-1)
        expect((await filesAt(location)).arriving).toEqual([])
        await catalog.insertIntoTable({ id, data: batchOf(numbersFrom(0, 100_000)), mode: 'Overwrite' })
        await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: version! }] })
        await catalog.dropTable({ id: ['new'] }).catch(() => {})
      }
    }
    expect([refused, made].map((count) => count > 4)).toEqual([true, true])
  })
})
