import { connect, makeArrowTable } from '@lancedb/lancedb'
import * as arrow from 'apache-arrow'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCatalog } from '../../../../src/tabularium/index.ts'
import { temporaryDirectory } from '../../../support/folders.ts'
import { rowsOf } from '../../../support/rows.ts'

/*
 * Random changes of columns, made here and by LanceDB: the same columns and rows, or both refuse.
 */

const { Field, Schema, Int64, Float64, Utf8, Struct } = arrow
const id = ['t']

let db: Awaited<ReturnType<typeof connect>>

beforeAll(async () => {
  db = await connect(await temporaryDirectory())
})

afterAll(() => db.close())

const fields = [
  new Field('n', new Int64(), true),
  new Field('f', new Float64(), true),
  new Field('text', new Utf8(), true),
  new Field('s', new Struct([new Field('a', new Int64(), true), new Field('b', new Utf8(), true)]), true),
]
const rows = [
  { n: 1n, f: 1.5, text: 'one', s: { a: 1n, b: 'x' } },
  { n: 300n, f: -2, text: null, s: { a: 2n, b: null } },
  { n: null, f: null, text: 'two', s: { a: 3n, b: 'z' } },
]

const field = (name: string, type: string, fields?: object[]) => ({
  name,
  nullable: true,
  type: { type, ...(fields && { fields }) },
})
const ownSchema = {
  fields: [
    field('n', 'int64'),
    field('f', 'double'),
    field('text', 'string'),
    field('s', 'struct', [field('a', 'int64'), field('b', 'string')]),
  ],
} as never

const paths = fc.constantFrom('n', 'f', 'text', 's', 's.a', 's.b', 'N', 'none', 'x')
const names = fc.constantFrom('x', 'y', 'n', 'N', 'text')
const expressions = fc.constantFrom(
  'n + 1',
  'f * 2.0',
  'upper(text)',
  'n',
  '5',
  "'a'",
  'none + 1',
  'n +',
  'x',
)
const types = fc.constantFrom('int16', 'int32', 'int64', 'uint8', 'float', 'double', 'string')
const alteration = fc.oneof(
  fc.record({ path: paths, rename: names }),
  fc.record({ path: paths, dataType: types }),
  fc.record({ path: paths, nullable: fc.boolean() }),
)
const change = fc.oneof(
  fc.record({
    add: fc.array(fc.record({ name: names, valueSql: expressions }), { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    // The reference takes two alterations of one path, and the last one wins. It has no cast beside a check for nulls.
    alter: fc
      .uniqueArray(alteration, { minLength: 1, maxLength: 2, selector: ({ path }) => path })
      .filter((list) => !list.some((one) => 'dataType' in one) || !list.some((one) => 'nullable' in one)),
  }),
  fc.record({ drop: fc.array(paths, { minLength: 1, maxLength: 3 }) }),
)

const arrowTypes = {
  int16: new arrow.Int16(),
  int32: new arrow.Int32(),
  int64: new Int64(),
  uint8: new arrow.Uint8(),
  float: new arrow.Float32(),
  double: new Float64(),
  string: new Utf8(),
}

const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries('toJSON' in value ? (value.toJSON as () => object)() : value)
  return Object.fromEntries(entries.map(([name, item]) => [name, plain(item)]))
}

test('the same columns and rows as the reference', async () => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const data = makeArrowTable(rows, { schema: new Schema(fields) as never })
      const table = await db.createTable('t', data, { mode: 'overwrite' })
      const catalog = await openCatalog('memory:')
      await catalog.createTable({ id, data: rows, schema: ownSchema })
      for (const one of changes) {
        const theirs = (() => {
          if ('add' in one) return table.addColumns(one.add)
          if ('drop' in one) return table.dropColumns(one.drop)
          return table.alterColumns(
            one.alter.map((alteration) =>
              'dataType' in alteration
                ? { path: alteration.path, dataType: arrowTypes[alteration.dataType] as never }
                : alteration,
            ),
          )
        })()
        const ours = (() => {
          if ('add' in one) {
            const new_columns = one.add.map(({ name, valueSql }) => ({ name, expression: valueSql }))
            return catalog.alterTableAddColumns({ id, new_columns })
          }
          if ('drop' in one) return catalog.alterTableDropColumns({ id, columns: one.drop })
          const alterations = one.alter.map((alteration) =>
            'dataType' in alteration ? { path: alteration.path, data_type: alteration.dataType } : alteration,
          )
          return catalog.alterTableAlterColumns({ id, alterations })
        })()
        const [their, our] = await Promise.allSettled([theirs, ours])
        const said = [their, our].map((outcome) =>
          outcome.status === 'rejected' ? String(outcome.reason) : '',
        )
        expect([JSON.stringify(one), our.status], said.join('\n')).toEqual([
          JSON.stringify(one),
          their.status,
        ])
        if (our.status === 'fulfilled') changed++
      }
      const theirFields = (await table.schema()).fields.map(({ name, nullable }) => `${name} ${nullable}`)
      const described = await catalog.describeTable({ id, load_detailed_metadata: true })
      const ourFields = described.schema!.fields
      expect(ourFields.map(({ name, nullable }) => `${name} ${nullable}`)).toEqual(theirFields)
      const theirRows = (await table.query().toArray()).map(plain)
      expect((await rowsOf(catalog, id)).map(plain)).toEqual(theirRows)
      await catalog.close()
    }),
    { numRuns: 40 * Number(process.env.HISTORY_RUNS ?? 1), seed: Number(process.env.FC_SEED ?? 20261120) },
  )
  expect(changed).toBeGreaterThan(10)
})
