import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { Writable } from 'node:stream'
import { int64, tableFromArrays } from '@uwdata/flechette'
import { main } from '../../../../src/cli/main.ts'
import { connect } from '../../../../src/client/index.ts'
import { readParquet, writeParquet } from '../../../../src/engine/parquet/index.ts'
import { serve } from '../../../../src/server/index.ts'
import { openCatalog } from '../../../../src/tabularium/index.ts'
import { bytesInUse, mostDuring } from '../../../support/garbage.ts'

/*
 * Does one kind of work with so many rows, and prints how many there are then, and the most bytes that were in use meanwhile,
 * without garbage.
 * The catalog is in a folder, or at the URL of a database, with its rows at STREAMED_CONTENT.
 */

const [kind, folder, count] = [process.argv[2] as Kind, process.argv[3]!, Number(process.argv[4])]
const id = ['t']
const location = folder.startsWith('postgres:') ? folder : join(folder, 'catalog')
const { STREAMED_CONTENT: content } = process.env
const open = () =>
  openCatalog(location, {
    ...(content !== undefined && { content }),
    ...(kind === 'lance' && { format: 'lance' as const, lance: { isolate: false } }),
  }) as ReturnType<typeof openCatalog>

const length = 50_000
const columns = {
  id: BigInt64Array.from({ length }, (_, i) => BigInt(i)),
  value: Float64Array.from({ length }, (_, i) => Math.sin(i)),
}
const batch = tableFromArrays(columns, { types: { id: int64() } })
/** Batches of some rows, so many in all. */
function* batches() {
  for (let rows = 0; rows < count; rows += length) yield batch
}

/** Batches with texts of their own, which a writer could hold on to. */
function* texts() {
  const length = 10_000
  for (let rows = 0; rows < count; rows += length) {
    yield tableFromArrays({ text: Array.from({ length }, (_, i) => `text ${rows + i} `.padEnd(400, '.')) })
  }
}

function* objects() {
  for (let i = 0; i < count; i++) yield { id: i, name: `name ${i % 1000}` }
}

async function served<T>(work: (client: ReturnType<typeof connect>) => Promise<T>): Promise<T> {
  await using catalog = await open()
  const server = await serve(catalog, { auth: false, port: 0, log: false })
  await using client = connect(server.url)
  return work(client).finally(() => server.close())
}

/** Runs a command, as the program does. */
async function command(args: readonly string[], stdin: AsyncIterable<Uint8Array> = process.stdin) {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const io = {
    stdin,
    stdout: nowhere,
    stderr: process.stderr,
    env: {},
    version: '0',
    signal: new AbortController().signal,
  }
  if ((await main(args, io)) !== 0) throw new Error(`${args[0]} failed`)
}

const kinds = {
  async batches() {
    await using catalog = await open()
    await catalog.createTable({ id, data: batches() })
  },
  /** A table that Lance writes, in this process. */
  async lance() {
    await using catalog = await open()
    await catalog.createTable({ id, data: batches() })
  },
  async objects() {
    await using catalog = await open()
    await catalog.createTable({ id, data: objects() })
  },
  async parquet() {
    const path = join(folder, 'texts.parquet')
    await writeFile(path, writeParquet(texts()))
    await using catalog = await open()
    await catalog.createTable({ id, data: readParquet(path) })
  },
  /** Parquet of standard input, whose bytes are as many as those of the rows. */
  async piped() {
    const path = join(folder, 'texts.parquet')
    await writeFile(path, writeParquet(texts(), { compression: 'none' }))
    await command(['create', location, 't', '--data', '-'], createReadStream(path))
  },
  /** Of a table that is there. */
  async exported() {
    await command(['export', location, join(folder, `files-${process.pid}`), '--format', 'parquet'])
  },
  /** Of a table that is there. */
  async queried() {
    await command(['query', location, 't', '--output', join(folder, 'rows.parquet')])
  },
  async served() {
    await served((client) => client.createTable({ id, data: batches() }))
  },
}
export type Kind = keyof typeof kinds

// The peak of the whole process would depend on how late garbage is collected, and so on what else the machine does.
const most = await mostDuring(kinds[kind](), () => {
  const inUse = bytesInUse()
  // What Lance holds is neither in the heap nor known to it.
  return kind === 'lance' ? process.memoryUsage.rss() : inUse
})
await using catalog = await open()
const { count: rows } = await catalog.countTableRows({ id })
process.stdout.write(JSON.stringify({ most, rows }))
