import { tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { fromJsonSchema } from '../../../../src/engine/arrow/schema.ts'
import { type Change, type Snapshot, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import {
  type ChangedRow,
  checkDifferences,
  checkKeyed,
  fits,
  fullRows,
  type HistoryRow,
  historyColumns,
  historyRows,
  type RowStep,
  rowSteps,
} from '../../../support/row-histories.ts'
import { limitEach } from '../../../support/time-limit.ts'

/*
 * The differences of two versions beside an oracle: both versions are read as a whole, and their rows are compared as
 * texts. Every pair of versions of a random history is tried, in both directions.
 */

type Row = HistoryRow

limitEach(60)

/** Its merges of small inserts, and fragments, are within reach of few rows. */
const engine = tableEngine({
  content: memoryContent(),
  cacheBytes: 1 << 20,
  fragmentRows: 64,
  levels: [2_000, 10_000],
})

const table = (rows: readonly object[], fields = historyColumns) =>
  toArrowTable(rows as Row[], { schema: { fields } })

const rowsOf = async (snapshot: Snapshot): Promise<Row[]> =>
  tableFromIPC(await engine.queryRows(snapshot)).toArray() as Row[]

const names = (base: Snapshot) => base.schema.fields.map(({ name }) => name)

/** What a step does to the latest of some versions. */
async function changeOf(step: RowStep, versions: readonly Snapshot[]): Promise<Change> {
  const base = versions.at(-1)!
  const matching = (rows: readonly Row[]) =>
    toArrowTable(fullRows(rows, names(base)), { schema: base.schema })
  if (!fits(step, names(base))) return engine.replaceSchemaMetadata(base.metadata)
  switch (step.kind) {
    case 'insert':
      return engine.insertRows(base, await matching(step.rows))
    case 'merge':
      return engine.mergeRows(base, await matching(step.rows), {
        on: ['k'],
        matched: 'update',
        inserts: true,
        orphans: 'keep',
      })
    case 'overwrite':
      return engine.overwriteRows(base.prefix, await table(step.rows))
    case 'delete':
      return engine.deleteRows(step.predicate)
    case 'update':
      return engine.updateRows(base, { updates: [[step.column, step.value]], predicate: 'k % 3 = 0' })
    case 'restore':
      return engine.restoreTo(versions[step.which % versions.length]!)
    case 'optimize':
      return engine.optimizeRows(base, { minDeletedShare: 0 })
    case 'extra': {
      if (names(base).includes('extra')) return engine.dropColumns(['extra'])
      if (step.expression) return engine.addColumns([{ name: 'extra', expression: step.expression }])
      return engine.addColumns([{ field: fieldOf('extra', 'int32') }])
    }
    case 'rename':
      return engine.alterColumns([{ path: step.column, rename: `${step.column}2` }])
    case 'cast':
      return engine.alterColumns([{ path: step.column, type: fieldOf(step.column, step.type).type }])
  }
}

const fieldOf = (name: string, type: string) =>
  fromJsonSchema({ fields: [{ name, type: { type }, nullable: true }] }).fields[0]!

const changed = async (from: Snapshot, to: Snapshot, options = {}) =>
  tableFromIPC(await engine.queryChanges(from, to, options)).toArray() as ChangedRow[]

test('the differences of any two versions are those of their rows, and replayed they give the later one', async () => {
  let pairs = 0
  let kinds = new Set<string>()
  const equal = (found: unknown, expected: unknown) => expect(found).toEqual(expected)
  await fc.assert(
    fc.asyncProperty(
      historyRows,
      fc.array(rowSteps, { minLength: 1, maxLength: 14 }),
      async (first, history) => {
        const versions = [await engine.create(`t${pairs}/`, await table(first))]
        for (const step of history) {
          const change = await changeOf(step, versions)
          versions.push((await change.apply(versions.at(-1)!)).snapshot)
        }
        const all = await Promise.all(versions.map(rowsOf))
        for (const [i, from] of versions.entries()) {
          for (const [j, to] of versions.entries()) {
            pairs++
            const columns = names(to)
            const found = await changed(from, to)
            checkDifferences(found, { from: all[i]!, to: all[j]! }, columns, equal)
            if (i < j && columns.includes('k') && names(from).includes('k')) {
              const keyed = () => changed(from, to, { on: ['k'] })
              kinds = new Set([...kinds, ...(await checkKeyed(found, columns, keyed, equal))])
            }
          }
        }
      },
    ),
    { numRuns: 12 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
  expect(pairs).toBeGreaterThan(300)
  expect([...kinds].sort()).toEqual(['delete', 'insert', 'refused', 'update_postimage', 'update_preimage'])
})

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
