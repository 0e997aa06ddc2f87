import { rm } from 'node:fs/promises'
import { int32, type Table, tableFromColumns } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Content } from '../../../../src/base/content/content.ts'
import { fileContent } from '../../../../src/contents/files/index.ts'
import { memoryContent } from '../../../../src/contents/memory/index.ts'
import { makeColumn } from '../../../../src/engine/arrow/batch.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import {
  type Change,
  decodeArrow,
  type Snapshot,
  type TableEngine,
  tableEngine,
} from '../../../../src/engine/table/index.ts'
import { Draw } from '../../../support/draw.ts'
import { temporaryDirectory } from '../../../support/folders.ts'
import { limitEach } from '../../../support/time-limit.ts'
import { batchOf } from '../../predicate/evaluate/batches.ts'
import { type IndexedKind, kinds } from './kinds.ts'

// It writes some million rows.
limitEach(240)

/*
 * Two tables have the same rows and the same changes, and one has indexes. Every answer, count and change of one is that
 * of the other.
 */

/** Rows of a fragment: it has an index, and several buckets. */
const fragmentRows = 5_120

interface Column {
  readonly name: string
  readonly kind: IndexedKind
}

/** A column's field with the index, in the syntax of predicates. */
const pathOf = ({ name, kind }: Column) => (kind.within ? `${name}.${kind.within}` : name)

function rowsOf(draw: Draw, columns: readonly Column[], first: number, count: number): Table {
  const valueAt = ({ kind }: Column, row: number): Scalar => {
    if (draw.chance(0.03)) return null
    return draw.chance(0.02) ? draw.oneOf(kind.rare) : kind.usual(row)
  }
  const numbers = Array.from({ length: count }, (_, i) => first + i)
  return tableFromColumns([
    ['n', makeColumn(int32(), [batchOf(int32(), numbers)])],
    ...columns.map((column): [string, ReturnType<typeof makeColumn>] => [
      column.name,
      column.kind.column(numbers.map((row) => valueAt(column, row))),
    ]),
  ] as never)
}

/** A value that a row may have, or that none has. */
function someValue(draw: Draw, { kind }: Column): string {
  const value = draw.chance(0.3) ? draw.oneOf(kind.rare) : kind.usual(draw.below(30_000))
  return kind.literal(value)
}

function equality(draw: Draw, column: Column): string {
  const path = pathOf(column)
  const value = () => someValue(draw, column)
  const list = () => Array.from({ length: 1 + draw.below(12) }, value).join(', ')
  return draw.oneOf([
    () => `${path} = ${value()}`,
    () => `${value()} = ${path}`,
    () => `${path} IN (${list()})`,
    () => `${path} IN (${list()}, NULL)`,
    () => `(${path} = ${value()} OR ${path} = ${value()})`,
  ])()
}

function predicate(draw: Draw, columns: readonly Column[]): string {
  const one = () => equality(draw, draw.oneOf(columns))
  return draw.oneOf([
    one,
    one,
    () => `${one()} AND n % 2 = 0`,
    () => `n > 3000 AND ${one()}`,
    () => `${one()} AND (${one()} OR n < 9000)`,
    () => `${one()} AND ${one()}`,
    () => `${one()} OR ${one()}`,
    () => `NOT ${one()}`,
    () => `${one()} AND _rowid > 2000`,
    () => `${one()} AND _rowoffset < 9000`,
    // Which rows fail depends on the order of the operands, and on nothing else.
    () => `${one()} AND 1 / (n % 4) >= 0`,
    () => `1 / (n - ${draw.below(12_000)}) >= 0 AND ${one()}`,
  ])()
}

/** What is done to both tables. */
class Pair {
  readonly engine: TableEngine
  indexed: Snapshot
  plain: Snapshot

  constructor(engine: TableEngine, indexed: Snapshot, plain: Snapshot) {
    this.engine = engine
    this.indexed = indexed
    this.plain = plain
  }

  /** Applies a change to both, which affects as many rows of one as of the other, or fails alike. */
  async change(make: (base: Snapshot) => Promise<Change> | Change, what = ''): Promise<void> {
    const [indexed, plain] = await Promise.all(
      [this.indexed, this.plain].map((base) => outcome(async () => (await make(base)).apply(base))),
    )
    if (indexed!.value === undefined || plain!.value === undefined) {
      expect(indexed!.error, what).toBe(plain!.error)
      return
    }
    expect(indexed!.value.affected).toBe(plain!.value.affected)
    this.indexed = indexed!.value.snapshot
    this.plain = plain!.value.snapshot
  }

  /** Asks both the same. */
  async ask(text: string, more: object): Promise<void> {
    const { engine } = this
    const query = { filter: text, columns: ['n'], withRowId: true, ...more }
    const answers = await Promise.all(
      [this.indexed, this.plain].map(async (snapshot) => [
        await outcome(() => engine.countRows(snapshot, { predicate: text })),
        await outcome(async () => (await decodeArrow(await engine.queryRows(snapshot, query))).toArray()),
      ]),
    )
    expect(answers[0], text).toEqual(answers[1])
  }
}

async function outcome<T>(work: () => Promise<T>): Promise<{ value?: T; error?: string }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error: (error as Error).message }
  }
}

async function play(content: Content, seed: number): Promise<void> {
  const draw = new Draw(seed)
  const cacheBytes = draw.oneOf([0, 1 << 20, 1 << 28])
  const engine = tableEngine({ content, fragmentRows, cacheBytes, ...(draw.chance(0.5) && { levels: [] }) })
  const columns = Array.from({ length: 3 }, (_, i) => ({
    name: `c${i}`,
    kind: kinds[draw.oneOf(Object.keys(kinds))]!,
  }))
  let rows = 0
  const more = (count: number) => {
    rows += count
    return rowsOf(draw, columns, rows - count, count)
  }
  const first = more(2 * fragmentRows + draw.below(6_000))
  const [indexed, plain] = await Promise.all([engine.create('a', first), engine.create('b', first)])
  const pair = new Pair(engine, indexed!, plain!)
  const insert = async (count: number) => {
    const added = more(count)
    await pair.change((base) => engine.insertRows(base, added))
  }
  await insert(draw.below(50))
  if (draw.chance(0.5)) await pair.change(() => engine.deleteRows('n % 5 = 3'))
  const { createIndices } = engine
  const wanted = columns.map((column, i) => ({
    column: pathOf(column),
    type: column.kind.index,
    parameters: {},
    uuid: String(i),
    createdAt: 0,
  }))
  pair.indexed = (await createIndices(wanted).apply(pair.indexed)).snapshot
  const steps = [
    () => insert(draw.oneOf([1, 40, 4_500])),
    () => {
      const text = predicate(draw, columns)
      return pair.change(() => engine.deleteRows(text), `delete ${text}`)
    },
    () => {
      const text = predicate(draw, columns)
      const options = { updates: [['n', 'n + 1']] as const, predicate: text }
      return pair.change((base) => engine.updateRows(base, options), `update ${text}`)
    },
    () => {
      const given = rowsOf(draw, columns, draw.below(rows), 1 + draw.below(5))
      const merge = { on: [columns[0]!.name], matched: 'update', inserts: true, orphans: 'keep' } as const
      return pair.change((base) => engine.mergeRows(base, given, merge))
    },
    async () => {
      const [a, b] = await Promise.all(
        [pair.indexed, pair.plain].map(async (base) => (await engine.optimizeRows(base)).apply(base)),
      )
      pair.indexed = a!.snapshot
      pair.plain = b!.snapshot
      expect(await engine.isOptimized(pair.indexed)).toBe(true)
    },
    () => {
      const column = { name: `more${draw.below(1e6)}`, expression: draw.oneOf(['n * 2', "'x'"]) }
      return pair.change(() => engine.addColumns([column]))
    },
  ]
  for (let step = 0; step < 5; step++) {
    for (let i = 0; i < 8; i++) {
      await pair.ask(predicate(draw, columns), draw.oneOf([{}, {}, { limit: 3 }, { limit: 2, offset: 1 }]))
    }
    await draw.oneOf(steps)()
  }
}

const runs = Number(process.env.HISTORY_RUNS ?? 1)
const seeds = fc.integer({ min: 1, max: 1e9 })

test('a table with indexes answers and changes as one without, in memory', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, (seed) => play(memoryContent(), seed)),
    { numRuns: 40 * runs },
  )
})

test('and on disk', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, async (seed) => {
      const folder = await temporaryDirectory()
      try {
        await play(fileContent(folder), seed)
      } finally {
        await rm(folder, { recursive: true })
      }
    }),
    { numRuns: 5 * runs },
  )
})
