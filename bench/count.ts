/** How fast are ten million rows counted by predicate, beside DuckDB and LanceDB? */
import { join } from 'node:path'
import { fileContent } from '../src/contents/files/index.ts'
import { type Snapshot, type TableEngine, tableEngine } from '../src/engine/table/index.ts'
import { arrowBytes } from './support/arrow-bytes.ts'
import { about, figure } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { duckdbCounts } from './support/peers/duckdb.ts'
import { arrowTable, lancedb } from './support/peers/lance-rows.ts'
import {
  further,
  type MeasuredPredicate,
  predicates,
  type Seeds,
  seedsOf,
  tableOf,
} from './support/predicates.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

/*
 * Environment: ROWS, ONLY (part of a predicate's name), MORE=1 (further predicates), ROUNDS, LANCE=0 (without it).
 */

const rows = Number(process.env.ROWS ?? pick(500_000, 10_000_000))
const turns = Number(process.env.ROUNDS ?? pick(2, 5))
const chunk = 1_048_576
const folder = newFolder('count')
const asked = [...predicates, ...(process.env.MORE === '1' ? further : [])].filter(
  ({ name }) => process.env.ONLY === undefined || name.includes(process.env.ONLY),
)

about(`${count(rows)} rows of thirteen columns, counted by fifteen predicates; all count rows they have read before.
Ours and LanceDB's lie in files, DuckDB's in memory. Ours on one thread counts on the main thread, on two in two
worker threads; DuckDB is asked with one thread and with two; LanceDB uses all cores. "Deleted" is our table after
a tenth of its rows were deleted. All answers are compared.`)

const headlines: Record<string, string> = {
  number: `Count ${count(rows)} rows: a > 500`,
}

type Count = (question: MeasuredPredicate) => Promise<number>

const seeds = seedsOf(rows)
const counters: Record<string, Count> = { ...(await ours(seeds)), ...(await others(seeds)) }
for (const question of asked) await ask(question)
// Worker threads need not be waited for.
process.exit()

async function ask(question: MeasuredPredicate): Promise<void> {
  const answers: Record<string, number> = {}
  const took = await race(
    turns,
    Object.fromEntries(
      Object.entries(counters).map(([who, run]) => [
        who,
        async () => {
          // DuckDB takes its number of threads with a statement of its own.
          if (who.startsWith('DuckDB')) await run({ name: '', predicate: 'false' })
          return milliseconds(async () => {
            answers[who] = await run(question)
          })
        },
      ]),
    ),
  )
  const { deleted: _, ...same } = answers
  if (new Set(Object.values(same)).size > 1)
    throw new Error(`${question.predicate}: ${JSON.stringify(answers)}`)
  conclude(question, took)
}

function conclude({ name, predicate }: MeasuredPredicate, took: Record<string, number[]>): void {
  const what = `${name} (${predicate})`
  const against = (peer: string, atLeast: number, remark: string) =>
    peer in took
      ? [
          {
            peer,
            samples: took[peer]!,
            remark,
            target: { atLeast, group: `speed of counting against ${peer}` },
          },
        ]
      : []
  const lance = against('LanceDB', 3, 'it uses all cores')
  figure(`count: ${what}, one thread`, took.one!, {
    unit: 'ms',
    headline: headlines[name],
    against: [
      ...against('DuckDB, 1 thread', 1, 'its table is in memory'),
      ...('two' in took ? lance.map(({ target: _, ...one }) => one) : lance),
    ],
  })
  if (took.two) {
    figure(`count: ${what}, two threads`, took.two, {
      unit: 'ms',
      against: [...against('DuckDB, 2 threads', 1, 'its table is in memory'), ...lance],
    })
  }
  figure(`count: ${what}, a tenth deleted`, took.deleted!, {
    unit: 'ms',
    against: [
      {
        peer: 'nothing deleted',
        samples: took.one!,
        as: 'cost',
        target: { atMost: 1.3, group: 'counting with a tenth deleted against none' },
      },
    ],
  })
}

async function ours(seeds: Seeds): Promise<Record<string, Count>> {
  const content = fileContent(join(folder, 'ours'))
  const engineOf = (threads: number) =>
    tableEngine({ content, cacheBytes: 3 * 1024 ** 3, threads, threadedAfter: 0 })
  const single = engineOf(0)
  let all: Snapshot | undefined
  for (let start = 0; start < rows; start += chunk) {
    const table = tableOf(seeds, start, Math.min(start + chunk, rows))
    all = all
      ? (await (await single.insertRows(all, table)).apply(all)).snapshot
      : await single.create('rows', table)
  }
  const { snapshot: some } = await single.deleteRows('key % 10 = 3').apply(all!)
  const on = (engine: TableEngine, snapshot: Snapshot) => (question: MeasuredPredicate) =>
    engine.countRows(snapshot, { predicate: question.predicate })
  return { one: on(single, all!), two: on(engineOf(2), all!), deleted: on(single, some) }
}

/** The report names a peer that is missing, and leaves it out. */
async function others(seeds: Seeds): Promise<Record<string, Count>> {
  const found: Record<string, Count> = {}
  try {
    const { one, two } = await duckdbCounts(seeds)
    found['DuckDB, 1 thread'] = ({ predicate, duckdb = predicate }) => one(duckdb)
    found['DuckDB, 2 threads'] = ({ predicate, duckdb = predicate }) => two(duckdb)
  } catch (error) {
    console.error(`Without DuckDB: ${(error as Error).message}`)
  }
  if (process.env.LANCE === '0') return found
  const database = await lancedb().connect(join(folder, 'lance'))
  const part = (start: number) => arrowTable(arrowBytes(tableOf(seeds, start, Math.min(start + chunk, rows))))
  const table = await database.createTable('rows', part(0) as never)
  for (let start = chunk; start < rows; start += chunk) await table.add(part(start) as never)
  found.LanceDB = ({ predicate, lancedb = predicate }) => table.countRows(lancedb)
  return found
}
