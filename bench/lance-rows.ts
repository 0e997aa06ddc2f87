/** What do rows of Lance's tables cost through the catalog, beside Lance's own package? */
import { join } from 'node:path'
import {
  columnFromArray,
  type Field,
  field,
  fixedSizeList,
  float32,
  int32,
  Table,
  utf8,
} from '@uwdata/flechette'
import { openCatalog } from '../dist/tabularium/index.js'
import { makeBatch, makeColumn } from '../src/engine/arrow/batch.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { cpuTime, race } from './support/measure.ts'
import { arrowTable, lancedb } from './support/peers/lance-rows.ts'
import { count, pick, rounds } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

/* Environment: ONLY (part of a question's name), ROUNDS, ROWS. */

const rows = Number(process.env.ROWS ?? pick(10_000, 100_000))
const turns = Number(process.env.ROUNDS ?? rounds)
const dimension = 64
const mostCost = 1.2

about(`A table of ${count(rows)} rows (an integer, a number, a text of five words, a vector of ${dimension} float32), written by Lance on
both sides: through a catalog on disk, with its records and syncs, and by Lance's package alone. Both tables are changed
in the same way in each turn. The vectors have an index IVF_PQ, the texts one for words. Lance's package syncs no file;
ours syncs the record and the manifest of each change. Processor time is that of all threads of the process.`)

const folder = newFolder('lance-rows')
const catalog = await openCatalog(join(folder, 'ours'), { format: 'lance' })
const id = ['rows']
const columns = ['id', 'a']
const first = arrowBytes(rowsFrom(0, rows))
await catalog.createTable({ id, data: first })
const table = await (await lancedb().connect(join(folder, 'lance'))).createTable(
  'rows',
  arrowTable(first) as never,
)
await makeIndexes()
const vector = Array.from({ length: dimension }, (_, i) => Math.sin(i))
let next = rows

interface Question {
  readonly name: string
  readonly times: number
  /** Work before each turn, outside of the clock: what both sides are given. */
  readonly given?: () => Uint8Array
  readonly ours: (given: Uint8Array) => Promise<unknown>
  readonly theirs: (given: Uint8Array) => Promise<unknown>
}

const questions: Question[] = [
  {
    name: 'count all rows',
    times: 50,
    ours: () => catalog.countTableRows({ id }),
    theirs: () => table.countRows(),
  },
  {
    name: 'count by a predicate',
    times: 10,
    ours: () => catalog.countTableRows({ id, predicate: 'a > 500' }),
    theirs: () => table.countRows('a > 500'),
  },
  {
    name: 'a few rows by a predicate',
    times: 10,
    ours: () => catalog.queryTable({ id, filter: 'id = 4711', columns: { column_names: columns } }),
    theirs: () => table.query().where('id = 4711').select(columns).toArrow(),
  },
  {
    name: 'half of the rows',
    times: 2,
    ours: () =>
      catalog.queryTable({ id, filter: 'a < 500', columns: { column_names: ['id', 'a', 'words'] } }),
    theirs: () => table.query().where('a < 500').select(['id', 'a', 'words']).toArrow(),
  },
  {
    name: 'all rows with vectors',
    times: 1,
    ours: () => catalog.queryTable({ id }),
    theirs: () => table.query().toArrow(),
  },
  {
    name: 'nearest vectors by an index',
    times: 10,
    ours: () =>
      catalog.queryTable({
        id,
        vector: { single_vector: vector },
        k: 10,
        columns: { column_names: columns },
      }),
    theirs: () =>
      table
        .query()
        .nearestTo(vector)
        .select([...columns, '_distance'])
        .limit(10)
        .toArrow(),
  },
  {
    name: 'texts by an index',
    times: 10,
    ours: () =>
      catalog.queryTable({
        id,
        full_text_query: { string_query: { query: 'w17 w4', columns: ['words'] } },
        k: 10,
        columns: { column_names: columns },
      }),
    theirs: () =>
      table
        .query()
        .fullTextSearch('w17 w4', { columns: ['words'] })
        .select([...columns, '_score'])
        .limit(10)
        .toArrow(),
  },
  {
    name: 'insert one row',
    times: 10,
    given: () => more(1),
    ours: (data) => catalog.insertIntoTable({ id, data }),
    theirs: (data) => table.add(arrowTable(data) as never),
  },
  {
    name: `insert ${count(rows)} rows`,
    times: 1,
    given: () => more(rows),
    ours: (data) => catalog.insertIntoTable({ id, data }),
    theirs: (data) => table.add(arrowTable(data) as never),
  },
  {
    name: 'update one in 100',
    times: 1,
    ours: () => catalog.updateTable({ id, updates: [['a', 'a + 1']], predicate: 'id % 100 = 3' }),
    theirs: () => table.update({ where: 'id % 100 = 3', valuesSql: { a: 'a + 1' } }),
  },
  {
    name: 'merge 1,000 rows, half of which are new',
    times: 1,
    given: () => {
      next += 500
      return arrowBytes(rowsFrom(next - 1_000, 1_000))
    },
    ours: (data) =>
      catalog.mergeInsertIntoTable({
        id,
        on: 'id',
        data,
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
      }),
    theirs: (data) =>
      table
        .mergeInsert('id')
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute(arrowTable(data) as never),
  },
  {
    name: 'delete one in 1,000',
    times: 1,
    ours: () => catalog.deleteFromTable({ id, predicate: 'id % 1000 = 5' }),
    theirs: () => table.delete('id % 1000 = 5'),
  },
]

for (const question of questions) if (question.name.includes(process.env.ONLY ?? '')) await ask(question)
const counted = await catalog.countTableRows({ id })
if (counted.count !== (await table.countRows())) throw new Error('The tables differ after the same changes.')
await catalog.close()

async function ask({ name, times, given, ours, theirs }: Question): Promise<void> {
  const used: Record<string, number[]> = { ours: [], lance: [] }
  let waiting: Uint8Array[] = []
  /** The rows that a turn is given are those of the other side in the same round. */
  const contender =
    (who: 'ours' | 'lance', run: (given: Uint8Array) => Promise<unknown>) => async (round: number) => {
      const mine = waiting.length > 0 ? waiting.splice(0) : undefined
      const rows = mine ?? Array.from({ length: times }, () => given?.() ?? new Uint8Array())
      if (mine === undefined) waiting = [...rows]
      const measured = await cpuTime(async () => {
        for (const one of rows) await run(one)
      })
      if (round > 0) used[who]!.push(measured.used / times)
      return measured.took / times
    }
  const took = await race(turns, { ours: contender('ours', ours), lance: contender('lance', theirs) })
  const compare = (title: string, samples: Record<string, number[]>, isTarget: boolean) =>
    figure(title, samples.ours!, {
      unit: 'ms',
      against: [
        {
          peer: "Lance's package",
          samples: samples.lance!,
          as: 'cost',
          target: isTarget ? { atMost: mostCost, group: 'rows of Lance against its package' } : undefined,
          remark: given ? 'theirs is not synced to disk' : undefined,
        },
      ],
    })
  compare(name, took, name !== 'insert one row')
  compare(`${name}: processor time`, used, false)
  if (name !== 'insert one row') return
  const least = (samples: readonly number[]) => Math.min(...samples)
  figure(`${name}, beyond Lance's package`, [least(took.ours!) - least(took.lance!)], {
    unit: 'ms',
    target: { atMost: 5 },
    remark: 'the best turns of both',
  })
}

function more(length: number): Uint8Array {
  next += length
  return arrowBytes(rowsFrom(next - length, length))
}

async function makeIndexes(): Promise<void> {
  const partitions = 16
  await catalog.createTableIndex({
    id,
    column: 'vector',
    index_type: 'IVF_PQ',
    distance_type: 'l2',
    num_partitions: partitions,
  } as never)
  await catalog.createTableIndex({ id, column: 'words', index_type: 'FTS' } as never)
  const { Index } = lancedb()
  await table.createIndex('vector', {
    config: Index.ivfPq({ numPartitions: partitions, distanceType: 'l2' }),
  })
  await table.createIndex('words', { config: Index.fts() })
}

/** Rows whose values follow from their numbers. */
function rowsFrom(start: number, length: number): Table {
  const numbers = Array.from({ length }, (_, i) => start + i)
  const mixed = numbers.map((n) => Math.imul(n, 2_654_435_761) >>> 0)
  const ids = Int32Array.from(numbers)
  const a = Int32Array.from(mixed, (m) => m % 1_000)
  const vectors = Float32Array.from({ length: length * dimension }, (_, i) => {
    const n = numbers[Math.floor(i / dimension)]!
    return Math.sin(n * 12.9898 + (i % dimension) * 78.233)
  })
  const words = mixed.map((m) => [0, 1, 2, 3, 4].map((i) => `w${(m >>> (i * 5)) % 997}`).join(' '))
  const type = fixedSizeList(field('item', float32()), dimension)
  const items = makeBatch(float32(), { length: vectors.length, values: vectors })
  const fields: Field[] = [
    field('id', int32()),
    field('a', int32()),
    field('words', utf8()),
    field('vector', type),
  ]
  return new Table({ version: 4, endianness: 0, fields, metadata: null } as never, [
    makeColumn(int32(), [makeBatch(int32(), { length, values: ids })]),
    makeColumn(int32(), [makeBatch(int32(), { length, values: a })]),
    columnFromArray(words, utf8()),
    makeColumn(type, [makeBatch(type, { length, children: [items] })]),
  ])
}
