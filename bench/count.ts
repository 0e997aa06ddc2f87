/**
 * Counting 10 million rows by predicate, beside DuckDB on one thread and LanceDB, on the same rows in the same
 * process. Run by `node --import tsx bench/count.ts [rows]`; `npm ci --prefix bench` first.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  dictionary,
  type Field,
  field,
  float64,
  int8,
  int32,
  int64,
  type Schema,
  utf8,
} from '@uwdata/flechette'
import { type AnyBatch, makeBatch, makeColumn } from '../src/data/arrow/batch.ts'
import { allRows, type Bitmap } from '../src/data/bitmap.ts'
import { type Rows, sliceRows } from '../src/data/predicate/evaluate/index.ts'
import { compilePredicate } from '../src/data/predicate/index.ts'
import { median } from './support/measure.ts'

const N = Number(process.argv[2] ?? 10_000_000)
const rounds = 7

// --- the rows --------------------------------------------------------------------------------------------

let state = 1
/** Numbers of 32 bits, the same in every run. Source: Marsaglia, "Xorshift RNGs", 2003. */
function random(): number {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return state >>> 0
}

const a = new Int32Array(N)
const wide = new BigInt64Array(N)
const x = new Float64Array(N)
const n = new Int32Array(N)
const validity = new Uint8Array(Math.ceil(N / 8))
const codes = new Int8Array(N)
let nulls = 0
for (let i = 0; i < N; i++) {
  a[i] = random() % 1000
  wide[i] = BigInt(a[i]!)
  x[i] = random() / 2 ** 32
  n[i] = random() % 1000
  codes[i] = random() % 16
  if (random() % 10 === 0) nulls++
  else validity[i >> 3]! |= 1 << (i & 7)
}
const category = texts((i) => `c${codes[i]}`)
const name = texts((i) => `user_${i}`)
const entries = texts((i) => `c${i}`, 16)

function texts(textOf: (row: number) => string, length = N): AnyBatch {
  const offsets = new Int32Array(length + 1)
  let bytes = new Uint8Array(1024)
  let at = 0
  for (let i = 0; i < length; i++) {
    const text = textOf(i)
    if (at + text.length > bytes.length) {
      const grown = new Uint8Array(bytes.length * 2)
      grown.set(bytes)
      bytes = grown
    }
    for (let j = 0; j < text.length; j++) bytes[at++] = text.charCodeAt(j)
    offsets[i + 1] = at
  }
  return makeBatch(utf8(), { length, offsets, values: bytes.slice(0, at) })
}

const encoded = makeBatch(dictionary(utf8(), int8()), {
  length: N,
  values: codes,
  dictionary: makeColumn(utf8(), [entries]),
})
const columns = {
  a: makeBatch(int32(), { length: N, values: a }),
  wide: makeBatch(int64(), { length: N, values: wide }),
  category,
  encoded,
  name,
  n: makeBatch(int32(), { length: N, values: n, validity, nullCount: nulls }),
  x: makeBatch(float64(), { length: N, values: x }),
}
const schema: Schema = {
  fields: Object.entries(columns).map(([name, { type }]) => field(name, type)) as Field[],
}
const rows: Rows = { length: N, columns: Object.values(columns) }

// --- the predicates --------------------------------------------------------------------------------------

const questions = [
  'a > 500',
  'wide > 500',
  "a > 500 AND category = 'c3'",
  "wide > 500 AND category = 'c3'",
  "a > 500 AND encoded = 'c3'",
  "name LIKE 'user_99%'",
  'n IS NULL OR x < 0.25',
  "category IN ('c1', 'c7', 'c12')",
  "encoded IN ('c1', 'c7', 'c12')",
]

// --- ours ------------------------------------------------------------------------------------------------

/** Compiles and counts in slices, as the engine does. */
function count(text: string, live?: Bitmap): number {
  const { count } = compilePredicate(text, schema)
  let sum = 0
  for (let start = 0; start < N; start += sliceRows) {
    const end = Math.min(start + sliceRows, N)
    sum += count(rows, start, end, live?.subarray(start >>> 5, (end + 31) >>> 5))
  }
  return sum
}

const live = allRows(N)
for (let i = 0; i < N; i++) if (random() % 10 === 0) live[i >>> 5]! &= ~(1 << (i & 31))

// --- the others ------------------------------------------------------------------------------------------

const directory = mkdtempSync(join(tmpdir(), 'bench-count-'))

async function lance(): Promise<(text: string) => Promise<number>> {
  const require = createRequire(import.meta.url)
  const { connect } = require('@lancedb/lancedb') as typeof import('@lancedb/lancedb')
  const arrow = require('apache-arrow') as typeof import('apache-arrow')
  const vector = (of: InstanceType<typeof arrow.DataType>, batch: AnyBatch) =>
    arrow.makeVector(
      arrow.makeData({
        type: of,
        length: N,
        data: batch.values,
        ...(batch.offsets && { valueOffsets: batch.offsets }),
        ...(batch.nullCount > 0 && { nullBitmap: batch.validity, nullCount: batch.nullCount }),
      } as never),
    )
  const table = new arrow.Table({
    a: vector(new arrow.Int32(), columns.a),
    wide: vector(new arrow.Int64(), columns.wide),
    category: vector(new arrow.Utf8(), category),
    encoded: arrow.makeVector(
      arrow.makeData({
        type: new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()),
        length: N,
        data: codes,
        dictionary: arrow.makeVector(
          arrow.makeData({
            type: new arrow.Utf8(),
            length: 16,
            data: entries.values as Uint8Array,
            valueOffsets: entries.offsets as Int32Array,
          }),
        ),
      }),
    ),
    name: vector(new arrow.Utf8(), name),
    n: vector(new arrow.Int32(), columns.n),
    x: vector(new arrow.Float64(), columns.x),
  })
  const database = await connect(directory)
  const opened = await database.createTable('rows', table as never)
  return (text) => opened.countRows(text)
}

async function duck(): Promise<(text: string) => Promise<number>> {
  const { DuckDBInstance, DuckDBDataChunk, INTEGER, BIGINT, DOUBLE } = await import('@duckdb/node-api')
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await instance.connect()
  await connection.run(
    'CREATE TABLE numbers (i INTEGER, a INTEGER, wide BIGINT, code INTEGER, n INTEGER, x DOUBLE)',
  )
  const appender = await connection.createAppender('numbers')
  const types = [INTEGER, INTEGER, BIGINT, INTEGER, INTEGER, DOUBLE]
  for (let start = 0; start < N; start += 2048) {
    const end = Math.min(start + 2048, N)
    const each = <T>(value: (i: number) => T) =>
      Array.from({ length: end - start }, (_, i) => value(start + i))
    const chunk = DuckDBDataChunk.create(types)
    chunk.setColumns([
      each((i) => i),
      each((i) => a[i]!),
      each((i) => wide[i]!),
      each((i) => codes[i]!),
      each((i) => (((validity[i >> 3]! >> (i & 7)) & 1) === 1 ? n[i]! : null)),
      each((i) => x[i]!),
    ])
    appender.appendDataChunk(chunk)
  }
  appender.closeSync()
  await connection.run(`CREATE TABLE rows AS SELECT a, wide, 'c' || code AS category, 'user_' || i AS name, n, x,
    ('c' || code)::ENUM (${Array.from({ length: 16 }, (_, i) => `'c${i}'`).join(', ')}) AS encoded
    FROM numbers ORDER BY i`)
  await connection.run('DROP TABLE numbers')
  await connection.run('SET threads = 1')
  return async (text) => {
    const reader = await connection.runAndReadAll(`SELECT count(*) FROM rows WHERE ${text}`)
    return Number(reader.getRows()[0]![0])
  }
}

// --- the race --------------------------------------------------------------------------------------------

async function main(): Promise<void> {
  const began = performance.now()
  const [countLance, countDuck] = [await lance(), await duck()]
  console.log(
    `${N} rows, made in ${((performance.now() - began) / 1000).toFixed(0)} s; medians of ${rounds} runs in ms, the fastest in brackets`,
  )
  const table = []
  for (const text of questions) {
    const runners = {
      ours: async () => count(text),
      deleted: async () => count(text, live),
      duckdb: () => countDuck(text),
      lancedb: () => countLance(text),
    }
    const times: Record<string, number[]> = { ours: [], deleted: [], duckdb: [], lancedb: [] }
    const counts: Record<string, number> = {}
    for (let round = -1; round < rounds; round++) {
      for (const [who, run] of Object.entries(runners)) {
        const start = performance.now()
        counts[who] = await run()
        if (round >= 0) times[who]!.push(performance.now() - start)
      }
    }
    const { ours, duckdb, lancedb } = counts
    if (ours !== duckdb || ours !== lancedb) throw new Error(`${text}: ${JSON.stringify(counts)}`)
    const of = (pick: (list: number[]) => number) => {
      const [ours, deleted, duckdb, lancedb] = Object.values(times).map(pick) as [
        number,
        number,
        number,
        number,
      ]
      return { ours, deleted, duckdb, lancedb }
    }
    const middle = of(median)
    // The fastest run is the one least disturbed by whatever else the machine does.
    const fastest = of((list) => Math.min(...list))
    const both = (value: (ms: typeof middle) => number, digits: number) =>
      `${value(middle).toFixed(digits)} (${value(fastest).toFixed(digits)})`
    table.push({
      predicate: text,
      'ours, ms': both(({ ours }) => ours, 1),
      '10% deleted': both(({ deleted }) => deleted, 1),
      duckdb: both(({ duckdb }) => duckdb, 1),
      lancedb: both(({ lancedb }) => lancedb, 1),
      'lancedb ≥ 3': both(({ lancedb, ours }) => lancedb / ours, 1),
      'duckdb ≥ 1': both(({ duckdb, ours }) => duckdb / ours, 1),
      'deleted ≤ 1.3': both(({ deleted, ours }) => deleted / ours, 2),
    })
  }
  console.table(table)
}

try {
  await main()
} finally {
  rmSync(directory, { recursive: true, force: true })
}
