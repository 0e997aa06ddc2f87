import { tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { tableEngine } from '../../../src/engine/table/engine.ts'
import { type Change, type Snapshot, toArrowTable } from '../../../src/engine/table/index.ts'
import { contentWith } from '../../support/contents.ts'
import { limitEach } from '../../support/time-limit.ts'

// It makes hundreds of changes, each twice.
limitEach(60)

/*
 * A change that other writers overtake is applied to their versions, and uses what it did before. It has to come to
 * the same rows, in the same order, as one that was begun on that version.
 */

const engine = tableEngine({ content: memoryContent(), cacheBytes: 1 << 20, fragmentRows: 64 })
const schema = {
  fields: [
    { name: 'k', type: { type: 'int32' }, nullable: true },
    { name: 'x', type: { type: 'int32' }, nullable: true },
  ],
}

const table = (rows: readonly object[]) => toArrowTable(rows as Record<string, unknown>[], { schema })
const rowsOf = async (snapshot: Snapshot) =>
  (tableFromIPC(await engine.queryRows(snapshot)).toArray() as { k: number; x: number }[]).map(
    ({ k, x }) => `${k}:${x}`,
  )

const row = fc.record({ k: fc.nat(9), x: fc.nat(9) })
const rows = fc.array(row, { minLength: 1, maxLength: 6 })
const predicate = fc.constantFrom('k < 4', 'x > 5', 'k = 7', 'k % 2 = 0', 'true')

type Make = (base: Snapshot) => Promise<Change>

const updates: fc.Arbitrary<Make> = fc
  .tuple(fc.constantFrom('x + 1', 'k', '(x + 3) % 10'), fc.option(predicate, { nil: undefined }))
  .map(
    ([value, predicate]) =>
      (base) =>
        engine.updateRows(base, { updates: [['x', value]], predicate }),
  )

const merges: fc.Arbitrary<Make> = fc
  .tuple(
    fc.uniqueArray(row, { minLength: 1, maxLength: 6, selector: ({ k }) => k }),
    fc.constantFrom('update', 'delete', undefined),
    fc.boolean(),
    fc.constantFrom('keep', 'delete'),
    fc.option(predicate, { nil: undefined }),
    fc.constantFrom(undefined, 'source.x > target.x'),
  )
  .map(
    ([source, matched, inserts, orphans, orphansIf, matchedIf]) =>
      async (base) =>
        engine.mergeRows(base, await table(source), {
          on: ['k'],
          matched,
          matchedIf: matched === 'update' ? matchedIf : undefined,
          inserts,
          orphans,
          orphansIf: orphans === 'delete' ? orphansIf : undefined,
        }),
  )

/** What another writer does. */
const others: fc.Arbitrary<(base: Snapshot, first: Snapshot) => Promise<Change>> = fc.oneof(
  rows.map((added) => async (base: Snapshot) => engine.insertRows(base, await table(added))),
  predicate.map((text) => async () => engine.deleteRows(text)),
  fc.constant((base: Snapshot) => engine.optimizeRows(base, { minDeletedShare: 0 })),
  fc.constant(async (_: Snapshot, first: Snapshot) => engine.restoreTo(first)),
  updates,
  merges,
)

test('a change that is overtaken comes to what one comes to that is begun later', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(rows, { minLength: 1, maxLength: 4 }),
      fc.oneof(updates, merges),
      fc.array(others, { maxLength: 5 }),
      async (inserts, make, steps) => {
        let base: Snapshot = await engine.create('t', await table(inserts[0]!))
        for (const more of inserts.slice(1)) {
          base = (await (await engine.insertRows(base, await table(more))).apply(base)).snapshot
        }
        const first = base
        const change = await make(base)
        await change.apply(base)
        for (const step of steps) {
          base = (await (await step(base, first)).apply(base)).snapshot
          const [late, fresh] = [await change.apply(base), await (await make(base)).apply(base)]
          expect([late.affected, late.counts]).toEqual([fresh.affected, fresh.counts])
          expect(await rowsOf(late.snapshot)).toEqual(await rowsOf(fresh.snapshot))
          expect(late.snapshot.rows).toBe(fresh.snapshot.rows)
        }
      },
    ),
    { numRuns: 75 * Number(process.env.HISTORY_RUNS ?? 1) },
  )
})

test('an update of half of a table holds a few fragments, and writes such', async () => {
  const sizes: number[] = []
  const content = memoryContent()
  const counting = contentWith(content, {
    put: async (path: string, parts: Uint8Array | readonly Uint8Array[]) => {
      const length =
        parts instanceof Uint8Array ? parts.length : parts.reduce((sum, one) => sum + one.length, 0)
      if (path.includes('data/')) sizes.push(length)
      await content.put(path, parts)
    },
  })
  const small = tableEngine({ content: counting, cacheBytes: 0, fragmentRows: 1_024 })
  const many = Array.from({ length: 40_000 }, (_, k) => ({ k, x: 0 }))
  const base = await small.create('t', await table(many))
  const written = sizes.length
  const change = await small.updateRows(base, { updates: [['x', 'k']], predicate: 'k % 2 = 0' })
  const { affected, snapshot } = await change.apply(base)
  expect(affected).toBe(20_000)
  expect(sizes.length - written).toBe(Math.ceil(20_000 / 1_024))
  expect(Math.max(...sizes)).toBeLessThan(20 * 1_024)
  expect(await small.countRows(snapshot, { predicate: 'x = k' })).toBe(20_001 - 1)
})
