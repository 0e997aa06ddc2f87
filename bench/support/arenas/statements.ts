import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { type Runner, serveArena } from '../arena.ts'
import { inFlight, milliseconds } from '../measure.ts'
import { newFolder } from '../scratch.ts'

/* Bare statements of the shape of the catalog's, by one of several processes. */

const [url, who, callersGiven, tablesGiven] = process.argv.slice(2) as [string, string, string, string]
const callers = Number(callersGiven)
const tables = Number(tablesGiven)
const pool = new pg.Pool({ connectionString: url, max: 16 })
let next = 0

const record = JSON.stringify({ v: 1, id: '01JD0000000000000000000000', created_at: Date.now() })
const records = [
  record,
  '["parent","name"]',
  JSON.stringify({ status: 'Succeeded', subject: ['prod', 't'], record }),
]
const insert = {
  name: 'insert',
  text: 'INSERT INTO bare SELECT k, v, 1 FROM unnest($1::bytea[], $2::text[]) AS r(k, v) ON CONFLICT DO NOTHING',
}
const select = { name: 'select', text: 'SELECT key, value, version FROM bare WHERE key = ANY($1::bytea[])' }
const change = {
  name: 'change',
  text: `WITH made AS (INSERT INTO bare SELECT k, v, 1 FROM unnest($1::bytea[], $2::text[]) AS r(k, v))
    UPDATE bare SET value = $3, version = version + 1 WHERE key = $4`,
}

const keyOf = (...parts: unknown[]) => Buffer.from(parts.join('-'))
const declare = (mark: string) =>
  pool.query({ ...insert, values: [[0, 1, 2].map((part) => keyOf(mark, part)), records] })
const commit = (table: string) => {
  const made = [0, 1].map((part) => keyOf('v', table, who, Date.now(), next++, part))
  return pool.query({ ...change, values: [made, records.slice(1), record, keyOf(table, 0)] })
}
const root = newFolder('statements')
/** The folder of each table, open so that it can be synced. */
const folders = new Map<string, Promise<FileHandle>>()
async function folderOf(table: string): Promise<FileHandle> {
  const path = join(root, table)
  await mkdir(path)
  return open(path)
}
/** About the size of a manifest with few fragments. */
const manifest = Buffer.alloc(2048, 'x')
/** As a commit of rows: a file is written first. It and its name are synced. */
async function commitWithFile(table: string) {
  const opening = folders.get(table) ?? folderOf(table)
  folders.set(table, opening)
  const folder = await opening
  const file = await open(join(root, table, `${who}-${next++}`), 'wx')
  try {
    await file.writeFile(manifest)
    await file.sync()
  } finally {
    await file.close()
  }
  await folder.sync()
  return commit(table)
}
const many =
  (work: (i: number) => unknown): Runner =>
  (times) =>
    milliseconds(() => inFlight(times, callers, async (i) => work(i)))

for (let i = 0; i < tables; i++) await declare(`d${i}`)
for (let i = 0; i < callers; i++) await declare(`rows-${who}-${i}`)
await declare('rows-shared')
serveArena({
  declare: many(() => declare(`p${who}-${Date.now()}-${next++}`)),
  describe: many((i) =>
    pool.query({
      ...select,
      values: [[0, 1].map((part) => keyOf(`d${(i * 7 + Number(who)) % tables}`, part))],
    }),
  ),
  'commit on many': many((i) => commit(`rows-${who}-${i % callers}`)),
  'commit on one': many(() => commit('rows-shared')),
  'commit on many with files': many((i) => commitWithFile(`rows-${who}-${i % callers}`)),
  'commit on one with files': many(() => commitWithFile('rows-shared')),
})
