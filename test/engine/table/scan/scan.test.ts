import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Content } from '../../../../src/base/content/content.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import {
  decodeArrow,
  fromJsonSchema,
  type Snapshot,
  tableEngine,
  toArrowTable,
} from '../../../../src/engine/table/index.ts'
import { contentWith } from '../../../support/contents.ts'

interface Row {
  readonly n: number | null
  readonly s: string
}

const schema = fromJsonSchema({
  fields: [
    { name: 'n', nullable: true, type: { type: 'int32' } },
    { name: 's', nullable: true, type: { type: 'string' } },
  ],
})

const tableOf = (rows: readonly Row[]) => toArrowTable(rows as never, { schema })
const rowsFrom = (start: number, count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({
    n: (start + i) % 11 === 5 ? null : start + i,
    s: `s${start + i}`,
  }))

/** Predicates, with what they mean. */
const predicates: readonly (readonly [string, (n: number) => boolean])[] = [
  ['n = 40', (n) => n === 40],
  ['n < 70', (n) => n < 70],
  ['n >= 100', (n) => n >= 100],
  ['n >= 0', () => true],
  ['n < 0', () => false],
  ['n % 3 = 0', (n) => n % 3 === 0],
  ['n % 7 = 1', (n) => n % 7 === 1],
  ['n <> 12', (n) => n !== 12],
]
const holds =
  ([, test]: (typeof predicates)[number]) =>
  ({ n }: Row) =>
    n !== null && test(n)

/** The content, and the paths that are read of it. */
function watch(content: Content) {
  const reads: string[] = []
  const watched = contentWith(content, {
    get(path, range) {
      reads.push(path)
      return content.get(path, range)
    },
  })
  return { watched, reads }
}

function setUp(fragmentRows = 64) {
  const content = memoryContent()
  const { watched, reads } = watch(content)
  const engine = tableEngine({ content: watched, fragmentRows })
  const rowsOf = async (snapshot: Snapshot, query = {}) =>
    (await decodeArrow(await engine.queryRows(snapshot, query))).toArray() as Row[]
  return { content, engine, rowsOf, reads }
}

const action = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), count: fc.integer({ min: 0, max: 150 }) }),
  fc.record({ kind: fc.constant('delete' as const), which: fc.nat(predicates.length - 1) }),
  fc.record({ kind: fc.constant('restore' as const), to: fc.nat(20) }),
)

test('a table holds what a plain list holds after the same changes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 1, maxLength: 8 }),
      fc.nat(160),
      fc.nat(80),
      async (actions, offset, limit) => {
        const { engine, rowsOf, content } = setUp()
        const versions: { snapshot: Snapshot; rows: readonly Row[] }[] = []
        versions.push({
          snapshot: await engine.create('t', await tableOf(rowsFrom(0, 100))),
          rows: rowsFrom(0, 100),
        })
        let next = 100
        for (const one of actions) {
          const { snapshot, rows } = versions.at(-1)!
          if (one.kind === 'insert') {
            const added = rowsFrom(next, one.count)
            next += one.count
            const change = await engine.insertRows(snapshot, await tableOf(added))
            const done = await change.apply(snapshot)
            expect(done.affected).toBe(added.length)
            versions.push({ snapshot: done.snapshot, rows: [...rows, ...added] })
          } else if (one.kind === 'delete') {
            const predicate = predicates[one.which]!
            const left = rows.filter((row) => !holds(predicate)(row))
            const done = await engine.deleteRows(predicate[0]).apply(snapshot)
            expect(done.affected).toBe(rows.length - left.length)
            versions.push({ snapshot: done.snapshot, rows: left })
          } else {
            const old = versions[one.to % versions.length]!
            const done = await engine.restoreTo(old.snapshot).apply(snapshot)
            versions.push({ snapshot: done.snapshot, rows: old.rows })
          }
        }
        const fresh = tableEngine({ content })
        for (const { snapshot, rows } of versions) {
          expect(snapshot.rows).toBe(rows.length)
          expect(await engine.countRows(snapshot)).toBe(rows.length)
        }
        const { snapshot, rows } = versions.at(-1)!
        expect(await rowsOf(snapshot)).toEqual(rows)
        expect(await rowsOf(snapshot, { offset, limit })).toEqual(rows.slice(offset, offset + limit))
        for (const predicate of predicates) {
          const matching = rows.filter(holds(predicate))
          const filter = predicate[0]
          expect(await fresh.countRows(await fresh.open('t', snapshot.manifest), { predicate: filter })).toBe(
            matching.length,
          )
          expect(await rowsOf(snapshot, { filter })).toEqual(matching)
          expect(await rowsOf(snapshot, { filter, offset: offset >> 2, limit })).toEqual(
            matching.slice(offset >> 2, (offset >> 2) + limit),
          )
        }
      },
    ),
    { numRuns: 40 },
  )
})

describe('a delete applied again', () => {
  test('to what was inserted and deleted meanwhile', async () => {
    const { engine, rowsOf } = setUp()
    const rows = rowsFrom(0, 200)
    const base = await engine.create('t', await tableOf(rows))
    const mine = engine.deleteRows('n % 3 = 0')
    const first = await mine.apply(base)
    expect(first.affected).toBe(rows.filter(({ n }) => n !== null && n % 3 === 0).length)
    const theirs = await engine.deleteRows('n % 7 = 1').apply(base)
    const added = rowsFrom(200, 100)
    const inserted = await (await engine.insertRows(base, await tableOf(added))).apply(theirs.snapshot)
    const again = await mine.apply(inserted.snapshot)
    const left = [...rows, ...added].filter(({ n }) => n === null || n % 7 !== 1 || n >= 200)
    expect(await rowsOf(again.snapshot)).toEqual(left.filter(({ n }) => n === null || n % 3 !== 0))
    expect(again.affected).toBe(left.filter(({ n }) => n !== null && n % 3 === 0).length)
  })

  test('after rows came back that it had not seen', async () => {
    const { engine, rowsOf } = setUp()
    const rows = rowsFrom(0, 60)
    const whole = await engine.create('t', await tableOf(rows))
    const fewer = (await engine.deleteRows('n < 30').apply(whole)).snapshot
    const mine = engine.deleteRows('n % 3 = 0')
    await mine.apply(fewer)
    const restored = (await engine.restoreTo(whole).apply(fewer)).snapshot
    const done = await mine.apply(restored)
    expect(await rowsOf(done.snapshot)).toEqual(rows.filter(({ n }) => n === null || n % 3 !== 0))
  })

  test('does not read again what it has read', async () => {
    const { engine, reads } = setUp()
    const base = await engine.create('t', await tableOf(rowsFrom(0, 64)))
    const mine = engine.deleteRows('n % 3 = 0')
    await mine.apply(base)
    const inserted = await (await engine.insertRows(base, await tableOf(rowsFrom(64, 3)))).apply(base)
    reads.length = 0
    await mine.apply(inserted.snapshot)
    expect(new Set(reads.filter((path) => path.startsWith('t/data/'))).size).toBe(1)
  })
})

describe('what is not needed is not read', () => {
  test('counting without a predicate reads no rows', async () => {
    const { engine, content } = setUp()
    const base = await engine.create('t', await tableOf(rowsFrom(0, 300)))
    const { snapshot } = await engine.deleteRows('n % 3 = 0').apply(base)
    const { watched, reads } = watch(content)
    const fresh = tableEngine({ content: watched })
    const opened = await fresh.open('t', snapshot.manifest)
    expect(await fresh.countRows(opened)).toBe(snapshot.rows)
    expect(reads).toEqual([`t/${snapshot.manifest.path}`])
    // Statistics settle four fragments of five, and one column of the last is enough.
    reads.length = 0
    expect(await fresh.countRows(opened, { predicate: 'n >= 290' })).toBeGreaterThan(0)
    expect(new Set(reads.filter((path) => path.startsWith('t/data/'))).size).toBe(1)
    reads.length = 0
    expect((await decodeArrow(await fresh.queryRows(opened, { limit: 3 }))).numRows).toBe(3)
    expect(new Set(reads.filter((path) => path.startsWith('t/data/'))).size).toBe(1)
  })

  test('a delete leaves fragments alone that it does not touch, and drops empty ones', async () => {
    const { engine, content } = setUp()
    const base = await engine.create('t', await tableOf(rowsFrom(0, 300)))
    const before = new Set<string>()
    for await (const { path } of content.list('t/')) before.add(path)
    const { snapshot } = await engine.deleteRows('n = 40').apply(base)
    const written: string[] = []
    for await (const { path } of content.list('t/')) if (!before.has(path)) written.push(path.split('/')[1]!)
    expect(written.sort()).toEqual(['_versions', 'deletions'])
    expect(snapshot).toMatchObject({ fragments: 5, deletedRows: 1, rows: 299 })
    const cleared = (await engine.deleteRows('n >= 0').apply(snapshot)).snapshot
    expect(cleared.rows).toBe(rowsFrom(0, 300).filter(({ n }) => n === null).length)
    const none = (await engine.overwriteRows('t', await tableOf(rowsFrom(1, 3)))).apply(cleared)
    const emptied = (await engine.deleteRows('n >= 0').apply((await none).snapshot)).snapshot
    expect(emptied).toMatchObject({ fragments: 0, rows: 0, deletedRows: 0, bytes: 0 })
  })

  test('what a change deletes from fragments is one Arrow file of one boolean column', async () => {
    const { engine, content } = setUp()
    const rows = rowsFrom(0, 300)
    const base = await engine.create('t', await tableOf(rows))
    await engine.deleteRows('n % 7 = 3').apply(base)
    const files: unknown[][] = []
    for await (const { path } of content.list('t/deletions/')) {
      const table = await decodeArrow((await content.get(path))!)
      expect(table.names).toEqual(['deleted'])
      files.push(Array.from(table.children[0]!))
    }
    expect(files).toEqual([rows.map(({ n }) => n !== null && n % 7 === 3)])
  })

  test('what versions reach, and nothing else, is listed', async () => {
    const { engine, content } = setUp()
    const one = await engine.create('t', await tableOf(rowsFrom(0, 100)))
    const two = (await engine.deleteRows('n = 40').apply(one)).snapshot
    const orphan = await engine.insertRows(two, await tableOf(rowsFrom(100, 100)))
    await orphan.apply(two)
    const all = new Set<string>()
    for await (const { path } of content.list('t/')) all.add(path)
    const reached = new Set<string>()
    for await (const path of engine.reachable('t', [one.manifest, two.manifest])) reached.add(path)
    expect([...reached].every((path) => all.has(path))).toBe(true)
    expect(all.size - reached.size).toBe(3)
    for (const path of all) if (!reached.has(path)) await content.remove(path)
    const fresh = tableEngine({ content })
    expect(
      await fresh.countRows(await fresh.open('t', two.manifest), { predicate: 'n < 70' }),
    ).toBeGreaterThan(0)
  })
})

describe('long work', () => {
  test('reports how far it is', async () => {
    const { engine } = setUp()
    const base = await engine.create('t', await tableOf(rowsFrom(0, 150)))
    const seen: number[] = []
    const onProgress = ({ rowsDone, rowsTotal }: { rowsDone: number; rowsTotal: number }) => {
      expect(rowsTotal).toBe(150)
      seen.push(rowsDone)
    }
    await engine.countRows(base, { predicate: 'n % 3 = 0', onProgress })
    await engine.deleteRows('n % 3 = 0').apply(base, { onProgress })
    await engine.queryRows(base, { filter: 'n % 3 = 0', onProgress })
    expect(seen).toEqual([64, 128, 150, 64, 128, 150, 64, 128, 150])
  })

  test('stops when it is aborted, with the reason', async () => {
    const { engine } = setUp()
    const base = await engine.create('t', await tableOf(rowsFrom(0, 1000)))
    for (const run of [
      (signal: AbortSignal, onProgress: () => void) =>
        engine.countRows(base, { predicate: 'n % 3 = 0', signal, onProgress }),
      (signal: AbortSignal, onProgress: () => void) =>
        engine.deleteRows('n % 3 = 0').apply(base, { signal, onProgress }),
      (signal: AbortSignal, onProgress: () => void) =>
        engine.queryRows(base, { filter: 'n % 3 = 0', signal, onProgress }),
    ]) {
      const controller = new AbortController()
      const work = run(controller.signal, () => controller.abort(new Error('enough')))
      await expect(work).rejects.toThrow('enough')
    }
  })
})

test('of a large fragment any columns are read, the first one together with what comes before it', async () => {
  const rows = rowsFrom(0, 30_000)
  const content = memoryContent()
  const table = await tableEngine({ content }).create('t', await tableOf(rows))
  const model: readonly (readonly [string, (row: Row) => boolean])[] = [
    ['n % 7 = 3', ({ n }) => n !== null && n % 7 === 3],
    ["s LIKE 's12%'", ({ s }) => s.startsWith('s12')],
    ["n > 20000 AND s LIKE '%5'", ({ n, s }) => n !== null && n > 20_000 && s.endsWith('5')],
  ]
  for (const first of [0, 1, 2]) {
    const asked: string[] = []
    const watched = contentWith(content, {
      get: (path, range) => {
        asked.push(`${path} ${range?.start} ${range?.end}`)
        return content.get(path, range)
      },
    })
    const engine = tableEngine({ content: watched })
    for (let i = 0; i < model.length; i++) {
      const [predicate, holds] = model[(first + i) % model.length]!
      expect(await engine.countRows(table, { predicate })).toBe(rows.filter(holds).length)
    }
    // No part is read twice.
    expect(new Set(asked).size).toBe(asked.length)
  }
})
