import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { folderUrl } from '../../../src/catalog/locations/locations.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { tablesOf } from '../../support/inspect.ts'
import { countOf, rowsOf } from '../../support/rows.ts'

/* Random histories of tables and their clones, beside a plain model. */

const now = { graceMillis: 0 }

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
    timeout: 20_000 * runs,
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
