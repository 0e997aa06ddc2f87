import { type Table, tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { fromJsonSchema } from '../../../../src/engine/arrow/schema.ts'
import { type Change, type Snapshot, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { limitEach } from '../../../support/time-limit.ts'

/*
 * The differences of two versions beside an oracle: both versions are read as a whole, and their rows are compared as
 * texts. Every pair of versions of a random history is tried, in both directions.
 */

type Row = Record<string, unknown>

limitEach(60)

/** Its merges of small inserts, and fragments, are within reach of few rows. */
const engine = tableEngine({
  content: memoryContent(),
  cacheBytes: 1 << 20,
  fragmentRows: 64,
  levels: [2_000, 10_000],
})

const field = (name: string, type: string) => ({ name, type: { type }, nullable: true })
const columns = [field('k', 'int32'), field('x', 'double'), field('s', 'string')]
const table = (rows: readonly object[], fields = columns) =>
  toArrowTable(rows as Row[], { schema: { fields } })

const rowsOf = async (snapshot: Snapshot): Promise<Row[]> =>
  tableFromIPC(await engine.queryRows(snapshot)).toArray() as Row[]

const row = fc.record({
  k: fc.nat(12),
  x: fc.constantFrom(null, 0, -0, Number.NaN, 1.5, 2),
  s: fc.constantFrom(null, '', 'a', 'bc'),
})
const rows = fc.array(row, { minLength: 1, maxLength: 8 })
const predicate = fc.constantFrom('k < 4', 'x > 1', 'k = 7', 'k % 2 = 0', "s = 'a'", 'true')

type Step = (base: Snapshot, versions: readonly Snapshot[]) => Promise<Change>

const names = (base: Snapshot) => base.schema.fields.map(({ name }) => name)
const nothing = (base: Snapshot): Change => engine.replaceSchemaMetadata(base.metadata)

/** Rows of a table's present columns, as far as they have values for them. */
async function matching(base: Snapshot, given: readonly object[]): Promise<Table> {
  const fields = base.schema.fields
  const full = given.map((one) =>
    Object.fromEntries(fields.map(({ name }) => [name, (one as Row)[name] ?? null])),
  )
  return toArrowTable(full, { schema: base.schema })
}

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    arbitrary: rows.map(
      (added): Step =>
        async (base) =>
          engine.insertRows(base, await matching(base, added)),
    ),
    weight: 4,
  },
  predicate.map(
    (text): Step =>
      async (base) => {
        const needed = /[kxs]/.exec(text)?.[0]
        return needed === undefined || names(base).includes(needed) ? engine.deleteRows(text) : nothing(base)
      },
  ),
  fc.constantFrom<[string, string]>(['x', '2'], ['s', "'new'"], ['k', 'k + 1']).map(
    ([column, value]): Step =>
      async (base) =>
        names(base).includes(column)
          ? engine.updateRows(base, { updates: [[column, value]], predicate: 'k % 3 = 0' })
          : nothing(base),
  ),
  fc.uniqueArray(row, { minLength: 1, maxLength: 6, selector: ({ k }) => k }).map(
    (source): Step =>
      async (base) =>
        engine.mergeRows(base, await matching(base, source), {
          on: ['k'],
          matched: 'update',
          inserts: true,
          orphans: 'keep',
        }),
  ),
  rows.map(
    (given): Step =>
      async (base) =>
        engine.overwriteRows(base.prefix, await table(given)),
  ),
  fc.constant<Step>((base) => engine.optimizeRows(base, { minDeletedShare: 0 })),
  fc.nat(20).map(
    (which): Step =>
      async (_, versions) =>
        engine.restoreTo(versions[which % versions.length]!),
  ),
  fc.constantFrom('k * 2', 'NULL').map(
    (expression): Step =>
      async (base) => {
        if (names(base).includes('extra')) return engine.dropColumns(['extra'])
        if (expression !== 'NULL') return engine.addColumns([{ name: 'extra', expression }])
        const { fields } = fromJsonSchema({ fields: [field('extra', 'int32')] })
        return engine.addColumns([{ field: fields[0]! }])
      },
  ),
  fc.constantFrom('s', 'x').map(
    (name): Step =>
      async (base) =>
        names(base).includes(name)
          ? engine.alterColumns([{ path: name, rename: `${name}2` }])
          : nothing(base),
  ),
  fc.constantFrom('float', 'double').map(
    (type): Step =>
      async (base) => {
        const { fields } = fromJsonSchema({ fields: [field('x', type)] })
        return names(base).includes('x')
          ? engine.alterColumns([{ path: 'x', type: fields[0]!.type }])
          : nothing(base)
      },
  ),
)

/** A row as text. Columns are in order, and NaN and -0 are told apart. */
function textOf(one: Row, columns: readonly string[]): string {
  const write = (value: unknown) =>
    typeof value === 'number' && (Number.isNaN(value) || Object.is(value, -0))
      ? Object.is(value, -0)
        ? '-0'
        : 'NaN'
      : JSON.stringify(value ?? null, (_, part) => (typeof part === 'bigint' ? `${part}` : part))
  return columns.map((name) => write(one[name])).join(' ')
}

/** The texts of `from` that are not in `to`, as often as they are not. */
function missing(from: readonly string[], to: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const text of to) left.set(text, (left.get(text) ?? 0) + 1)
  return from
    .filter((text) => {
      const count = left.get(text) ?? 0
      left.set(text, count - 1)
      return count <= 0
    })
    .sort()
}

const changed = async (from: Snapshot, to: Snapshot, options = {}) =>
  tableFromIPC(await engine.queryChanges(from, to, options)).toArray() as (Row & { _change_type: string })[]

const before = (kind: string) => kind === 'delete' || kind === 'update_preimage'

test('the differences of any two versions are those of their rows, and replayed they give the later one', async () => {
  let pairs = 0
  let kinds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(rows, fc.array(steps, { minLength: 1, maxLength: 14 }), async (first, history) => {
      const versions = [await engine.create(`t${pairs}/`, await table(first))]
      for (const step of history) {
        const base = versions.at(-1)!
        versions.push((await (await step(base, versions)).apply(base)).snapshot)
      }
      const all = await Promise.all(versions.map(rowsOf))
      for (const [i, from] of versions.entries()) {
        for (const [j, to] of versions.entries()) {
          pairs++
          const columns = names(to)
          const was = all[i]!.map((one) => textOf(one, columns))
          const is = all[j]!.map((one) => textOf(one, columns))
          const found = await changed(from, to)
          const texts = (wanted: boolean) =>
            found.filter((one) => before(one._change_type) === wanted).map((one) => textOf(one, columns))
          expect(texts(true).sort()).toEqual(missing(was, is))
          expect(texts(false).sort()).toEqual(missing(is, was))
          // Rows of the earlier version come first, so that they can be applied one after the other.
          const firstAdded = found.findIndex((one) => !before(one._change_type))
          expect(found.slice(Math.max(0, firstAdded)).every((one) => !before(one._change_type))).toBe(
            firstAdded >= 0 || found.length === 0,
          )
          expect([...missing(was, texts(true)), ...texts(false)].sort()).toEqual([...is].sort())
          if (i < j && columns.includes('k') && names(from).includes('k')) {
            kinds = new Set([...kinds, ...(await checkKeys(from, to, texts))])
          }
        }
      }
    }),
    { numRuns: 12 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
  expect(pairs).toBeGreaterThan(300)
  expect([...kinds].sort()).toEqual(['delete', 'insert', 'refused', 'update_postimage', 'update_preimage'])
})

/** With a key, the same rows are told, and those with the same key are updates. */
async function checkKeys(
  from: Snapshot,
  to: Snapshot,
  texts: (wanted: boolean) => string[],
): Promise<Iterable<string>> {
  const columns = names(to)
  const plain = await changed(from, to)
  const keysOf = (wanted: boolean) =>
    plain.filter((one) => before(one._change_type) === wanted).map(({ k }) => k)
  const isUnique = [keysOf(true), keysOf(false)].every((keys) => new Set(keys).size === keys.length)
  if (!isUnique) {
    await expect(changed(from, to, { on: ['k'] })).rejects.toThrow(/have the same values in "k"/)
    return ['refused']
  }
  const found = await changed(from, to, { on: ['k'] })
  for (const wanted of [true, false]) {
    const kept = found.filter((one) => before(one._change_type) === wanted)
    expect(kept.map((one) => textOf(one, columns)).sort()).toEqual(texts(wanted).sort())
    const others = new Set(keysOf(!wanted))
    for (const { k, _change_type } of kept) expect(_change_type.startsWith('update')).toBe(others.has(k))
  }
  return found.map(({ _change_type }) => _change_type)
}

test('an optimized table has no differences, and an update that changes nothing has none', async () => {
  let version = await engine.create('o', await table([{ k: 0, x: 0.5, s: 'a' }]))
  const versions = [version]
  for (let i = 1; i < 60; i++) {
    const change = await engine.insertRows(version, await table([{ k: i, x: i / 2, s: `row ${i}` }]))
    version = (await change.apply(version)).snapshot
    versions.push(version)
  }
  const optimized = await (await engine.optimizeRows(version)).apply(version)
  expect(optimized.snapshot.fragments).toBeLessThan(version.fragments)
  expect(await changed(version, optimized.snapshot)).toEqual([])
  const same = await engine.updateRows(version, { updates: [['k', 'k']] })
  expect(await changed(optimized.snapshot, (await same.apply(version)).snapshot)).toEqual([])
  expect(await changed(versions[57]!, optimized.snapshot, { columns: ['s'] })).toEqual([
    { s: 'row 58', _change_type: 'insert' },
    { s: 'row 59', _change_type: 'insert' },
  ])
})
