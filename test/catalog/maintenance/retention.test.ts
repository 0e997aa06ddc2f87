import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import { retentionProperties } from '../../../src/catalog/lookup/retention-rule.ts'
import type { CatalogOptions, LocalCatalog } from '../../../src/tabularium/index.ts'
import { coreOf } from '../../../src/tabularium/local-handle.ts'
import { eachCatalog, eachLocalCatalog, stoppedClock } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

const { versions, age } = retentionProperties
const second = 1_000
const hour = 3_600_000
const factor = Number(process.env.HISTORY_RUNS ?? 1)

type Rule = NonNullable<CatalogOptions['retention']>

/** A version of the model: its number, its rows, and when it was made. */
interface Version {
  readonly version: number
  readonly rows: number
  readonly at: number
}

/** A branch of the model, `''` for the main one. */
interface Branch {
  versions: Version[]
  readonly begin?: { readonly branch: string; readonly version: number }
  /** What retention removed. */
  readonly gone: Set<number>
}

interface Table {
  readonly rule: Rule | undefined
  readonly branches: Map<string, Branch>
  readonly tags: Map<string, { readonly branch: string; readonly version: number }>
  isPinned: boolean
}

/** The oracle: which versions a rule lets go, said as simply as can be. */
function mayGo(table: Table, now: number, grace: number): Map<string, number[]> {
  const going = new Map<string, number[]>()
  const { rule } = table
  for (const [name, { versions, begin }] of table.branches) {
    const kept = new Set<number>([versions.at(-1)!.version])
    if (begin) kept.add(begin.version)
    for (const other of table.branches.values())
      if (other.begin?.branch === name) kept.add(other.begin.version)
    for (const tag of table.tags.values()) if (tag.branch === name) kept.add(tag.version)
    if (rule?.versions !== undefined)
      for (const { version } of versions.slice(-rule.versions)) kept.add(version)
    const age = Math.max(grace, rule?.age ?? 0)
    versions.forEach(({ version }, i) => {
      const next = versions[i + 1]
      if (next && next.at + age > now) kept.add(version)
    })
    const gone = versions.map(({ version }) => version).filter((version) => !kept.has(version))
    going.set(name, rule === undefined || table.isPinned ? [] : gone)
  }
  return going
}

const rules: fc.Arbitrary<Rule | undefined> = fc.oneof(
  fc.record({ versions: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ age: fc.integer({ min: 0, max: 30 }).map((n) => n * second) }),
  fc.record({
    versions: fc.integer({ min: 1, max: 4 }),
    age: fc.integer({ min: 0, max: 20 }).map((n) => n * second),
  }),
  fc.constant(undefined),
)

const pick = fc.nat({ max: 1_000 })
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('insert' as const), pick, by: pick }) },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constantFrom('clock' as const, 'vacuum' as const), pick, by: pick }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('open' as const), pick, by: pick }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          'tag',
          'untag',
          'branch',
          'unbranch',
          'clone',
          'restore',
          'delete',
        ) as fc.Arbitrary<'tag' | 'untag' | 'branch' | 'unbranch' | 'clone' | 'restore' | 'delete'>,
        pick,
        by: pick,
      }),
    },
  ),
  { minLength: 15, maxLength: 50 },
)

const at = <T>(items: readonly T[], n: number): T => items[n % items.length]!

/** What a catalog has of a table: the rows of each version, by branch and number. */
async function seen(catalog: LocalCatalog, id: readonly string[], branches: Iterable<string>) {
  const found = new Map<string, number[][]>()
  for (const branch of branches) {
    const versions: number[][] = []
    for await (const { version } of catalog.versions({ id, branch })) {
      // A predicate that is computed reads the rows.
      const { count } = await catalog.countTableRows({ id, branch, version, predicate: 'x >= 0' })
      versions.push([version, count])
    }
    found.set(
      branch,
      versions.sort(([a], [b]) => a! - b!),
    )
  }
  return found
}

const ownRule = ({ versions, age }: Rule) => ({
  ...(versions !== undefined && { 'tabularium.retention.versions': `${versions}` }),
  ...(age !== undefined && { 'tabularium.retention.age': `${age}ms` }),
})

describe('retention', () => {
  eachLocalCatalog((open) => {
    it('removes what the oracle lets go, and nothing else, through random histories', async () => {
      const runs = (open.kind === 'memory' ? 15 : 3) * factor
      await fc.assert(
        fc.asyncProperty(rules, rules, steps, async (ofCatalog, ofTable, steps) => {
          const clock = stoppedClock()
          await using catalog = await open({ now: clock, ...(ofCatalog && { retention: ofCatalog }) })
          const tables = new Map<string, Table>()
          const make = (name: string, rule: Rule | undefined, rows: number) =>
            tables.set(name, {
              rule,
              branches: new Map([
                ['', { versions: [{ version: 1, rows, at: clock() }], gone: new Set<number>() }],
              ]),
              tags: new Map(),
              isPinned: false,
            })
          await catalog.createTable({ id: ['t'], data: [{ x: 0 }] })
          make('t', ofCatalog, 1)
          await catalog.createTable({
            id: ['u'],
            data: [{ x: 0 }],
            properties: ofTable ? ownRule(ofTable) : {},
          })
          make('u', ofTable ?? ofCatalog, 1)
          let tx:
            | {
                readonly id: string
                readonly until: number
                readonly table: Table
                read: () => Promise<void>
              }
            | undefined
          let made = 0
          for (const { kind, pick, by } of steps) {
            const name = at([...tables.keys()], pick)
            const table = tables.get(name)!
            const id = [name]
            const branch = at([...table.branches.keys()], by)
            const { versions, gone } = table.branches.get(branch)!
            const one = at(versions, pick)
            const push = (rows: number) => {
              const time = Math.max(versions.at(-1)!.at, clock())
              versions.push({ version: versions.at(-1)!.version + 1, rows, at: time })
            }
            const endTransaction = async () => {
              if (!tx) return
              await tx.read()
              await catalog.commitTransaction({ id: [tx.id] })
              tx.table.isPinned = false
              tx = undefined
            }
            made++
            if (kind === 'insert') {
              await catalog.insertIntoTable({ id, branch, data: [{ x: made }] })
              push(versions.at(-1)!.rows + 1)
            } else if (kind === 'clock') {
              // Back, too.
              const millis = (by % 5 === 0 ? -1 : 1) * (pick % 15) * second
              if (tx && clock() + millis > tx.until) await endTransaction()
              clock.move(millis)
            } else if (kind === 'vacuum') {
              const grace = (by % 3) * 4 * second
              const dry = await catalog.vacuum({ graceMillis: grace, dryRun: true })
              const report = await catalog.vacuum({ graceMillis: grace })
              let count = 0
              for (const one of tables.values()) {
                for (const [branch, going] of mayGo(one, clock(), grace)) {
                  const of = one.branches.get(branch)!
                  count += going.length
                  of.versions = of.versions.filter(({ version }) => !going.includes(version))
                  for (const version of going) of.gone.add(version)
                }
              }
              expect([dry.versions ?? 0, report.versions ?? 0]).toEqual([count, count])
            } else if (kind === 'tag') {
              await catalog.createTableTag({ id, tag: `t${made}`, branch, version: one.version })
              table.tags.set(`t${made}`, { branch, version: one.version })
            } else if (kind === 'untag' && table.tags.size > 0) {
              const tag = at([...table.tags.keys()], pick)
              await catalog.deleteTableTag({ id, tag })
              table.tags.delete(tag)
            } else if (kind === 'branch' && table.branches.size < 4) {
              await catalog.createTableBranch({
                id,
                name: `b${made}`,
                from_branch: branch,
                from_version: one.version,
              })
              const begin = { branch, version: one.version }
              table.branches.set(`b${made}`, { versions: [one], begin, gone: new Set() })
            } else if (kind === 'unbranch' && branch !== '') {
              const isNeeded =
                [...table.tags.values()].some((tag) => tag.branch === branch) ||
                [...table.branches.values()].some(({ begin }) => begin?.branch === branch)
              if (isNeeded || (tx && tx.table === table)) continue
              await catalog.deleteTableBranch({ id, name: branch })
              table.branches.delete(branch)
            } else if (kind === 'clone' && tables.size < 4) {
              await catalog.cloneTable({
                id: [`c${made}`],
                source: id,
                source_branch: branch,
                source_version: one.version,
                is_shallow: by % 2 === 0,
              })
              make(`c${made}`, table.rule, one.rows)
            } else if (kind === 'restore') {
              await catalog.restoreTable({ id, branch, version: one.version })
              push(one.rows)
            } else if (kind === 'delete' && versions.length > 2) {
              const version = versions[1]!.version
              const isKept = [...table.tags.values()].some(
                (tag) => tag.branch === branch && tag.version === version,
              )
              if (isKept || (tx && tx.table === table)) continue
              await catalog.batchDeleteTableVersions({
                id,
                branch,
                ranges: [{ start_version: version, end_version: version + 1 }],
              })
              table.branches.get(branch)!.versions = versions.filter((one) => one.version !== version)
            } else if (kind === 'open') {
              if (tx) {
                await endTransaction()
                continue
              }
              const begun = await catalog.beginTransaction({
                idle_timeout_seconds: 3_600,
                isolation: 'ReadCommitted',
              })
              const transaction = begun.transaction_id!
              const read = async () => {
                const asked = { id, branch, version: one.version, predicate: 'x >= 0' }
                expect((await catalog.countTableRows(asked, { transaction })).count).toBe(one.rows)
              }
              await read()
              table.isPinned = true
              tx = { id: transaction, until: clock() + 50 * second, table, read }
            }
            for (const version of gone)
              if (pick % 7 === 0)
                await fails(
                  catalog.countTableRows({ id, branch, version }),
                  'TableVersionNotFound',
                  'Retention removed version',
                )
          }
          for (const [name, { branches }] of tables) {
            const expected = new Map(
              Array.from(branches, ([branch, { versions }]) => [
                branch,
                versions.map(({ version, rows }) => [version, rows]),
              ]),
            )
            expect(await seen(catalog, [name], branches.keys())).toEqual(expected)
          }
          const verified = await catalog.verify()
          expect(verified.findings.filter(({ severity }) => severity === 'problem')).toEqual([])
        }),
        { numRuns: runs },
      )
    })

    it('a reader of a version goes on for the grace period after its removal', async () => {
      const clock = stoppedClock(Date.now())
      const catalog = await open({ now: clock, retention: { versions: 1 } })
      const id = ['t']
      const data = Array.from({ length: 3_000 }, (_, x) => ({ x }))
      await catalog.createTable({ id, data })
      await catalog.updateTable({ id, updates: [['x', 'x + 1']] })
      const folder = await contentOf(catalog)
      const before = await folder()
      clock.move(2 * hour)
      // It ends the record of version 1, and its files stay.
      expect(await catalog.vacuum()).toMatchObject({ versions: 1, removed: 0 })
      await fails(catalog.countTableRows({ id, version: 1 }), 'TableVersionNotFound', 'Retention removed')
      expect(await folder()).toBe(before)
      clock.move(hour)
      expect((await catalog.vacuum()).removed).toBeGreaterThan(0)
      expect(await folder()).toBeLessThan(before)
      // The files are gone, and later vacuums know that.
      expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 0, removed: 0 })
      expect((await catalog.verify()).findings).toEqual([])
    })

    it('a version stays for the grace period after it was the latest, so pages of rows are of one version', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock, retention: { versions: 1 } })
      const id = ['t']
      await catalog.createTable({ id, data: Array.from({ length: 3_000 }, (_, x) => ({ x })) })
      let sum = 0
      let isFirst = true
      for await (const { x } of catalog.rows({ id })) {
        if (isFirst) {
          isFirst = false
          await catalog.updateTable({ id, updates: [['x', 'x + 1']] })
          clock.move(hour / 2)
          expect(await catalog.vacuum()).toMatchObject({ versions: 0 })
        }
        sum += Number(x)
      }
      expect(sum).toBe((3_000 * 2_999) / 2)
    })

    it('the upkeep removes versions after changes of any table, and clears what it noted', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock, retention: { versions: 2 }, transactionCount: 20 })
      const id = ['t']
      await catalog.createTable({ id, data: [{ x: 0 }] })
      for (let x = 1; x < 9; x++) await catalog.insertIntoTable({ id, data: [{ x }] })
      const numbers = async () =>
        (await catalog.listTableVersions({ id })).versions.map(({ version }) => version)
      expect(await numbers()).toHaveLength(9)
      clock.move(hour)
      await catalog.createNamespace({ id: ['n'] })
      await expect.poll(async () => (await numbers()).sort()).toEqual([8, 9])
      const { transactions } = await catalog.listTransactions({})
      expect(transactions.map(({ operation }) => operation)).toContain('BatchDeleteTableVersions')
      const { store } = coreOf(catalog)
      const leaving = () => store.read((reader) => [...reader.range({ prefix: keys.allLeaving })].length)
      expect(await leaving()).toBe(7)
      clock.move(hour)
      await catalog.createNamespace({ id: ['o'] })
      await expect.poll(leaving).toBe(0)
      await fails(
        catalog.countTableRows({ id, version: 3 }),
        'TableVersionNotFound',
        'Retention removed version 3 of the table t at 2026-01-01T01:00:00.000Z; its latest is 9',
      )
      await catalog.dropTable({ id })
      const all = await store.read((reader) => Array.from(reader.range({}), ({ key }) => String(key[0])))
      expect(all.filter((kind) => ['r', 'u', 'q', 'y'].includes(kind))).toEqual([])
    })

    it('a transaction keeps the versions of tables of which it named one, until it ends', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock, retention: { versions: 1 } })
      for (const name of ['t', 'u']) {
        await catalog.createTable({ id: [name], data: [{ x: 1 }] })
        for (let n = 0; n < 3; n++) await catalog.insertIntoTable({ id: [name], data: [{ x: 1 }] })
      }
      clock.move(1)
      await catalog.transaction(async (tx) => {
        expect((await tx.countTableRows({ id: ['t'], version: 2 })).count).toBe(2)
        expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 3 })
        expect((await tx.countTableRows({ id: ['t'], version: 1 })).count).toBe(1)
        await tx.createTableTag({ id: ['t'], tag: 'kept', version: 2 })
        await fails(
          tx.countTableRows({ id: ['u'], version: 1 }),
          'TableVersionNotFound',
          'Retention removed version 1',
        )
      })
      expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 2 })
      expect((await catalog.countTableRows({ id: ['t'], tag: 'kept' })).count).toBe(2)
      // One that read the latest version, and no other, loses nothing, either.
      await catalog.insertIntoTable({ id: ['t'], data: [{ x: 1 }] })
      clock.move(1)
      await catalog.transaction(async (tx) => {
        const { count } = await tx.countTableRows({ id: ['t'] })
        expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 1 })
        await tx.insertIntoTable({ id: ['u'], data: [{ x: count }] })
      })
    })

    it('reading by time says that retention took the version of then', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock, retention: { versions: 1 } })
      const id = ['t']
      const times: string[] = []
      await catalog.createTable({ id, data: [{ x: 0 }] })
      for (let x = 1; x < 6; x++) {
        times.push(new Date(clock()).toISOString())
        clock.move(hour)
        await catalog.insertIntoTable({ id, data: [{ x }] })
      }
      await catalog.createTableTag({ id, tag: 'kept', version: 2 })
      clock.move(1)
      await catalog.vacuum({ graceMillis: 0 })
      for (const n of [0, 1, 2, 3])
        await fails(
          catalog.countTableRows({ id, at: times[n] }),
          'TableVersionNotFound',
          `Retention removed versions through ${n === 0 ? 1 : 5} at 2026-01-01T05:00:00.001Z`,
        )
    })

    it('a rule that a table gets or loses later holds from then on, without a rule of the catalog', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock })
      const id = ['t']
      await catalog.createTable({ id, data: [{ x: 0 }] })
      for (let x = 1; x < 6; x++) await catalog.insertIntoTable({ id, data: [{ x }] })
      clock.move(hour)
      expect((await catalog.vacuum()).versions).toBeUndefined()
      await catalog.updateTableProperties({ id, updates: { [versions]: '4' } })
      expect((await catalog.vacuum()).versions).toBe(2)
      await catalog.updateTableProperties({ id, removals: [versions] })
      await catalog.insertIntoTable({ id, data: [{ x: 6 }] })
      clock.move(hour)
      expect((await catalog.vacuum()).versions).toBeUndefined()
      await catalog.updateTableProperties({ id, updates: { [age]: '90m' } })
      // Version 5 was replaced two hours ago, and version 6 one hour ago.
      expect((await catalog.vacuum()).versions).toBe(3)
      expect((await catalog.listTableVersions({ id })).versions.map(({ version }) => version)).toEqual([6, 7])
    })

    it('leaves tables alone whose versions other engines made, and those that are dropped and held', async () => {
      const clock = stoppedClock()
      const catalog = await open({ now: clock, retention: { versions: 1 }, retainDropped: 10 * hour })
      const { location } = await catalog.declareTable({ id: ['lance'] })
      for (let version = 1; version < 4; version++)
        await catalog.createTableVersion({
          id: ['lance'],
          version,
          manifest_path: `${location}/_versions/${version}.manifest`,
        })
      await catalog.createTable({ id: ['held'], data: [{ x: 1 }] })
      for (let n = 0; n < 3; n++) await catalog.insertIntoTable({ id: ['held'], data: [{ x: 1 }] })
      await catalog.dropTable({ id: ['held'] })
      clock.move(hour)
      expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 0 })
      await catalog.undropTable({ id: ['held'] })
      expect((await catalog.listTableVersions({ id: ['held'] })).versions).toHaveLength(4)
      expect(await catalog.vacuum({ graceMillis: 0 })).toMatchObject({ versions: 3 })
    })

    it.each([
      [{ versions: 0 }, 'retention.versions'],
      [{ versions: 1.5 }, 'retention.versions'],
      [{ age: -1 }, 'retention.age'],
      [{ age: Number.NaN }, 'retention.age'],
      [{ age: '30d' }, 'retention.age'],
      [{ count: 3 }, 'no member'],
      ['30d', 'retention must be'],
    ])('a rule of %j is refused', async (retention, part) => {
      await fails(open({ retention: retention as Rule }), 'InvalidInput', part)
    })
  })

  eachCatalog((open) => {
    it('a table tells the rule in force, its own or that of the catalog', async () => {
      const catalog = await open({ retention: { versions: 10, age: hour } })
      await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
      expect(await catalog.describeTable({ id: ['t'] })).toMatchObject({
        retention: { versions: 10, age: hour },
      })
      const properties = { [versions]: '3' }
      await catalog.createTable({ id: ['u'], data: [{ x: 1 }], properties })
      expect((await catalog.describeTable({ id: ['u'] })).retention).toEqual({ versions: 3 })
      await catalog.declareTable({ id: ['v'], properties: { [versions]: 'all' } })
      expect((await catalog.describeTable({ id: ['v'] })).retention).toBeUndefined()
      await catalog.cloneTable({ id: ['w'], source: ['u'] })
      expect((await catalog.describeTable({ id: ['w'] })).retention).toEqual({ versions: 3 })
      await catalog.updateTableProperties({ id: ['w'], updates: { [age]: '2h' }, removals: [versions] })
      expect((await catalog.describeTable({ id: ['w'] })).retention).toEqual({ age: 2 * hour })
      await catalog.updateTableProperties({ id: ['w'], removals: [age] })
      expect((await catalog.describeTable({ id: ['w'] })).retention).toEqual({ versions: 10, age: hour })
    })

    it.each<Record<string, string>>([
      { [versions]: '0' },
      { [versions]: '-1' },
      { [versions]: 'some' },
      { [age]: '30' },
      { [age]: 'P30D' },
      { [age]: '99999d' },
    ])('properties with the rule %j are refused', async (properties) => {
      const catalog = await open()
      const part = Object.keys(properties)[0]!
      const id = ['t']
      await fails(catalog.createTable({ id, data: [{ x: 1 }], properties }), 'InvalidInput', part)
      await fails(catalog.declareTable({ id, properties }), 'InvalidInput', part)
      await fails(catalog.registerTable({ id, location: 'file:///x', properties }), 'InvalidInput', part)
      await catalog.createTable({ id, data: [{ x: 1 }] })
      await fails(catalog.updateTableProperties({ id, updates: properties }), 'InvalidInput', part)
      await fails(catalog.cloneTable({ id: ['u'], source: id, properties }), 'InvalidInput', part)
    })
  })
})

/** The number of objects that a catalog has of its tables. */
async function contentOf(catalog: LocalCatalog): Promise<() => Promise<number>> {
  const { content } = coreOf(catalog).contentRoots[0]!
  return async () => {
    let count = 0
    for await (const _ of content.list('tables/')) count++
    return count
  }
}
