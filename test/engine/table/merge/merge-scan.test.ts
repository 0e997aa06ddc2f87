import {
  type DataType,
  dictionary,
  field,
  float64,
  int8,
  int32,
  int64,
  Table,
  uint64,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import {
  decodeArrow,
  type TableEngine,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { limitEach } from '../../../support/time-limit.ts'

// It merges into hundreds of tables.
limitEach(60)

/*
 * A merge finds rows by a predicate on the keys if these are few. More rows with keys that no row of the table has
 * prevent that, so the merge then hashes all keys. Both come to the same table.
 */

interface Kind {
  readonly type: DataType
  readonly values: readonly unknown[]
  /** A key that no row of the table has. */
  other(i: number): unknown
}

const big = 2n ** 63n
const texts = ['', 'a', "it's", '`"\\%_', 'ä', '\ufeffa', '😀', 'null', ' a', 'long text '.repeat(9)]
const kinds: Readonly<Record<string, Kind>> = {
  int8: { type: int8(), values: [-128, -1, 0, 1, 127], other: (i) => 2 + (i % 120) },
  int32: { type: int32(), values: [-(2 ** 31), -1, 0, 7, 2 ** 31 - 1], other: (i) => 1000 + i },
  int64: {
    type: int64(),
    values: [-big, 1n - big, -1n, 0n, 2n ** 53n + 1n, big - 1n],
    other: (i) => BigInt(i) + 1000n,
  },
  uint64: { type: uint64(), values: [0n, 1n, big, 2n * big - 1n], other: (i) => BigInt(i) + 1000n },
  float64: { type: float64(), values: [Number.NaN, -0, 0, 1.5, Infinity], other: (i) => 1000 + i },
  utf8: { type: utf8(), values: texts, other: (i) => `other ${i}` },
  dictionary: { type: dictionary(utf8()), values: texts, other: (i) => `other ${i}` },
}

const names = ['k', 'K', 'the key', 'a.b', '`', "it's", 'select', '_rowid']

const table = fc.record({
  keys: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...Object.keys(kinds))), {
    minLength: 1,
    maxLength: 2,
    selector: ([name]) => name,
  }),
  rows: fc.integer({ min: 1, max: 400 }),
  given: fc.integer({ min: 1, max: 12 }),
  seed: fc.integer({ min: 1, max: 1e9 }),
  deletes: fc.boolean(),
  options: fc.constantFrom(
    { matched: 'update', inserts: false, orphans: 'keep' },
    { matched: 'update', inserts: true, orphans: 'keep' },
    { matched: 'update', matchedIf: 'source.n > target.n', inserts: true, orphans: 'keep' },
    { matched: 'delete', inserts: true, orphans: 'keep' },
    { matched: 'update', inserts: true, orphans: 'delete' },
    { matched: undefined, inserts: true, orphans: 'delete', orphansIf: 'n % 3 = 0' },
  ) as fc.Arbitrary<Omit<Parameters<TableEngine['mergeRows']>[2], 'on'>>,
})

test('a merge of few keys comes to what one of many comes to', async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ keys, rows, given, seed, deletes, options }) => {
      let state = seed
      const next = (below: number) => {
        state = (Math.imul(state, 48_271) >>> 0) % 2_147_483_647
        return state % below
      }
      const fields = [
        ...keys.map(([name, kind]) => field(name, kinds[kind]!.type, true)),
        field('n', int32(), true),
        field('t', utf8(), true),
      ]
      const draw = (n: number) => {
        const row: Record<string, unknown> = { n, t: `text ${n}` }
        for (const [name, kind] of keys) {
          const { values } = kinds[kind]!
          row[name] = next(8) === 0 ? null : values[next(values.length)]
        }
        return row
      }
      const engine = tableEngine({ content: memoryContent(), fragmentRows: 64, newName: undefined })
      const all = Array.from({ length: rows }, (_, n) => draw(n))
      let base = await engine.create('t/', await toArrowTable(all, { schema: fields }))
      const more = await toArrowTable([draw(1000), draw(1001)], { schema: fields })
      base = (await (await engine.insertRows(base, more)).apply(base)).snapshot
      if (deletes) base = (await engine.deleteRows('n % 7 = 3').apply(base)).snapshot

      const wanted: Record<string, unknown>[] = []
      for (let i = 0; i < given; i++) wanted.push(draw(next(rows)))
      // Rows of the source must differ in their keys to update anything.
      const keyOf = (row: Record<string, unknown>) =>
        keys.map(([name]) => (Object.is(row[name], -0) ? '-0' : String(row[name]))).join('|')
      const distinct = [...new Map(wanted.map((row) => [keyOf(row), row])).values()]
      const others = Array.from({ length: 80 }, (_, i) => {
        const row: Record<string, unknown> = { n: -1 - i, t: 'other' }
        for (const [name, kind] of keys) row[name] = kinds[kind]!.other(i)
        return row
      })
      const on = keys.map(([name]) => (name.includes('.') ? `\`${name}\`` : name.replace('`', '````')))
      const merged = async (source: readonly Record<string, unknown>[]) => {
        const data = await toArrowTable(source, { schema: fields })
        const change = await engine.mergeRows(base, data, { ...options, on })
        const { snapshot, counts } = await change.apply(base)
        const answer = await decodeArrow(
          await engine.queryRows(snapshot, { filter: "t <> 'other'", columns: ['n', 't'] }),
        )
        return { counts, rows: answer.toArray().map((row) => ({ ...(row as object) })) }
      }
      const few = await merged(distinct)
      const many = await merged([...distinct, ...others])
      expect(few.rows).toEqual(many.rows)
      expect({ ...few.counts, inserted: 0 }).toEqual({ ...many.counts, inserted: 0 })
    }),
    { numRuns: 100 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
})

test('a merge finds a key that is no UTF-8', async () => {
  const texts = (...all: readonly (readonly number[])[]) => {
    const values = Uint8Array.from(all.flat())
    const ends = all.map((_, i) => all.slice(0, i + 1).reduce((sum, { length }) => sum + length, 0))
    const batch = makeBatch(utf8(), { length: all.length, offsets: Int32Array.from([0, ...ends]), values })
    const fields = [field('k', utf8())]
    return new Table({ fields, metadata: null } as never, [makeColumn(utf8(), [batch])])
  }
  const surrogate = [0xed, 0xa0, 0x80]
  const engine = tableEngine({ content: memoryContent() })
  const base = await engine.create('t/', texts([0x62], surrogate, [0xef, 0xbf, 0xbd]))
  const merge = await engine.mergeRows(base, texts(surrogate), {
    on: ['k'],
    matched: 'update',
    inserts: true,
    orphans: 'keep',
  })
  expect((await merge.apply(base)).counts).toEqual({ inserted: 0, updated: 1, deleted: 0 })
})
