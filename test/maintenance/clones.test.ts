import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import type { Content } from '../../src/content/content.ts'
import { memoryContent } from '../../src/content/memory/index.ts'
import { copyCatalog, type LocalCatalog, openCatalog } from '../../src/index.ts'
import { folderUrl } from '../../src/locations/locations.ts'
import { seal } from '../../src/model/sealed-json.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { closedAfterwards, freshFolder } from '../support/catalogs.ts'
import { eachContent, moment, pathOf, pathsOf } from '../support/contents.ts'
import { tablesOf } from '../support/inspect.ts'
import { fails } from '../support/refusals.ts'
import { countOf, numbered, rowsOf } from '../support/rows.ts'

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
      await moment()
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
      await moment()
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
      await moment()
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
        await moment()
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
  const content: Content = {
    get: async (path, range) => {
      if (path.startsWith(trigger) && meanwhile) {
        const work = meanwhile
        meanwhile = undefined
        await work()
      }
      return objects.get(path, range)
    },
    put: (...given) => objects.put(...given),
    list: (...given) => objects.list(...given),
    remove: (...given) => objects.remove(...given),
  }
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
  await moment()
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
  const content: Content = {
    get: (...given) => objects.get(...given),
    put: async (path, bytes) => {
      await objects.put(path, bytes)
      const work = meanwhile
      meanwhile = undefined
      await work?.()
    },
    list: (...given) => objects.list(...given),
    remove: (...given) => objects.remove(...given),
  }
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

/** What a random history does to tables of a few names. */
type Step =
  | {
      readonly does:
        | 'create'
        | 'overwrite'
        | 'insert'
        | 'drop'
        | 'deregister'
        | 'register'
        | 'optimize'
        | 'delete'
        | 'update'
        | 'restore'
        | 'forget'
      readonly table: number
      readonly n: number
    }
  | {
      readonly does: 'clone'
      readonly table: number
      readonly source: number
      readonly n: number
      readonly deep: boolean
      readonly byLocation: boolean
    }
  | { readonly does: 'vacuum'; readonly table?: never }
  | { readonly does: 'reopen'; readonly table?: never }

const table = fc.nat(3)
const n = fc.nat(5)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      does: fc.constantFrom(
        'create',
        'overwrite',
        'insert',
        'insert',
        'drop',
        'drop',
        'deregister',
        'optimize',
      ),
      table,
      n,
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('delete', 'update'), table, n }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('restore', 'forget'), table, n }) },
  {
    weight: 12,
    arbitrary: fc.record({
      does: fc.constant('clone'),
      table,
      source: table,
      n,
      deep: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
      byLocation: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ does: fc.constant('register'), table, n }) },
  { weight: 6, arbitrary: fc.record({ does: fc.constantFrom('vacuum', 'vacuum', 'vacuum', 'reopen') }) },
) as fc.Arbitrary<Step>

interface ModelTable {
  location: string
  /** The rows of each version that is there. */
  versions: Map<number, readonly number[]>
  last: number
}

/** A history and its plain model: the numbers in each version of each table. */
class History {
  readonly tables = new Map<number, ModelTable>()
  readonly away: ModelTable[] = []
  #next = 0
  #catalog: LocalCatalog
  readonly #open: () => Promise<LocalCatalog>

  constructor(catalog: LocalCatalog, open: () => Promise<LocalCatalog>) {
    this.#catalog = catalog
    this.#open = open
  }

  get catalog(): LocalCatalog {
    return this.#catalog
  }

  async run(one: Step): Promise<void> {
    const catalog = this.#catalog
    if (one.does === 'vacuum') {
      await catalog.vacuum(now)
      return
    }
    if (one.does === 'reopen') {
      this.#catalog = await this.#open()
      return
    }
    const id = [`t${one.table}`]
    const known = this.tables.get(one.table)
    if (one.does === 'create') {
      if (known) return
      const rows = this.#fresh()
      const { location } = await catalog.createTable({ id, data: rows.map(row) })
      this.tables.set(one.table, { location, versions: new Map([[1, rows]]), last: 1 })
      return
    }
    if (one.does === 'clone') return this.#clone(one, known)
    if (one.does === 'register') {
      const found = this.away[one.n % Math.max(1, this.away.length)]
      if (known || found === undefined) return
      await catalog.registerTable({ id, location: found.location })
      this.away.splice(this.away.indexOf(found), 1)
      this.tables.set(one.table, found)
      return
    }
    if (known === undefined) return
    const rows = known.versions.get(known.last)!
    if (one.does === 'drop') {
      await catalog.dropTable({ id })
      this.tables.delete(one.table)
    } else if (one.does === 'deregister') {
      await catalog.deregisterTable({ id })
      this.tables.delete(one.table)
      this.away.push(known)
    } else if (one.does === 'forget') {
      const end = 1 + (one.n % known.last)
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 0, end_version: end }] })
      for (const version of [...known.versions.keys()]) if (version < end) known.versions.delete(version)
    } else if (one.does === 'insert' || one.does === 'overwrite') {
      const added = this.#fresh()
      const mode = one.does === 'insert' ? 'Append' : 'Overwrite'
      await catalog.insertIntoTable({ id, data: added.map(row), mode })
      this.#made(known, one.does === 'insert' ? [...rows, ...added] : added)
    } else if (one.does === 'optimize') {
      const { optimized } = await catalog.optimizeTable({ id, min_deleted_share: 0 })
      if (optimized) this.#made(known, rows)
    } else if (one.does === 'delete') {
      await catalog.deleteFromTable({ id, predicate: `n % 6 = ${one.n}` })
      this.#made(
        known,
        rows.filter((value) => value % 6 !== one.n),
      )
    } else if (one.does === 'update') {
      const changed = rows.filter((value) => value % 6 === one.n)
      await catalog.updateTable({ id, updates: [['n', 'n + 6']], predicate: `n % 6 = ${one.n}` })
      const kept = rows.filter((value) => value % 6 !== one.n)
      this.#made(known, [...kept, ...changed.map((value) => value + 6)])
    } else {
      const versions = [...known.versions.keys()]
      const version = versions[one.n % versions.length]!
      await catalog.restoreTable({ id, version })
      this.#made(known, known.versions.get(version)!)
    }
  }

  async #clone(one: Extract<Step, { does: 'clone' }>, known: ModelTable | undefined): Promise<void> {
    const from = this.tables.get(one.source)
    if (known || from === undefined) return
    const versions = [...from.versions.keys()]
    const version = versions[one.n % versions.length]!
    const { location } = await this.#catalog.cloneTable({
      id: [`t${one.table}`],
      ...(one.byLocation ? { source_location: from.location } : { source: [`t${one.source}`] }),
      source_version: version,
      is_shallow: !one.deep,
    })
    const rows = from.versions.get(version)!
    this.tables.set(one.table, { location, versions: new Map([[1, rows]]), last: 1 })
  }

  #fresh(): number[] {
    return [this.#next++, this.#next++, this.#next++]
  }

  #made(table: ModelTable, rows: readonly number[]): void {
    table.last++
    table.versions.set(table.last, rows)
  }

  /** Every version of every table has the rows that the model says. */
  async check(): Promise<void> {
    for (const [number, { versions }] of this.tables) {
      for (const [version, rows] of versions) {
        const found = await rowsOf(this.#catalog, [`t${number}`], { version })
        expect({ number, version, rows: found.map(({ n }) => n) }).toEqual({ number, version, rows })
      }
    }
  }
}

const row = (n: number) => ({ n })
const runs = Number(process.env.HISTORY_RUNS ?? 1)

describe.each([
  { kind: 'memory', numRuns: 80 },
  { kind: 'lmdb', numRuns: 10 },
])('in random histories on $kind', ({ kind, numRuns }) => {
  test('every version of every table has its rows, after each step', {
    timeout: 240_000 * runs,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const folder = kind === 'lmdb' ? await freshFolder() : 'memory:'
        const options = { cacheBytes: 0 }
        let catalog = await openCatalog(folder, options)
        const again = async () => {
          if (kind === 'memory') return catalog
          await catalog.close()
          catalog = await openCatalog(folder, options)
          return catalog
        }
        const history = new History(catalog, again)
        try {
          for (const one of steps) {
            await history.run(one)
            await history.check()
          }
          const report = await catalog.verify()
          expect(report.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
          if (kind === 'lmdb') await checkBackup(catalog, history)
          for (const [number, { location }] of history.away.entries())
            await catalog.registerTable({ id: [`away${number}`], location })
          for (const [number, { last, versions }] of history.away.entries())
            expect(await countOf(catalog, [`away${number}`])).toBe(versions.get(last)!.length)
          for (const name of await tablesOf(catalog)) await catalog.dropTable({ id: [name] })
          await catalog.vacuum(now)
          expect(await catalog.vacuum({ ...now, dryRun: true })).toMatchObject({ examined: 0 })
        } finally {
          await catalog.close()
          if (kind === 'lmdb') await rm(folder, { recursive: true, force: true })
        }
      }),
      { numRuns: numRuns * runs },
    )
  })
})

/** A backup has what the catalog has, also once the catalog and its folder are gone, and a vacuum does not harm it. */
async function checkBackup(catalog: LocalCatalog, history: History): Promise<void> {
  const copy = join(await freshFolder(), 'copy')
  await catalog.backup(copy, { links: true })
  const restored = await openCatalog(copy, { cacheBytes: 0 })
  await restored.vacuum(now)
  for (const [number, { versions, last }] of history.tables) {
    const found = await rowsOf(restored, [`t${number}`])
    expect(found.map(({ n }) => n)).toEqual(versions.get(last))
  }
  expect((await restored.verify()).problems).toBe(0)
  const there = folderUrl(copy)
  for (const [number, { location, versions, last }] of history.away.entries()) {
    const moved = there + location.slice(location.indexOf('tables/'))
    await restored.registerTable({ id: [`away${number}`], location: moved })
    const found = await rowsOf(restored, [`away${number}`])
    expect(found.map(({ n }) => n)).toEqual(versions.get(last))
  }
  for (const name of await tablesOf(restored)) await restored.dropTable({ id: [name] })
  await restored.vacuum(now)
  expect(await restored.vacuum({ ...now, dryRun: true })).toMatchObject({ examined: 0 })
  await restored.close()
  await rm(copy, { recursive: true, force: true })
}

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
    await moment()
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
