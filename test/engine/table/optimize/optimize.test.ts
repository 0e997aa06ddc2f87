import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  decodeArrow,
  type OptimizeOptions,
  type Snapshot,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { fixture, plain } from '../../arrow/fixtures.ts'

// It tries random changes beside a merge.
limitEach(60)

function setUp(options: { fragmentRows?: number } = {}) {
  const content = memoryContent()
  // Inserts are to leave what there is to merge.
  const engine = tableEngine({ content, levels: [], ...options })
  // What is read is what lies there, not what was kept in memory.
  const reader = tableEngine({ content, cacheBytes: 0 })
  return {
    content,
    engine,
    rowsOf: async (snapshot: Snapshot, query = {}) => {
      const opened = await reader.open(snapshot.prefix, snapshot.manifest)
      return (await decodeArrow(await reader.queryRows(opened, query))).toArray().map(plain)
    },
    async insert(snapshot: Snapshot, rows: Parameters<typeof toArrowTable>[0]) {
      const change = await engine.insertRows(snapshot, await toArrowTable(rows))
      return (await change.apply(snapshot)).snapshot
    },
    deleting: async (snapshot: Snapshot, predicate: string) =>
      (await engine.deleteRows(predicate).apply(snapshot)).snapshot,
    optimize: async (base: Snapshot, goals: OptimizeOptions = {}, head = base) =>
      (await engine.optimizeRows(base, goals)).apply(head),
  }
}

const numbers = (start: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ n: start + i, text: `row ${start + i}` }))

describe('merging fragments', () => {
  test('keeps rows of every type as they were, in their order, and leaves out deleted ones', async () => {
    const { engine, rowsOf, deleting, optimize } = setUp()
    const table = await decodeArrow(fixture('types.arrows'))
    let snapshot = await engine.create('t', table)
    for (let i = 0; i < 11; i++) {
      snapshot = (await (await engine.insertRows(snapshot, table)).apply(snapshot)).snapshot
      if (i % 3 === 0) snapshot = await deleting(snapshot, i % 2 === 0 ? 'i8 = 4' : "s = 'é' OR i8 IS NULL")
    }
    const before = await rowsOf(snapshot)
    expect(before.length).toBeLessThan(12 * 13 - 10)
    const { snapshot: after, affected } = await optimize(snapshot)
    expect(after).toMatchObject({ rows: before.length, deletedRows: 0, metadata: table.schema.metadata })
    // Dictionaries of lists are put after each other, and one of them is full at last.
    expect(after.fragments).toBeLessThan(6)
    expect(affected).toBe(after.rows)
    expect(await rowsOf(after)).toEqual(before)
    expect(await rowsOf(snapshot)).toEqual(before)
  })

  test('puts together what is more than it keeps in pieces', async () => {
    const { engine, insert, rowsOf, optimize } = setUp()
    let snapshot = await engine.create('t', await toArrowTable(numbers(0, 2)))
    for (let i = 1; i < 300; i++) snapshot = await insert(snapshot, numbers(2 * i, 2))
    const { snapshot: after } = await optimize(snapshot)
    expect(after).toMatchObject({ rows: 600, fragments: 1 })
    expect(after.bytes).toBeLessThan(snapshot.bytes / 10)
    expect(await rowsOf(after)).toEqual(numbers(0, 600))
  })

  test('cuts at the goals, and does nothing the second time', async () => {
    const { engine, insert, optimize, rowsOf } = setUp()
    let snapshot = await engine.create('t', await toArrowTable(numbers(0, 7)))
    for (let i = 1; i < 40; i++) snapshot = await insert(snapshot, numbers(7 * i, 7))
    const goals = { targetRows: 50 }
    expect(await engine.isOptimized(snapshot, goals)).toBe(false)
    const { snapshot: after } = await optimize(snapshot, goals)
    expect(after).toMatchObject({ rows: 280, fragments: 6 })
    expect(await rowsOf(after)).toEqual(numbers(0, 280))
    expect(await engine.isOptimized(after, goals)).toBe(true)
    expect((await optimize(after, goals)).snapshot).toBe(after)
    const bytes = { targetBytes: after.bytes / 3 }
    const smaller = await optimize(snapshot, bytes)
    expect(smaller.snapshot.fragments).toBeGreaterThan(1)
    expect(smaller.snapshot.fragments).toBeLessThan(20)
  })

  test('measures what it writes, so that a predicate passes over what cannot match', async () => {
    const { content, engine, insert, optimize } = setUp()
    let snapshot = await engine.create('t', await toArrowTable(numbers(0, 40)))
    for (let i = 1; i < 10; i++) snapshot = await insert(snapshot, numbers(40 * i, 40))
    const { snapshot: after } = await optimize(snapshot, { targetRows: 200 })
    expect(after.fragments).toBe(2)
    const read: string[] = []
    const watched = tableEngine({
      content: {
        ...content,
        get: (path, range) => {
          read.push(path)
          return content.get(path, range)
        },
      },
    })
    const opened = await watched.open('t', after.manifest)
    expect(await watched.countRows(opened, { predicate: 'n >= 390' })).toBe(10)
    expect(new Set(read.filter((path) => path.startsWith('t/data/'))).size).toBe(1)
  })

  test('writes a lone fragment anew from the share of deleted rows on', async () => {
    const { engine, deleting, optimize, rowsOf } = setUp()
    const whole = await engine.create('t', await toArrowTable(numbers(0, 1000)))
    const nine = await deleting(whole, 'n < 90')
    expect(await engine.isOptimized(nine)).toBe(true)
    expect(await engine.isOptimized(nine, { minDeletedShare: 0 })).toBe(false)
    expect(await engine.isOptimized(whole, { minDeletedShare: 0 })).toBe(true)
    const more = await deleting(nine, 'n < 100')
    const { snapshot: after, affected } = await optimize(more)
    expect(affected).toBe(900)
    expect(after).toMatchObject({ rows: 900, deletedRows: 0, fragments: 1 })
    expect(after.bytes).toBeLessThan(more.bytes)
    expect(await rowsOf(after)).toEqual(numbers(100, 900))
    expect(await rowsOf(whole)).toEqual(numbers(0, 1000))
  })

  test('leaves dictionaries apart that are too many for one, and makes no version of that', async () => {
    const { engine, optimize } = setUp()
    const fields = [
      { name: 'index', nullable: true, type: { type: 'uint8' } },
      { name: 'value', nullable: true, type: { type: 'string' } },
    ]
    const schema = { fields: [{ name: 'w', nullable: true, type: { type: 'dictionary', fields } }] }
    const words = (prefix: string) => Array.from({ length: 200 }, (_, i) => ({ w: `${prefix}${i}` }))
    let snapshot = await engine.create('t', await toArrowTable(words('a'), { schema }))
    const insert = await engine.insertRows(snapshot, await toArrowTable(words('b'), { schema }))
    snapshot = (await insert.apply(snapshot)).snapshot
    expect((await optimize(snapshot)).snapshot).toBe(snapshot)
  })

  test('while a table grows, gently, writes a row about as often as the table doubles', async () => {
    const { engine, insert, rowsOf } = setUp()
    let snapshot = await engine.create('t', await toArrowTable(numbers(0, 10)))
    let written = 0
    for (let i = 1; i < 256; i++) {
      snapshot = await insert(snapshot, numbers(10 * i, 10))
      if (i % 8 !== 0) continue
      const change = await engine.optimizeRows(snapshot, { gentle: true })
      const done = await change.apply(snapshot)
      snapshot = done.snapshot
      written += done.affected
      expect(snapshot.fragments).toBeLessThan(12)
    }
    expect(written).toBeLessThan(2560 * 6)
    expect(await rowsOf(snapshot)).toEqual(numbers(0, 2560))
  })

  test('stops when its signal says so, and leaves the table as it is', async () => {
    const { engine, insert, rowsOf } = setUp()
    let snapshot = await engine.create('t', await toArrowTable(numbers(0, 5)))
    for (let i = 1; i < 20; i++) snapshot = await insert(snapshot, numbers(5 * i, 5))
    const abort = new AbortController()
    const reason = new Error('enough')
    const seen: number[] = []
    const work = engine.optimizeRows(
      snapshot,
      {},
      {
        signal: abort.signal,
        onProgress: ({ rowsDone, rowsTotal }) => {
          expect(rowsTotal).toBe(100)
          seen.push(rowsDone)
          if (seen.length === 3) abort.abort(reason)
        },
      },
    )
    await expect(work).rejects.toBe(reason)
    expect(seen.slice(0, 3)).toEqual([5, 10, 15])
    expect(await rowsOf(snapshot)).toEqual(numbers(0, 100))
  })
})

describe('a merge that others overtake', () => {
  /** What happens to a table: rows come, some go, it becomes what it was, or is merged by somebody else. */
  const event = fc.oneof(
    { weight: 4, arbitrary: fc.record({ insert: fc.integer({ min: 1, max: 9 }) }) },
    { weight: 3, arbitrary: fc.record({ every: fc.integer({ min: 2, max: 7 }), rest: fc.nat(6) }) },
    { weight: 2, arbitrary: fc.record({ from: fc.nat(60), below: fc.nat(30) }) },
    { weight: 1, arbitrary: fc.record({ restore: fc.nat(20) }) },
    { weight: 1, arbitrary: fc.record({ overwrite: fc.nat(5) }) },
    { weight: 2, arbitrary: fc.record({ merge: fc.integer({ min: 8, max: 40 }) }) },
  )
  const goals = fc.record({
    targetRows: fc.integer({ min: 4, max: 100 }),
    minDeletedShare: fc.constantFrom(0, 0.1, 0.5),
    gentle: fc.boolean(),
  })

  test('keeps what they inserted and deleted, whatever it was', async () => {
    let replaced = 0
    let remapped = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 4, maxLength: 14, size: 'max' }),
        fc.boolean(),
        goals,
        goals,
        async (events, overtaken, own, other) => {
          const { engine, rowsOf, insert, deleting, optimize } = setUp()
          let next = 4
          let head = await engine.create('t', await toArrowTable(numbers(0, 4)))
          let model: { n: number }[] = numbers(0, 4)
          const versions = [{ snapshot: head, rows: model }]
          const started = overtaken ? events.length >> 1 : events.length
          let change: Awaited<ReturnType<typeof engine.optimizeRows>> | undefined
          for (const [i, event] of events.entries()) {
            if (i === started) change = await engine.optimizeRows(head, own)
            if ('insert' in event) {
              head = await insert(head, numbers(next, event.insert))
              model = [...model, ...numbers(next, event.insert)]
              next += event.insert
            } else if ('every' in event) {
              head = await deleting(head, `n % ${event.every} = ${event.rest}`)
              model = model.filter(({ n }) => n % event.every !== event.rest)
            } else if ('from' in event) {
              const end = event.from + event.below
              head = await deleting(head, `n >= ${event.from} AND n < ${end}`)
              model = model.filter(({ n }) => n < event.from || n >= end)
            } else if ('restore' in event) {
              const old = versions[event.restore % versions.length]!
              head = (await engine.restoreTo(old.snapshot).apply(head)).snapshot
              model = old.rows
            } else if ('overwrite' in event) {
              const rows = numbers(next, event.overwrite + 1)
              head = (await (await engine.overwriteRows('t', await toArrowTable(rows))).apply(head)).snapshot
              model = rows
              next += rows.length
            } else {
              head = (await optimize(head, { ...other, targetRows: event.merge })).snapshot
            }
            versions.push({ snapshot: head, rows: model })
            // An attempt that is lost; the next one builds on what came instead.
            if (change && i % 3 === 0) {
              const lost = await change.apply(head)
              expect(await rowsOf(lost.snapshot)).toEqual(model)
            }
          }
          change ??= await engine.optimizeRows(head, own)
          const after = await change.apply(head)
          if (after.snapshot !== head) replaced++
          if (after.snapshot.deletedRows > 0 && after.snapshot !== head) remapped++
          versions.push({ snapshot: after.snapshot, rows: model })
          for (const { snapshot, rows } of versions) {
            expect(snapshot.rows).toBe(rows.length)
            expect(await rowsOf(snapshot)).toEqual(rows)
          }
          const reread = await engine.open('t', after.snapshot.manifest)
          expect(await engine.countRows(reread, { predicate: 'n % 2 = 0' })).toBe(
            model.filter(({ n }) => n % 2 === 0).length,
          )
          if (started < events.length || own.gentle) return
          expect(await engine.isOptimized(after.snapshot, own)).toBe(true)
        },
      ),
      { numRuns: Number(process.env.HISTORY_RUNS ?? 1) * 120 },
    )
    expect(replaced).toBeGreaterThan(30)
    expect(remapped).toBeGreaterThan(0)
  })
})
