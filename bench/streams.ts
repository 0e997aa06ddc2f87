/** How fast do millions of rows stream in, from code and from files, and out as Parquet? */
import { createWriteStream } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { tableFromArrays, utf8 } from '@uwdata/flechette'
import { writeParquet } from '../dist/engine/parquet/index.js'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, figure } from './support/figures.ts'
import { milliseconds, race } from './support/measure.ts'
import { openDuckdb } from './support/peers/duckdb.ts'
import { count, pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const rows = pick(20_000, 300_000, 5_000_000)
const turns = pick(2, 5)
/** Rows of an Arrow batch. */
const batchRows = 10_000
/** Rows that DuckDB's appender takes at a time. */
const chunkRows = 2_048
const id = ['t']

about(`${count(rows)} rows of a whole number, a text and a double become a new table on disk, as one version, or leave it as a
file of Parquet. Files are read by the command line, in this process; DuckDB reads the same files into a table of a
database on disk, on two threads. It takes rows from code by its appender. Ours syncs, and computes statistics and
checksums. Memory holds some batches, however many rows there are.`)

type Row = { readonly id: number; readonly name: string; readonly x: number }
const rowAt = (i: number): Row => ({ id: i, name: `name ${(i * 7919) % 100_003}`, x: ((i * 31) % 1_009) / 8 })

async function* objects() {
  for (let i = 0; i < rows; i++) yield rowAt(i)
}

function columnsFrom(start: number, most: number) {
  const some = Array.from({ length: Math.min(most, rows - start) }, (_, i) => rowAt(start + i))
  return {
    id: Int32Array.from(some, (row) => row.id),
    name: some.map((row) => row.name),
    x: Float64Array.from(some, (row) => row.x),
  }
}

/** Made before the clock runs, as a program has them that reads Arrow. */
const batches = Array.from({ length: Math.ceil(rows / batchRows) }, (_, i) =>
  tableFromArrays(columnsFrom(i * batchRows, batchRows), { types: { name: utf8() } }),
)

const folder = newFolder('streams')
const directory = join(folder, 'ours')
const ours = await openCatalog(directory)
const duckdb = await openDuckdb(join(folder, 'duckdb'))
const { DuckDBDataChunk, INTEGER, VARCHAR, DOUBLE } = await import('@duckdb/node-api')
const { main } = (await import(new URL('../dist/cli/main.js', import.meta.url).href)) as {
  main(args: readonly string[], io: object): Promise<number>
}

const files = {
  CSV: { path: join(folder, 'rows.csv'), reads: 'read_csv' },
  'JSON lines': { path: join(folder, 'rows.jsonl'), reads: 'read_json' },
  Parquet: { path: join(folder, 'rows.parquet'), reads: 'read_parquet' },
} as const

await makeFiles()
await stream('row objects', () => ours.createTable({ id, data: objects() }), appendRows)
await stream('Arrow batches', () => ours.createTable({ id, data: batches }), appendColumns)
for (const [kind, { path, reads }] of Object.entries(files)) {
  await stream(
    kind,
    () => command('create', directory, 't', '--data', path),
    () => duckdb.run(`CREATE TABLE t AS SELECT * FROM ${reads}('${path}')`),
  )
}
await exported()
await ours.close()
process.exit()

/** A new table of all rows, made anew in each turn. */
async function stream(
  kind: string,
  own: () => Promise<unknown>,
  theirs: () => Promise<unknown>,
): Promise<void> {
  const measured = await race(turns, {
    ours: async () => {
      const took = await milliseconds(own)
      const found = (await ours.countTableRows({ id })).count
      await ours.dropTable({ id })
      return perSecond(took, found)
    },
    DuckDB: async () => {
      const took = await milliseconds(theirs)
      const reader = await duckdb.runAndReadAll('SELECT count(*) FROM t')
      await duckdb.run('DROP TABLE t')
      return perSecond(took, Number(reader.getRows()[0]![0]))
    },
  })
  figure(`stream in ${count(rows)} rows: ${kind}`, measured.ours!, {
    unit: 'rows/s',
    better: 'more',
    against: [
      {
        peer: 'DuckDB',
        samples: measured.DuckDB!,
        remark:
          kind in files ? 'two threads; columns without checksums' : 'its appender, which no iterable feeds',
      },
    ],
  })
}

/** All rows of a table as a file of Parquet. */
async function exported(): Promise<void> {
  await ours.createTable({ id, data: batches })
  await appendColumns()
  const own = join(folder, 'ours.parquet')
  const theirs = join(folder, 'theirs.parquet')
  const measured = await race(turns, {
    ours: async () => {
      const took = await milliseconds(() => command('query', directory, 't', '--output', own))
      return perSecond(took, await rowsOf(own))
    },
    DuckDB: async () => {
      const took = await milliseconds(() => duckdb.run(`COPY t TO '${theirs}' (FORMAT parquet)`))
      return perSecond(took, await rowsOf(theirs))
    },
  })
  figure(`stream out ${count(rows)} rows: Parquet`, measured.ours!, {
    unit: 'rows/s',
    better: 'more',
    against: [
      {
        peer: 'DuckDB',
        samples: measured.DuckDB!,
        remark: 'two threads, of which each writes row groups',
      },
    ],
  })
}

function perSecond(took: number, found: number): number {
  if (found !== rows) throw new Error(`${count(found)} rows are there, not ${count(rows)}.`)
  return (rows * 1_000) / took
}

async function rowsOf(path: string): Promise<number> {
  const reader = await duckdb.runAndReadAll(`SELECT count(*) FROM read_parquet('${path}')`)
  await rm(path)
  return Number(reader.getRows()[0]![0])
}

async function appendRows(): Promise<void> {
  await append(async (chunk) => {
    let some: unknown[][] = []
    const flush = () => {
      const made = DuckDBDataChunk.create([INTEGER, VARCHAR, DOUBLE])
      made.setRows(some)
      chunk(made)
      some = []
    }
    for await (const { id, name, x } of objects()) {
      some.push([id, name, x])
      if (some.length === chunkRows) flush()
    }
    if (some.length > 0) flush()
  })
}

async function appendColumns(): Promise<void> {
  await append(async (chunk) => {
    for (const batch of batches) {
      const columns = batch.toColumns() as Record<'id' | 'name' | 'x', readonly unknown[]>
      for (let start = 0; start < batch.numRows; start += chunkRows) {
        const made = DuckDBDataChunk.create([INTEGER, VARCHAR, DOUBLE])
        const part = (column: readonly unknown[]) => Array.from(column.slice(start, start + chunkRows))
        made.setColumns([part(columns.id), part(columns.name), part(columns.x)])
        chunk(made)
      }
    }
  })
}

async function append(fill: (chunk: (made: unknown) => void) => Promise<void>): Promise<void> {
  await duckdb.run('CREATE TABLE t (id INTEGER, name VARCHAR, x DOUBLE)')
  const appender = await duckdb.createAppender('t')
  await fill((made) => appender.appendDataChunk(made))
  appender.closeSync()
}

async function makeFiles(): Promise<void> {
  async function* csv() {
    yield 'id,name,x\n'
    for await (const { id, name, x } of objects()) yield `${id},${name},${x}\n`
  }
  async function* json() {
    for await (const row of objects()) yield `${JSON.stringify(row)}\n`
  }
  await pipeline(Readable.from(csv()), createWriteStream(files.CSV.path))
  await pipeline(Readable.from(json()), createWriteStream(files['JSON lines'].path))
  await writeFile(files.Parquet.path, writeParquet(batches))
}

/** Runs the command line in this process. */
async function command(...args: readonly string[]): Promise<void> {
  let said = ''
  const quiet = { write: () => true }
  const stderr = { write: (text: string) => (said += text) }
  const io = {
    stdin: process.stdin,
    stdout: quiet,
    stderr,
    env: {},
    version: '0',
    signal: new AbortController().signal,
  }
  if ((await main(args, io)) !== 0) throw new Error(said)
}
