import { type DataType, type Field, field, float64, int32, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeArrow, joinParts } from '../../../src/engine/arrow/ipc/encode.ts'
import { toArrowTable } from '../../../src/engine/table/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { openLance } from '../../support/lance.ts'
import { rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

// A client of LanceDB does each change, too.
limitEach(60)

/*
 * Random changes of random rows, here and in LanceDB: afterwards both have the same rows, or both have refused.
 */

const of = (name: string, type: DataType): Field =>
  field(name, type, true, null as unknown as Map<string, string>)
const columns = [of('k', int32()), of('v', utf8()), of('f', float64())]

type Row = Readonly<Record<string, unknown>>

const row = fc.record({
  k: fc.oneof(fc.nat(5), fc.constant(null)),
  v: fc.constantFrom('a', 'b', 'c', '', null),
  f: fc.constantFrom(0, -0, 1, 2.5, Number.NaN, null),
})
const rows = fc.array(row, { minLength: 1, maxLength: 8 })

async function arrow(fields: readonly Field[], given: readonly Row[]) {
  const table = await toArrowTable(given, { schema: fields })
  const parts = table.children.map(({ data }) => data as never)
  return joinParts(encodeArrow(table.schema, parts, 'stream'))
}

/** The rows as texts, in an order of their own: the reference joins rows in any order. */
function sorted(found: readonly Row[]): string[] {
  const show = (value: unknown) => (Object.is(value, -0) ? '-0' : String(value))
  return found.map((one) => `${show(one.k)} ${show(one.v)} ${show(one.f)}`).sort()
}

const expectations = (theirs: unknown, ours: unknown) => {
  const told = `reference: ${theirs}\nours: ${ours}`
  expect([theirs instanceof Error, ours instanceof Error], told).toEqual([
    theirs instanceof Error,
    theirs instanceof Error,
  ])
  if (!(theirs instanceof Error)) expect(ours).toEqual(theirs)
}

const caught = (error: unknown) => error as Error

const on = fc.constantFrom(['k'], ['v'], ['f'], ['k', 'v'], ['v', 'f'])
const merges = fc
  .record({
    on,
    updates: fc.boolean(),
    inserts: fc.boolean(),
    orphans: fc.boolean(),
    condition: fc.constantFrom(undefined, 'source.f > target.f', "target.v = 'a' OR source.k IS NULL"),
    orphanIf: fc.constantFrom(undefined, 'k > 2', 'v IS NULL OR f < 1'),
    only: fc.constantFrom<string[] | undefined>(undefined, undefined, ['k', 'v'], ['k', 'f', 'v']),
  })
  .filter(({ updates, inserts, orphans }) => updates || inserts || orphans)

test('merges do what the reference does', async () => {
  await using lance = await openLance()
  await using catalog = await openCatalog('memory:')
  let number = 0
  await fc.assert(
    fc.asyncProperty(rows, rows, merges, async (first, second, merge) => {
      const name = `t${number++}`
      const base = await arrow(columns, first)
      // Columns may be left out where rows are only updated or only inserted.
      const some =
        merge.only && merge.on.every((key) => merge.only!.includes(key)) ? merge.only : ['k', 'v', 'f']
      const given = columns.filter((column) => some.includes(column.name))
      const data = await arrow(
        given,
        second.map((one) => Object.fromEntries(some.map((key) => [key, one[key as 'k']]))),
      )
      const condition = some.includes('f') ? merge.condition : undefined
      const table = await lance.create(name, base)
      await catalog.createTable({ id: [name], data: base })
      const theirs = await lance
        .merge(table, data, { ...merge, condition })
        .then((answer) => ({ ...answer, rows: sorted(answer.rows) }), caught)
      const ours = await catalog
        .mergeInsertIntoTable({
          id: [name],
          on: [...merge.on],
          data,
          when_matched_update_all: merge.updates,
          when_matched_update_all_filt: merge.updates ? condition : null,
          when_not_matched_insert_all: merge.inserts,
          when_not_matched_by_source_delete: merge.orphans,
          when_not_matched_by_source_delete_filt: merge.orphans ? merge.orphanIf : null,
        })
        .then(
          async ({ num_inserted_rows, num_updated_rows, num_deleted_rows }) => ({
            counts: [num_inserted_rows, num_updated_rows, num_deleted_rows],
            rows: sorted(await rowsOf(catalog, [name])),
          }),
          caught,
        )
      expectations(theirs, ours)
    }),
    { numRuns: Number(process.env.REFERENCE_RUNS ?? 120) },
  )
})

const values = {
  k: ['k + 1', 'k * 2 - 1', 'NULL', '7', 'character_length(v)'],
  v: ["concat(v, 'x')", 'upper(v)', 'NULL', "'z'", 'CAST(k AS STRING)'],
  f: ['f + 1', 'f / 2', 'k', 'abs(f)', 'coalesce(f, 9.5)', '3'],
}
const mentions = (text: string, name: string) => new RegExp(`\\b${name}\\b`).test(text)
const updates = fc
  .record({
    k: fc.option(fc.constantFrom(...values.k), { nil: undefined }),
    v: fc.option(fc.constantFrom(...values.v), { nil: undefined }),
    f: fc.option(fc.constantFrom(...values.f), { nil: undefined }),
  })
  .map((given) => Object.entries(given).filter(([, value]) => value !== undefined) as [string, string][])
  .filter((given) => given.length > 0)
  // The reference evaluates one after the other in any order, so that one may see what another one has changed.
  .filter((given) =>
    given.every(([own, text]) => given.every(([name]) => name === own || !mentions(text, name))),
  )
const predicates = fc.constantFrom(
  undefined,
  'k > 2',
  "v = 'a'",
  'f IS NULL',
  'k IN (1, 3) OR f > 1',
  'k > 99',
)

test('updates do what the reference does', async () => {
  await using lance = await openLance()
  await using catalog = await openCatalog('memory:')
  let number = 0
  await fc.assert(
    fc.asyncProperty(
      rows,
      fc.array(fc.tuple(updates, predicates), { minLength: 1, maxLength: 3 }),
      async (first, steps) => {
        const name = `t${number++}`
        const data = await arrow(columns, first)
        const table = await lance.create(name, data)
        await catalog.createTable({ id: [name], data })
        for (const [updates, predicate] of steps) {
          const theirs = await lance
            .update(table, updates, predicate)
            .then(({ updated, rows }) => ({ updated, rows: sorted(rows) }), caught)
          const ours = await catalog.updateTable({ id: [name], updates, predicate }).then(
            async ({ updated_rows }) => ({
              updated: updated_rows,
              rows: sorted(await rowsOf(catalog, [name])),
            }),
            caught,
          )
          expectations(theirs, ours)
        }
      },
    ),
    { numRuns: Number(process.env.REFERENCE_RUNS ?? 120) },
  )
})
