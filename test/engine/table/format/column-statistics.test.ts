import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnyBatch } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import type { ColumnStatistics } from '../../../../src/engine/predicate/prune/statistics.ts'
import {
  addStatistics,
  statisticsAt,
  storeStatistics,
} from '../../../../src/engine/table/format/statistics.ts'
import { fromJsonSchema, toArrowTable } from '../../../../src/engine/table/index.ts'

const names = {
  i: 'int32',
  u: 'uint32',
  l: 'int64',
  ul: 'uint64',
  f: 'double',
  g: 'float',
  s: 'string',
  b: 'bool',
}
const dictionary = {
  type: 'dictionary',
  fields: [
    { name: 'index', nullable: true, type: { type: 'int32' } },
    { name: 'value', nullable: true, type: { type: 'string' } },
  ],
}
const inner = Object.entries(names).map(([name, type]) => ({ name, nullable: true, type: { type } }))
const schema = fromJsonSchema({
  fields: [
    ...inner,
    { name: 'd', nullable: true, type: dictionary },
    { name: 'st', nullable: true, type: { type: 'struct', fields: inner } },
  ],
})

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'grapheme' }),
  fc.constant('\u{10ffff}'.repeat(20)),
)
const values = {
  i: fc.option(fc.integer()),
  u: fc.option(fc.integer({ min: 0, max: 2 ** 32 - 1 })),
  l: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  ul: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
  f: fc.option(fc.double()),
  g: fc.option(fc.float()),
  s: fc.option(text),
  b: fc.option(fc.boolean()),
}
const row = fc.record({ ...values, d: fc.option(text), st: fc.option(fc.record(values)) })

/** Orders values as statistics do: text by its bytes, -0 below 0. */
function compare(a: unknown, b: unknown): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string))
  if (a === 0 && b === 0) return (Object.is(a, -0) ? 0 : 1) - (Object.is(b, -0) ? 0 : 1)
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
}

function check(statistics: ColumnStatistics | undefined, all: readonly unknown[], name: string): void {
  expect(statistics?.nullCount, name).toBe(all.filter((value) => value === null).length)
  const present = all.filter((value) => value !== null && !Number.isNaN(value)).sort(compare)
  const { min, max, minExact, maxExact, hasNaN } = statistics!
  if (name.endsWith('f') || name.endsWith('g')) expect(hasNaN ?? false).toBe(all.some(Number.isNaN))
  if (present.length === 0) {
    expect([min, max]).toEqual([undefined, undefined])
    return
  }
  if (minExact) expect(Object.is(min, present[0]), name).toBe(true)
  else expect(compare(min, present[0])).toBeLessThan(0)
  if (max === undefined) expect(Buffer.from(present.at(-1) as string).length).toBeGreaterThan(64)
  else if (maxExact) expect(Object.is(max, present.at(-1)), name).toBe(true)
  else expect(compare(max, present.at(-1))).toBeGreaterThan(0)
  for (const bound of [min, max])
    if (typeof bound === 'string') expect(Buffer.from(bound).length).toBeLessThanOrEqual(67)
}

test('bounds, nulls and NaN are those of the values, also after being stored', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 30 }), async (rows) => {
      const table = await toArrowTable(rows, { schema })
      const measured = new Map<string, ColumnStatistics>()
      for (const [i, column] of table.children.entries())
        addStatistics(column.data[0] as AnyBatch, [i], measured)
      const stored = JSON.parse(JSON.stringify(storeStatistics(measured)))
      for (const [i, { name }] of schema.fields.entries()) {
        const own = rows.map((row) => row[name as keyof typeof row])
        if (name !== 'st') {
          check(statisticsAt(stored, schema, [i]), own, name)
          continue
        }
        for (const [k, field] of inner.entries()) {
          const nested = rows.map((row) => row.st?.[field.name as keyof typeof row.st] ?? null)
          check(statisticsAt(stored, schema, [i, k]), nested, `st.${field.name}`)
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('every type is measured without harm', async () => {
  const { fixture } = await import('../../arrow/fixtures.ts')
  const table = await decodeArrow(fixture('types.arrows'))
  for (const [i, column] of table.children.entries()) {
    for (const batch of column.data) {
      const measured = new Map<string, ColumnStatistics>()
      addStatistics(batch as AnyBatch, [i], measured)
      const { nullCount } = measured.get(`${i}`) ?? {
        nullCount: Array.from(batch).filter((v) => v === null).length,
      }
      expect(nullCount, String(table.names[i])).toBe(
        Array.from(batch).filter((value) => value === null).length,
      )
    }
  }
})
