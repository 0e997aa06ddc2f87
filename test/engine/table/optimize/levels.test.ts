import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { decodeArrow, type Snapshot, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'
import { contentWith } from '../../../support/contents.ts'
import { limitEach } from '../../../support/time-limit.ts'

limitEach(60)

interface Row {
  readonly n: number
  readonly text: string | null
}

type Step =
  | { readonly kind: 'insert'; readonly rows: readonly Row[] }
  | { readonly kind: 'delete' | 'update'; readonly modulus: number; readonly rest: number }
  | { readonly kind: 'add column' }

const row = fc.record({ n: fc.nat(20), text: fc.option(fc.string({ maxLength: 200 }), { nil: null }) })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      rows: fc.array(row, { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('delete' as const, 'update' as const),
      modulus: fc.integer({ min: 2, max: 9 }),
      rest: fc.nat(8),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'add column' as const }) },
)

/** The rows with their ids, and the columns that were added. */
async function read(snapshot: Snapshot, engine: ReturnType<typeof tableEngine>, added: number) {
  const columns = ['_rowid', 'n', 'text', ...Array.from({ length: added }, (_, i) => `c${i}`)]
  const rows = await decodeArrow(await engine.queryRows(snapshot, { columns }))
  return rows.toArray().map((found) => columns.map((name) => (found as Record<string, unknown>)[name]))
}

test('inserts merge small fragments, and every row keeps its values, its place and its id', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }),
      fc.constantFrom([400, 4_000], [1_500], [16_384, 262_144]),
      async (steps, levels) => {
        const content = memoryContent()
        const engine = tableEngine({ content, levels, cacheBytes: 0 })
        // It has the same steps, and merges nothing.
        const oracle = tableEngine({ content: memoryContent(), levels: [] })
        const first = await toArrowTable([{ n: 1, text: 'first' }])
        let both = [await engine.create('t', first), await oracle.create('t', first)] as const
        let added = 0
        for (const one of steps) {
          const next = async (on: typeof engine, snapshot: Snapshot): Promise<Snapshot> => {
            if (one.kind === 'insert') {
              const nulls = Object.fromEntries(Array.from({ length: added }, (_, i) => [`c${i}`, 7]))
              const rows = one.rows.map((row) => ({ ...row, ...nulls }))
              const table = await toArrowTable(rows, { schema: snapshot.schema })
              return (await (await on.insertRows(snapshot, table)).apply(snapshot)).snapshot
            }
            if (one.kind === 'add column') {
              const change = on.addColumns([{ name: `c${added}`, expression: 'n * 2' }])
              return (await change.apply(snapshot)).snapshot
            }
            const predicate = `n % ${one.modulus} = ${one.rest}`
            if (one.kind === 'delete') return (await on.deleteRows(predicate).apply(snapshot)).snapshot
            const update = await on.updateRows(snapshot, { predicate, updates: [['text', "'updated'"]] })
            return (await update.apply(snapshot)).snapshot
          }
          both = [await next(engine, both[0]), await next(oracle, both[1])]
          if (one.kind === 'add column') added++
        }
        expect(await read(both[0], engine, added)).toEqual(await read(both[1], oracle, added))
        expect(both[0].rows).toBe(both[1].rows)
        expect(both[0].fragments).toBeLessThanOrEqual(both[1].fragments)
      },
    ),
    { numRuns: 20 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
})

test('a thousand small inserts leave few fragments, and write each row a few times', async () => {
  let written = 0
  const content = memoryContent()
  const counting = contentWith(content, {
    put: (path: string, bytes: Uint8Array | readonly Uint8Array[]) => {
      if (path.startsWith('t/data/')) written += [bytes].flat().reduce((sum, one) => sum + one.length, 0)
      return content.put(path, bytes)
    },
  })
  const engine = tableEngine({ content: counting })
  const rows = await toArrowTable([{ n: 1, text: 'a row' }])
  let snapshot = await engine.create('t', rows)
  const insert = await engine.insertRows(snapshot, rows)
  const one = written / 2
  for (let i = 0; i < 1_000; i++) snapshot = (await insert.apply(snapshot)).snapshot
  expect(snapshot.rows).toBe(1_001)
  expect(snapshot.fragments).toBeLessThan(24)
  expect(written).toBeLessThan(one * 1_000 * 3)
})

test('an insert succeeds although a fragment before it is lost, and merges nothing', async () => {
  const content = memoryContent()
  const engine = tableEngine({ content, cacheBytes: 0 })
  const rows = await toArrowTable([{ n: 1, text: 'a row' }])
  let snapshot = await engine.create('t', rows)
  for await (const { path } of content.list('t/data/')) await content.remove(path)
  for (let i = 0; i < 20; i++)
    snapshot = (await (await engine.insertRows(snapshot, rows)).apply(snapshot)).snapshot
  expect(snapshot).toMatchObject({ rows: 21, fragments: 21 })
})
