import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { seal } from '../../../src/base/model/sealed-json.ts'
import { folderUrl } from '../../../src/catalog/locations/locations.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { copyCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith, eachContent, pathOf, pathsOf } from '../../support/contents.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

const source = ['source']
const id = ['clone']
const now = { graceMillis: 0 }

eachContent((open) => {
  describe('content that clones share', () => {
    it('stays when its own table is dropped, as far as a clone names it, and goes with the last clone', async () => {
      const { catalog, content } = await open()
      const { location } = await catalog.createTable({ id: source, data: numbered(5) })
      await catalog.insertIntoTable({ id: source, data: numbered(5), mode: 'Overwrite' })
      await catalog.cloneTable({ id, source })
      await catalog.cloneTable({ id: ['second'], source: id })
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 0 })
      await catalog.dropTable({ id: source })
      await catalog.dropTable({ id })
      // Both manifests of the source go, and the rows that were overwritten.
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 3 })
      expect(await pathsOf(content, pathOf(location))).toHaveLength(1)
      expect(await rowsOf(catalog, ['second'])).toEqual(numbered(5))
      expect((await catalog.verify()).ok).toBe(true)
      await catalog.dropTable({ id: ['second'] })
      await catalog.vacuum(now)
      expect(await pathsOf(content)).toEqual([])
    })

    it('stays when only a clone names it, and its own table goes on', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id: source, data: numbered(5) })
      await catalog.cloneTable({ id, source })
      await catalog.insertIntoTable({ id: source, data: numbered(2), mode: 'Overwrite' })
      await catalog.batchDeleteTableVersions({ id: source, ranges: [{ start_version: 1, end_version: 2 }] })
      // Only the manifest of the version that was deleted.
      expect(await catalog.vacuum(now)).toMatchObject({ removed: 1 })
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
      const report = await catalog.verify()
      expect(report.findings).toEqual([])
      const before = (await pathsOf(content)).length
      await catalog.optimizeTable({ id })
      await catalog.dropTable({ id })
      await catalog.vacuum(now)
      expect((await pathsOf(content)).length).toBeLessThan(before)
      expect(await rowsOf(catalog, source)).toEqual(numbered(2))
    })

    it('stays while a clone is deregistered, and when its own table was', async () => {
      const { catalog, content } = await open()
      await catalog.createTable({ id: source, data: numbered(5) })
      await catalog.cloneTable({ id, source })
      const { location } = await catalog.deregisterTable({ id })
      await catalog.insertIntoTable({ id: source, data: numbered(2), mode: 'Overwrite' })
      await catalog.batchDeleteTableVersions({ id: source, ranges: [{ start_version: 1, end_version: 2 }] })
      await catalog.vacuum(now)
      await catalog.dropTable({ id: source })
      await catalog.vacuum(now)
      expect((await catalog.verify()).ok).toBe(true)
      await catalog.registerTable({ id: ['back'], location: location! })
      expect(await rowsOf(catalog, ['back'])).toEqual(numbered(5))
      await catalog.cloneTable({ id, source: ['back'] })
      const away = await catalog.deregisterTable({ id: ['back'] })
      await catalog.vacuum(now)
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
      await catalog.dropTable({ id })
      await catalog.vacuum(now)
      await catalog.registerTable({ id: ['back'], location: away.location! })
      expect(await rowsOf(catalog, ['back'])).toEqual(numbered(5))
      await catalog.dropTable({ id: ['back'] })
      await catalog.vacuum(now)
      expect(await pathsOf(content)).toEqual([])
    })

    it('stays for clones of clones, whose rows lie in several folders, in each order of drops', async () => {
      const orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
      ]
      for (const order of orders) {
        const { catalog, content } = await open()
        const chain = ['a', 'b', 'c', 'd']
        await catalog.createTable({ id: ['a'], data: numbered(1) })
        for (const [n, name] of chain.slice(1).entries()) {
          await catalog.cloneTable({ id: [name], source: [chain[n]!] })
          await catalog.insertIntoTable({ id: [name], data: numbered(1, n + 1) })
          await catalog.deleteFromTable({ id: [name], predicate: 'n > 5' })
        }
        for (const n of order) {
          await catalog.dropTable({ id: [chain[n]!] })
          await catalog.vacuum(now)
          expect(await rowsOf(catalog, ['d'])).toEqual(numbered(4))
        }
        expect((await catalog.verify()).ok).toBe(true)
        await catalog.dropTable({ id: ['d'] })
        await catalog.vacuum(now)
        expect(await pathsOf(content)).toEqual([])
      }
    })

    it('is no leftover to those who verify', async () => {
      const { catalog } = await open({ now: () => Date.now() + 7_200_000 })
      await catalog.createTable({ id: source, data: numbered(5) })
      await catalog.cloneTable({ id, source })
      await catalog.cloneTable({ id: ['away'], source })
      await catalog.insertIntoTable({ id: source, data: numbered(2), mode: 'Overwrite' })
      await catalog.batchDeleteTableVersions({ id: source, ranges: [{ start_version: 1, end_version: 2 }] })
      const leftovers = async () => (await catalog.verify()).findings.map(({ message }) => message)
      expect(await leftovers()).toEqual([expect.stringMatching(/^1 objects of/)])
      const { location } = await catalog.deregisterTable({ id: ['away'] })
      // Nobody knows what a deregistered clone names.
      expect(await leftovers()).toEqual([])
      await catalog.dropTable({ id })
      expect(await leftovers()).toEqual([])
      await catalog.registerTable({ id, location: location! })
      await catalog.dropTable({ id })
      expect(await leftovers()).toEqual([expect.stringMatching(/^2 objects of/)])
    })

    it('keeps its place from new tables until the last clone is gone', async () => {
      const { catalog } = await open()
      const { location } = await catalog.createTable({ id: source, data: numbered(5) })
      await catalog.cloneTable({ id, source })
      await catalog.dropTable({ id: source })
      for (const take of ['registerTable', 'declareTable'] as const) {
        await fails(catalog[take]({ id: ['x'], location }), 'TableAlreadyExists', location, 'clones of it')
      }
      expect(await rowsOf(catalog, id)).toEqual(numbered(5))
      await catalog.dropTable({ id })
      await catalog.declareTable({ id: ['x'], location })
    })
  })
})

test('a vacuum keeps what a clone names that is made while tables are read', async () => {
  const store = memoryStore()
  const objects = memoryContent()
  let meanwhile: (() => Promise<unknown>) | undefined
  let trigger = ''
  const content = contentWith(objects, {
    get: async (path, range) => {
      if (path.startsWith(trigger) && meanwhile) {
        const work = meanwhile
        meanwhile = undefined
        await work()
      }
      return objects.get(path, range)
    },
  })
  // Ids follow the clocks of machines. A vacuum reads a thousand tables at a time, in the order of their ids.
  const at = (hour: number) =>
    openCatalog({ store, content, cacheBytes: 0, now: () => Date.now() + hour * 3_600_000 })
  const [early, middle, late] = [await at(0), await at(1), await at(2)]
  for (const one of [early, middle, late]) closedAfterwards(one)
  const { location } = await middle.createTable({ id: ['first'], data: numbered(1) })
  await middle.transaction(async (tx) => {
    for (let n = 1; n < 1000; n++) await tx.declareTable({ id: [`declared${n}`] })
  })
  await late.createTable({ id: source, data: numbered(5) })
  trigger = pathOf(location)
  let isDone = false
  meanwhile = async () => {
    await early.cloneTable({ id, source })
    await late.dropTable({ id: source })
    isDone = true
  }
  await late.vacuum(now)
  expect(isDone).toBe(true)
  expect(await rowsOf(late, id)).toEqual(numbered(5))
  await late.vacuum(now)
  expect(await rowsOf(late, id)).toEqual(numbered(5))
})

test.each([
  { what: 'the table was dropped', code: 'TableNotFound', drops: true },
  { what: 'the version was deleted', code: 'TableVersionNotFound', drops: false },
] as const)('a clone is refused that is made while $what', async ({ code, drops }) => {
  const objects = memoryContent()
  let meanwhile: (() => Promise<unknown>) | undefined
  const content = contentWith(objects, {
    put: async (path, bytes) => {
      await objects.put(path, bytes)
      const work = meanwhile
      meanwhile = undefined
      await work?.()
    },
  })
  const catalog = closedAfterwards(await openCatalog({ store: memoryStore(), content }))
  await catalog.createTable({ id: source, data: numbered(5) })
  await catalog.insertIntoTable({ id: source, data: numbered(1), mode: 'Overwrite' })
  meanwhile = async () => {
    if (drops) return catalog.dropTable({ id: source })
    const ranges = [{ start_version: 1, end_version: 2 }]
    return catalog.batchDeleteTableVersions({ id: source, ranges })
  }
  await fails(catalog.cloneTable({ id, source, source_version: 1 }), code)
  await fails(catalog.describeTable({ id }), 'TableNotFound')
})

test('content that somebody forged reads no files of other tables', async () => {
  const folder = await freshFolder()
  const catalog = closedAfterwards(await openCatalog(folder, { cacheBytes: 0 }))
  const { location: secret } = await catalog.createTable({ id: ['secret'], data: numbered(3) })
  await catalog.createTable({ id: source, data: numbered(5) })
  await catalog.cloneTable({ id, source })
  const { location } = await catalog.deregisterTable({ id })
  const names = (url: string) => url.slice(url.lastIndexOf('/') + 1)
  const from = names((await catalog.describeTable({ id: source })).location)
  // Who may write at the location puts the name of another table wherever that of the source stands.
  const place = fileURLToPath(location!)
  for (const file of await readdir(place, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const path = join(file.parentPath, file.name)
    const text = (await readFile(path, 'utf8')).replaceAll(from, names(secret))
    const { groups } = /"tabularium":"(?<kind>.*?)","format":(?<format>.*?),.*?"body":(?<body>.*)\}$/s.exec(
      text,
    )!
    await writeFile(path, seal(groups!.kind!, Number(groups!.format), groups!.body!))
  }
  await fails(catalog.registerTable({ id, location: location! }), 'InvalidTableState', 'another catalog')
})

describe('a catalog with clones', () => {
  const filled = async () => {
    const folder = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(folder))
    await catalog.createTable({ id: source, data: numbered(5) })
    await catalog.cloneTable({ id, source })
    await catalog.cloneTable({ id: ['away'], source })
    await catalog.deregisterTable({ id: ['away'] })
    await catalog.insertIntoTable({ id, data: numbered(1, 5) })
    await catalog.dropTable({ id: source })
    return { folder, catalog }
  }

  test('is exported, imported and copied with the rows of its clones', async () => {
    const { catalog } = await filled()
    const folder = join(await freshFolder(), 'export')
    await catalog.exportTo(folder, { history: true })
    const other = closedAfterwards(await openCatalog('memory:'))
    await other.importFrom(folder)
    expect(await rowsOf(other, id)).toEqual(numbered(6))
    expect(await rowsOf(other, id, { version: 1 })).toEqual(numbered(5))
    const copied = closedAfterwards(await openCatalog(await freshFolder()))
    await copyCatalog(catalog, copied)
    expect(await rowsOf(copied, id)).toEqual(numbered(6))
    expect((await copied.verify()).findings).toEqual([])
  })

  test('is backed up with what only a deregistered clone names', async () => {
    const catalog = closedAfterwards(await openCatalog(await freshFolder()))
    await catalog.createTable({ id: source, data: numbered(5) })
    await catalog.cloneTable({ id, source })
    const { location } = await catalog.deregisterTable({ id })
    await catalog.insertIntoTable({ id: source, data: numbered(2), mode: 'Overwrite' })
    await catalog.batchDeleteTableVersions({ id: source, ranges: [{ start_version: 1, end_version: 2 }] })
    const copy = join(await freshFolder(), 'copy')
    await catalog.backup(copy)
    const restored = closedAfterwards(await openCatalog(copy))
    const moved = folderUrl(copy) + location!.slice(location!.indexOf('tables/'))
    await restored.registerTable({ id, location: moved })
    expect(await rowsOf(restored, id)).toEqual(numbered(5))
    expect(await rowsOf(restored, source)).toEqual(numbered(2))
  })

  test('moves with its folder', async () => {
    const { folder, catalog } = await filled()
    const { location } = await catalog.describeTable({ id })
    await catalog.close()
    const moved = join(await freshFolder(), 'moved')
    await cp(folder, moved, { recursive: true })
    await rm(folder, { recursive: true })
    const again = closedAfterwards(await openCatalog(moved))
    expect((await again.describeTable({ id })).location).not.toBe(location)
    await again.vacuum(now)
    expect(await rowsOf(again, id)).toEqual(numbered(6))
  })
})

describe('content that another catalog shares', () => {
  const two = async () => {
    const shared = await freshFolder()
    const options = { locationRoots: [shared], tableRoot: shared }
    const one = closedAfterwards(await openCatalog(await freshFolder(), options))
    const other = closedAfterwards(await openCatalog(await freshFolder(), options))
    await one.createTable({ id: source, data: numbered(5) })
    await one.cloneTable({ id, source })
    return { one, other }
  }

  test('is not registered there, neither with the files nor with the clone', async () => {
    const { one, other } = await two()
    for (const table of [source, id]) {
      const { location } = await one.deregisterTable({ id: table })
      await fails(
        other.registerTable({ id: ['x'], location: location! }),
        'InvalidTableState',
        'shares files with tables of another catalog',
        'is_shallow false',
      )
      await one.registerTable({ id: table, location: location! })
    }
    expect(await rowsOf(one, id)).toEqual(numbered(5))
  })

  test('is registered there once it is copied', async () => {
    const { one, other } = await two()
    await one.cloneTable({ id: ['own'], source: id, is_shallow: false })
    const { location } = await one.deregisterTable({ id: ['own'] })
    await other.registerTable({ id: ['x'], location: location! })
    await other.dropTable({ id: ['x'] })
    expect(await rowsOf(one, id)).toEqual(numbered(5))
  })

  test('is kept outside of the own root, too', async () => {
    const { one } = await two()
    await one.dropTable({ id: source })
    await one.vacuum(now)
    expect(await rowsOf(one, id)).toEqual(numbered(5))
    expect((await one.verify()).ok).toBe(true)
    await one.dropTable({ id })
  })
})
