/**
 * How fast rows are written and read back: `node --expose-gc --import tsx bench/data.ts`.
 * Environment: ROWS (default 10,000,000).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DataType, dictionary, float64, int32, int64, type Schema, Table, utf8 } from '@uwdata/flechette'
import { fileContent } from '../src/content/files.ts'
import { type AnyBatch, type BatchParts, makeBatch, makeColumn } from '../src/data/arrow/batch.ts'
import { sliceBatch } from '../src/data/arrow/take.ts'
import { type Snapshot, type TableEngine, tableEngine } from '../src/data/index.ts'

const rows = Number(process.env.ROWS ?? 10_000_000)
const folder = await mkdtemp(join(tmpdir(), 'tabularium-bench-'))
const engineOf = () => tableEngine({ content: fileContent(folder), cacheBytes: 1024 ** 3 })

try {
  const table = sample(rows)
  const engine = engineOf()
  const written = await timed(`insert ${rows.toLocaleString('en')} rows`, () => engine.create('big', table))
  report('  fragments', `${written.result.fragments}, ${mib(written.result.bytes)}`)
  report('  rows a second', Math.round(rows / (written.ms / 1000)).toLocaleString('en'))
  await readColumn('cold', engineOf(), written.result)
  const warm = engineOf()
  await readColumn('first', warm, written.result)
  await readColumn('warm', warm, written.result)
  for (const fragments of [1, 1_000, 10_000]) await append(fragments)
  globalThis.gc?.()
  const { rss, arrayBuffers, heapUsed } = process.memoryUsage()
  report('memory', `rss ${mib(rss)}, buffers ${mib(arrayBuffers)}, heap ${mib(heapUsed)}`)
} finally {
  await rm(folder, { recursive: true })
}

/** One column of all rows, and nothing of the others. */
async function readColumn(name: string, engine: TableEngine, snapshot: Snapshot): Promise<void> {
  const opened = await engine.open(snapshot.prefix, snapshot.manifest)
  await timed(`read one column, ${name}`, () => engine.queryRows(opened, { columns: ['a'] }))
}

/** What one append costs a table of so many fragments. */
async function append(fragments: number): Promise<void> {
  const engine = engineOf()
  const one = sample(100)
  let base = await engine.create(`append-${fragments}`, one)
  const change = await engine.insertRows(base, one)
  while (base.fragments < fragments) base = (await change.apply(base)).snapshot
  const times: number[] = []
  for (let i = 0; i < 20; i++) {
    const from = performance.now()
    const insert = await engine.insertRows(base, one)
    base = (await insert.apply(base)).snapshot
    times.push(performance.now() - from)
  }
  times.sort((a, b) => a - b)
  report(
    `append 100 rows to ${fragments} fragments`,
    `${times[10]!.toFixed(2)} ms, manifest ${base.manifest.size} bytes`,
  )
}

function sample(length: number): Table {
  const chunk = Math.min(length, 1_000_000)
  const categories = batch(
    utf8(),
    strings(16, (i) => `c${i}`),
  )
  const types: Record<string, DataType> = {
    id: int64(),
    a: int32(),
    x: float64(),
    n: int32(),
    name: utf8(),
    category: dictionary(utf8(), int32()),
  }
  const made: Record<string, AnyBatch> = {
    id: batch(types.id!, {
      length: chunk,
      values: BigInt64Array.from({ length: chunk }, (_, i) => BigInt(i)),
    }),
    a: batch(types.a!, {
      length: chunk,
      values: Int32Array.from({ length: chunk }, (_, i) => (i * 7919) % 1000),
    }),
    x: batch(types.x!, {
      length: chunk,
      values: Float64Array.from({ length: chunk }, (_, i) => ((i * 31) % 997) / 997),
    }),
    n: batch(types.n!, { length: chunk, ...nullable(chunk), values: new Int32Array(chunk) }),
    name: batch(
      types.name!,
      strings(chunk, (i) => `user_${i}`),
    ),
    category: batch(types.category!, {
      length: chunk,
      values: Int32Array.from({ length: chunk }, (_, i) => i % 16),
      dictionary: makeColumn(utf8(), [categories]),
    }),
  }
  const fields = Object.entries(types).map(([name, type]) => ({
    name,
    type,
    nullable: true,
    metadata: new Map(),
  }))
  const columns = fields.map(({ name, type }) => {
    const batches: AnyBatch[] = []
    for (let at = 0; at < length; at += chunk)
      batches.push(sliceBatch(made[name]!, 0, Math.min(chunk, length - at)))
    return makeColumn(type, batches)
  })
  const schema: Schema = { fields, metadata: null }
  return new Table(schema, columns)
}

function batch(type: DataType, parts: BatchParts): AnyBatch {
  return makeBatch(type, parts)
}

function nullable(length: number): Pick<BatchParts, 'validity' | 'nullCount'> {
  const validity = new Uint8Array(Math.ceil(length / 8)).fill(0x7f)
  return { validity, nullCount: length - 7 * Math.floor(length / 8) - Math.min(7, length % 8) }
}

function strings(length: number, text: (i: number) => string): BatchParts {
  const parts = Array.from({ length }, (_, i) => text(i))
  const values = new TextEncoder().encode(parts.join(''))
  const offsets = new Int32Array(length + 1)
  for (const [i, part] of parts.entries()) offsets[i + 1] = offsets[i]! + part.length
  return { length, offsets, values }
}

async function timed<T>(name: string, work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const from = performance.now()
  const result = await work()
  const ms = performance.now() - from
  report(name, `${ms.toFixed(1)} ms`)
  return { result, ms }
}

function report(name: string, value: string): void {
  console.log(`${name.padEnd(44)} ${value}`)
}

function mib(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
}
