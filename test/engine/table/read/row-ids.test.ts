import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { manifestText, refOf, seal } from '../../../../src/engine/table/format/manifest.ts'
import type { LoadedSnapshot } from '../../../../src/engine/table/format/snapshot.ts'
import { decodeArrow, type Snapshot, tableEngine, toArrowTable } from '../../../../src/engine/table/index.ts'

const numbers = (start: number, count: number) =>
  toArrowTable(Array.from({ length: count }, (_, i) => ({ n: start + i })))

function setUp() {
  const content = memoryContent()
  const engine = tableEngine({ content, fragmentRows: 64 })
  const idsOf = async (snapshot: Snapshot, query = {}) => {
    const table = await decodeArrow(
      await engine.queryRows(snapshot, { columns: ['n', '_rowid', '_rowoffset'], ...query }),
    )
    const [n, ids, offsets] = table.children.map((column) => [...column].map(Number))
    expect(new Set(ids).size).toBe(ids!.length)
    return { ids: new Map(n!.map((value, i) => [value, ids![i]!])), offsets: offsets! }
  }
  return { content, engine, idsOf }
}

test('an id names the same row as long as it is not written again, and never another one', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('insert' as const), count: fc.integer({ min: 1, max: 90 }) }),
    fc.record({ kind: fc.constant('delete' as const), from: fc.nat(400), count: fc.nat(100) }),
    fc.record({ kind: fc.constant('optimize' as const) }),
    fc.record({ kind: fc.constant('restore' as const), to: fc.nat(20) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const { engine, idsOf } = setUp()
      let next = 40
      let snapshot = await engine.create('t', await numbers(0, next))
      const versions = [snapshot]
      /** The number of the row that an id was given to. */
      const owners = new Map<number, number>()
      for (const step of steps) {
        const before = (await idsOf(snapshot)).ids
        for (const [n, id] of before) {
          expect(owners.get(id) ?? n).toBe(n)
          owners.set(id, n)
        }
        if (step.kind === 'insert') {
          snapshot = (
            await (await engine.insertRows(snapshot, await numbers(next, step.count))).apply(snapshot)
          ).snapshot
          next += step.count
        } else if (step.kind === 'delete') {
          const predicate = `n >= ${step.from} AND n < ${step.from + step.count}`
          snapshot = (await engine.deleteRows(predicate).apply(snapshot)).snapshot
        } else if (step.kind === 'optimize') {
          snapshot = (await (await engine.optimizeRows(snapshot)).apply(snapshot)).snapshot
        } else {
          snapshot = (await engine.restoreTo(versions[step.to % versions.length]!).apply(snapshot)).snapshot
        }
        versions.push(snapshot)
        const { ids, offsets } = await idsOf(snapshot)
        expect(offsets).toEqual(offsets.map((_, i) => i))
        if (step.kind === 'insert' || step.kind === 'delete') {
          for (const [n, id] of ids) if (before.has(n)) expect(id).toBe(before.get(n))
        }
        // Rows are found by what names them.
        const some = [...ids].filter((_, i) => i % 7 === 0)
        if (some.length === 0) continue
        const list = some.map(([, id]) => id).join()
        expect([...(await idsOf(snapshot, { filter: `_rowid IN (${list})` })).ids.keys()]).toEqual(
          some.map(([n]) => n),
        )
      }
    }),
    { numRuns: 40 },
  )
})

test('manifests without ids open, and later versions keep the ids that they give', async () => {
  const { content, engine, idsOf } = setUp()
  let snapshot: Snapshot = await engine.create('t', await numbers(0, 150))
  snapshot = (await engine.deleteRows('n < 3 OR n > 140').apply(snapshot)).snapshot
  const { body, prefix } = snapshot as LoadedSnapshot
  const { nextId: _, tail, ...rest } = body
  const old = { ...rest, tail: tail.map(({ firstId: _, ...entry }) => entry) }
  const bytes = seal('manifest', manifestText(old), { columns: false, bases: false })
  expect(Buffer.from(bytes).toString()).not.toMatch(/firstId|nextId/)
  await content.put(`${prefix}_versions/old.json`, bytes)
  const opened = await engine.open('t', refOf('_versions/old.json', bytes))
  const { ids } = await idsOf(opened)
  expect([...ids].every(([n, id]) => n === id)).toBe(true)
  const insert = await engine.insertRows(opened, await numbers(150, 2))
  const { snapshot: later } = await insert.apply(opened)
  const { snapshot: last } = await engine.deleteRows('n < 64').apply(later)
  expect([...(await idsOf(last)).ids]).toEqual([...[...ids].filter(([n]) => n >= 64), [150, 150], [151, 151]])
})
