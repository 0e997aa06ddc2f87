import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { int64, tableFromArrays } from '@uwdata/flechette'
import { connect } from '../../../../src/client/index.ts'
import { readParquet, writeParquet } from '../../../../src/engine/parquet/index.ts'
import { serve } from '../../../../src/server/index.ts'
import { openCatalog } from '../../../../src/tabularium/index.ts'

/*
 * Does one kind of work with so many rows, and prints how many there are then, and the most memory that the process had.
 */

const [kind, folder, count] = [process.argv[2] as Kind, process.argv[3]!, Number(process.argv[4])]
const id = ['t']
const location = join(folder, 'catalog')

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
  for (let rows = 0; rows < count; rows += length) {
    yield tableFromArrays({ text: Array.from({ length }, (_, i) => `text ${rows + i} `.padEnd(80, '.')) })
  }
}

function* objects() {
  for (let i = 0; i < count; i++) yield { id: i, name: `name ${i % 1000}` }
}

async function served<T>(work: (client: ReturnType<typeof connect>) => Promise<T>): Promise<T> {
  await using catalog = await openCatalog(location)
  const server = await serve(catalog, { auth: false, port: 0, log: false })
  await using client = connect(server.url)
  return work(client).finally(() => server.close())
}

const kinds = {
  async batches() {
    await using catalog = await openCatalog(location)
    await catalog.createTable({ id, data: batches() })
  },
  async objects() {
    await using catalog = await openCatalog(location)
    await catalog.createTable({ id, data: objects() })
  },
  async parquet() {
    const path = join(folder, 'texts.parquet')
    await writeFile(path, writeParquet(texts()))
    await using catalog = await openCatalog(location)
    await catalog.createTable({ id, data: readParquet(path) })
  },
  async served() {
    await served((client) => client.createTable({ id, data: batches() }))
  },
}
export type Kind = keyof typeof kinds

await kinds[kind]()
await using catalog = await openCatalog(location)
const { count: rows } = await catalog.countTableRows({ id })
process.stdout.write(JSON.stringify({ peak: Math.round(process.resourceUsage().maxRSS / 1024), rows }))
