import { dictionary, field, int32, struct, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TimeSlice } from '../../../../src/base/scheduling/time-slice.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { type QueryOptions, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { compile, compileValues } from '../../../../src/engine/table/scan/compile.ts'
import { ByteCache } from '../../../../src/engine/table/storage/cache.ts'
import { limitEach } from '../../../support/time-limit.ts'

// It compiles hundreds of predicates.
limitEach(60)

const rows = Array.from({ length: 300 }, (_, n) => ({
  n: n % 11 === 5 ? null : n,
  x: n % 7 === 0 ? Number.NaN : n / 8 - 9,
  s: `name ${n % 97}`,
  at: new Date(n * 864e5),
}))

class Work extends TimeSlice {
  readonly storage: { readonly cache: ByteCache }

  constructor(limit = 1 << 20) {
    super(undefined)
    this.storage = { cache: new ByteCache(limit) }
  }
}

test('texts are kept by columns and text, if they do not ask the time', async () => {
  const { schema } = await toArrowTable(rows)
  const other = { ...schema, fields: [...schema.fields] }
  const work = new Work()
  for (const make of [compile, compileValues] as const) {
    const of = (text: string, from = schema, now = 5) => make(text, from, now, work)
    const first = await of('n = 1')
    expect(await of('n = 1', schema, 6)).toBe(first)
    expect(await of('n = 1', { ...schema, metadata: new Map([['a', 'b']]) })).toBe(first)
    expect(await of('n = 1', other)).not.toBe(first)
    expect(await of('n =  1')).not.toBe(first)
    expect((await of('at < now()', schema, 7)).now).toBe(7)
    expect((await of('at < now()', schema, 8)).now).toBe(8)
    const long = `n = 1 OR s = '${'x'.repeat(2_000)}'`
    expect(await of(long)).not.toBe(await of(long))
  }
  const [n, x] = schema.fields
  const ofColumn = (column = n) => compileValues('n + 1', schema, 5, work, column)
  expect(await ofColumn()).toBe(await ofColumn())
  expect(await ofColumn(x)).not.toBe(await ofColumn())
  expect(await compileValues('n + 1', schema, 5, work)).not.toBe(await ofColumn())
})

test('what is kept shares the bytes of the cache, and has no results for the entries of dictionaries', async () => {
  const { schema } = await toArrowTable(rows)
  const work = new Work(1 << 20)
  const { cache } = work.storage
  const first = await compile('n = 2', schema, 5, work)
  expect(await compile('n = 2', schema, 5, work)).toBe(first)
  for (let i = 0; i < 200; i++) {
    await compile(`n = ${1_000 + i}`, schema, 5, work)
    expect(cache.bytes).toBeLessThanOrEqual(cache.limit)
    // The one that was used last is the last to go.
    if (i % 20 === 0 && i < 100) expect(await compile('n = 2', schema, 5, work)).toBe(first)
  }
  expect(await compile('n = 2', schema, 5, work)).not.toBe(first)
  const none = new Work(0)
  expect(await compile('n = 2', schema, 5, none)).not.toBe(await compile('n = 2', schema, 5, none))
  const type = dictionary(utf8())
  for (const nested of [type, struct([field('inner', type)])]) {
    const encoded = { ...schema, fields: [field('d', nested), field('n', int32())] }
    const text = nested === type ? "d = 'a'" : "d.inner = 'a'"
    expect(await compile(text, encoded, 5, work)).not.toBe(await compile(text, encoded, 5, work))
    expect(await compile('n = 1', encoded, 5, work)).toBe(await compile('n = 1', encoded, 5, work))
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

const shown = fc.record({
  columns: fc.constantFrom<QueryOptions['columns']>(
    undefined,
    ['n', 's'],
    { twice: 'n * 2', again: 'n * 2', s: 's' },
    { long: "concat(s, ' ', s)", id: '_rowid' },
  ),
  withRowId: fc.constantFrom(undefined, true),
  limit: fc.constantFrom(undefined, 0, 3),
  orderBy: fc.constantFrom(undefined, [{ column: 'x', descending: true }]),
})

test('a kept plan answers as a new one, also for several calls at once and after changes', async () => {
  const content = memoryContent()
  const engine = () => tableEngine({ content, fragmentRows: 64 })
  const kept = engine()
  const all = await kept.create('t/', await toArrowTable(rows))
  const some = (await kept.deleteRows('n % 3 = 1').apply(all)).snapshot
  await fc.assert(
    fc.asyncProperty(predicate, shown, async (predicate, query) => {
      for (let turn = 0; turn < 2; turn++) {
        const asked = [all, some, all, some].map((snapshot) => kept.countRows(snapshot, { predicate }))
        const filtered = { ...query, filter: predicate }
        const queried = [all, some].map((snapshot) => kept.queryRows(snapshot, filtered))
        const fresh = engine()
        for (const [i, snapshot] of [all, some, all, some].entries()) {
          const again = await fresh.open('t/', snapshot.manifest)
          expect(await asked[i]).toBe(await fresh.countRows(again, { predicate }))
          if (i >= queried.length) continue
          expect(Buffer.from(await queried[i]!)).toEqual(Buffer.from(await fresh.queryRows(again, filtered)))
        }
      }
    }),
    { numRuns: 30 },
  )
})
