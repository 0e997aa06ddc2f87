import { dictionary, field, int32, struct, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { compile } from '../../../../src/engine/table/scan/evaluate.ts'

const rows = Array.from({ length: 300 }, (_, n) => ({
  n: n % 11 === 5 ? null : n,
  x: n % 7 === 0 ? Number.NaN : n / 8 - 9,
  s: `name ${n % 97}`,
  at: new Date(n * 864e5),
}))

test('predicates are kept by schema and text, if they do not ask the time', async () => {
  const { schema } = await toArrowTable(rows)
  const other = { ...schema }
  const of = (text: string, from = schema, now = 5) => compile(text, from, now, new TimeSlice(undefined))
  const first = await of('n = 1')
  expect(await of('n = 1', schema, 6)).toBe(first)
  expect(await of('n = 1', other)).not.toBe(first)
  expect(await of('n =  1')).not.toBe(first)
  expect((await of('at < now()', schema, 7)).now).toBe(7)
  expect((await of('at < now()', schema, 8)).now).toBe(8)
  const long = `n = 1 OR s = '${'x'.repeat(2_000)}'`
  expect(await of(long)).not.toBe(await of(long))
  const texts = Array.from({ length: 40 }, (_, i) => `n = ${100 + i}${' '.repeat(900)}`)
  for (const [i, text] of texts.entries()) {
    await of(text)
    if (i < 20) expect(await of('n = 1')).toBe(first)
  }
  expect(await of('n = 1')).not.toBe(first)
})

test('what is kept has a bound for all schemas together, and no results for the entries of dictionaries', async () => {
  const { schema } = await toArrowTable(rows)
  const slice = new TimeSlice(undefined)
  const first = await compile('n = 2', schema, 5, slice)
  expect(await compile('n = 2', schema, 5, slice)).toBe(first)
  for (let i = 0; i < 20; i++) await compile(`n = 3${' '.repeat(1_000)}`, { ...schema }, 5, slice)
  expect(await compile('n = 2', schema, 5, slice)).not.toBe(first)
  const type = dictionary(utf8())
  for (const nested of [type, struct([field('inner', type)])]) {
    const encoded = { ...schema, fields: [field('d', nested), field('n', int32())] }
    const text = nested === type ? "d = 'a'" : "d.inner = 'a'"
    expect(await compile(text, encoded, 5, slice)).not.toBe(await compile(text, encoded, 5, slice))
    expect(await compile('n = 1', encoded, 5, slice)).toBe(await compile('n = 1', encoded, 5, slice))
  }
})

const atom = fc.oneof(
  fc.integer({ min: -1, max: 301 }).map((n) => `n < ${n}`),
  fc.integer({ min: -9, max: 30 }).map((x) => `x >= ${x}`),
  fc.integer({ min: 0, max: 99 }).map((n) => `s LIKE '%${n}%'`),
  fc.constantFrom(
    'n IS NULL',
    "date_part('month', at) = 2",
    'length(s) > 6',
    '_rowid % 3 = 1',
    'n % 5 = 2',
    "s IN ('name 3', 'name 8')",
  ),
)
const predicate = fc
  .tuple(atom, fc.constantFrom('AND', 'OR', 'AND NOT'), atom)
  .map(([a, operator, b]) => `${a} ${operator} ${b}`)

test('a kept predicate answers as a new one, also for several calls at once and after changes', async () => {
  const content = memoryContent()
  const engine = () => tableEngine({ content, fragmentRows: 64 })
  const kept = engine()
  const all = await kept.create('t/', await toArrowTable(rows))
  const some = (await kept.deleteRows('n % 3 = 1').apply(all)).snapshot
  await fc.assert(
    fc.asyncProperty(predicate, async (predicate) => {
      for (let turn = 0; turn < 2; turn++) {
        const asked = [all, some, all, some].map((snapshot) => kept.countRows(snapshot, { predicate }))
        const fresh = engine()
        for (const [i, snapshot] of [all, some, all, some].entries()) {
          const again = await fresh.open('t/', snapshot.manifest)
          expect(await asked[i]).toBe(await fresh.countRows(again, { predicate }))
        }
      }
    }),
    { numRuns: 150 },
  )
})
