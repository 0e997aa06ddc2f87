/**
 * Counting 10 million rows by fifteen predicates, beside DuckDB on one and on two threads and LanceDB, on the
 * same rows in the same process: `node --import tsx bench/count.ts [rows]`; `npm ci --prefix bench` first.
 *
 * Like for like: all of them count rows they have read before; ours and LanceDB's lie in files, DuckDB's in
 * memory. Ours on one thread counts on the main thread, on two in two worker threads; LanceDB uses all cores.
 * Environment: ONLY (part of a predicate's name), MORE=1 (further predicates), ROUNDS, LANCE=0 (without it),
 * PLAIN=1 (a line for each predicate as it is done).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileContent } from '../src/content/files.ts'
import { encodeArrow, joinParts } from '../src/data/arrow/encode.ts'
import { type Snapshot, type TableEngine, tableEngine } from '../src/data/index.ts'
import { median } from './support/measure.ts'
import {
  duckdbRows,
  further,
  type MeasuredPredicate,
  predicates,
  type Seeds,
  seedsOf,
  tableOf,
} from './support/predicates.ts'

const N = Number(process.argv[2] ?? 10_000_000)
const rounds = Number(process.env.ROUNDS ?? 5)
const withLance = process.env.LANCE !== '0'
const chunk = 1_048_576
const directory = mkdtempSync(join(tmpdir(), 'bench-count-'))
const asked = [...predicates, ...(process.env.MORE === '1' ? further : [])].filter(
  ({ name }) => process.env.ONLY === undefined || name.includes(process.env.ONLY),
)

type Count = (predicate: MeasuredPredicate) => Promise<number>

// --- ours ------------------------------------------------------------------------------------------------

interface Ours {
  readonly one: Count
  readonly two: Count
  readonly deleted: Count
  close(): Promise<void>
}

async function ours(seeds: Seeds): Promise<Ours> {
  const content = fileContent(join(directory, 'ours'))
  const cacheBytes = 3 * 1024 ** 3
  const single = tableEngine({ content, cacheBytes, threads: 0 })
  const double = tableEngine({ content, cacheBytes, threads: 2 })
  let all: Snapshot | undefined
  for (let start = 0; start < N; start += chunk) {
    const table = tableOf(seeds, start, Math.min(start + chunk, N))
    all = all
      ? (await (await single.insertRows(all, table)).apply(all)).snapshot
      : await single.create('rows', table)
  }
  const { snapshot: some } = await single.deleteRows('key % 10 = 3').apply(all!)
  const on = (engine: TableEngine, snapshot: Snapshot) => (question: MeasuredPredicate) =>
    engine.countRows(snapshot, { predicate: question.predicate })
  return {
    one: on(single, all!),
    two: on(double, all!),
    deleted: on(single, some),
    close: () => double.close(),
  }
}

// --- the others ------------------------------------------------------------------------------------------

async function lance(seeds: Seeds): Promise<Count> {
  const require = createRequire(import.meta.url)
  const { connect } = require('@lancedb/lancedb') as typeof import('@lancedb/lancedb')
  const arrow = require('apache-arrow') as typeof import('apache-arrow')
  const database = await connect(join(directory, 'lance'))
  const part = (start: number) => {
    const { schema, children } = tableOf(seeds, start, Math.min(start + chunk, N))
    return arrow.tableFromIPC(
      joinParts(
        encodeArrow(
          schema,
          children.map(({ data }) => [...data] as never),
        ),
      ),
    )
  }
  const table = await database.createTable('rows', part(0) as never)
  for (let start = chunk; start < N; start += chunk) await table.add(part(start) as never)
  return (question) => table.countRows(question.lancedb ?? question.predicate)
}

async function duck(seeds: Seeds): Promise<{ one: Count; two: Count }> {
  const { DuckDBInstance, DuckDBDataChunk, INTEGER, DOUBLE } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
  const connection = await instance.connect()
  await connection.run(
    'CREATE TABLE seeds (i INTEGER, a INTEGER, n INTEGER, x DOUBLE, code INTEGER, key INTEGER, moment INTEGER)',
  )
  const appender = await connection.createAppender('seeds')
  const types = [INTEGER, INTEGER, INTEGER, DOUBLE, INTEGER, INTEGER, INTEGER]
  const { a, n, present, x, code, key, at } = seeds
  for (let start = 0; start < N; start += 2048) {
    const end = Math.min(start + 2048, N)
    const each = <T>(value: (i: number) => T) =>
      Array.from({ length: end - start }, (_, i) => value(start + i))
    const rows = DuckDBDataChunk.create(types)
    rows.setColumns([
      each((i) => i),
      each((i) => a[i]!),
      each((i) => (present[i] === 1 ? n[i]! : null)),
      each((i) => x[i]!),
      each((i) => code[i]!),
      each((i) => key[i]!),
      each((i) => at[i]!),
    ])
    appender.appendDataChunk(rows)
  }
  appender.closeSync()
  await connection.run(`CREATE TABLE rows AS ${duckdbRows}`)
  await connection.run('DROP TABLE seeds')
  let threads = 2
  const on = (wanted: number) => async (question: MeasuredPredicate) => {
    if (threads !== wanted) await connection.run(`SET threads = ${wanted}`)
    threads = wanted
    const reader = await connection.runAndReadAll(
      `SELECT count(*) FROM rows WHERE ${question.duckdb ?? question.predicate}`,
    )
    return Number(reader.getRows()[0]![0])
  }
  return { one: on(1), two: on(2) }
}

// --- the race --------------------------------------------------------------------------------------------

async function race(question: MeasuredPredicate, runners: Readonly<Record<string, Count>>) {
  const times: Record<string, number[]> = {}
  const counts: Record<string, number> = {}
  for (let round = -1; round < rounds; round++) {
    for (const [who, run] of Object.entries(runners)) {
      // DuckDB takes its number of threads with a statement of its own.
      if (who.startsWith('duckdb')) await run({ name: '', predicate: 'false' })
      const start = performance.now()
      counts[who] = await run(question)
      if (round < 0) times[who] = []
      else times[who]!.push(performance.now() - start)
    }
  }
  const { deleted: _, ...same } = counts
  if (new Set(Object.values(same)).size > 1)
    throw new Error(`${question.predicate}: ${JSON.stringify(counts)}`)
  const ms = (who: string) => median(times[who] ?? [Number.NaN])
  return {
    predicate: question.predicate.slice(0, 44),
    rows: counts.ours,
    'ours, ms': ms('ours').toFixed(1),
    'on two': ms('ours2').toFixed(1),
    deleted: ms('deleted').toFixed(1),
    duckdb: ms('duckdb').toFixed(1),
    'on  two': ms('duckdb2').toFixed(1),
    lancedb: ms('lancedb').toFixed(1),
    'duckdb ≥ 1': (ms('duckdb') / ms('ours')).toFixed(2),
    'on two ≥ 1': (ms('duckdb2') / ms('ours2')).toFixed(2),
    'lancedb ≥ 3': (ms('lancedb') / Math.min(ms('ours'), ms('ours2'))).toFixed(1),
  }
}

try {
  const began = performance.now()
  const seeds = seedsOf(N)
  const { one, two, deleted, close } = await ours(seeds)
  const duckdb = await duck(seeds)
  const others: Record<string, Count> = withLance ? { lancedb: await lance(seeds) } : {}
  const runners = { ours: one, ours2: two, deleted, duckdb: duckdb.one, duckdb2: duckdb.two, ...others }
  const made = ((performance.now() - began) / 1000).toFixed(0)
  console.log(`${N} rows, made in ${made} s; medians of ${rounds} runs in ms`)
  const table = []
  for (const question of asked) {
    const line = await race(question, runners)
    if (process.env.PLAIN === '1') console.log(Object.values(line).join(' | '))
    table.push(line)
  }
  console.table(table)
  await close()
} finally {
  rmSync(directory, { recursive: true, force: true })
}
