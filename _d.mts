import { openCatalog } from './src/tabularium/index.ts'
import { fileContent } from './src/contents/files/index.ts'
import { memoryStore } from './src/stores/memory/index.ts'
import { smallDisk, fillDisk } from './test/contents/small-disk.ts'
import { batchOf, filesAt, numbersFrom } from './test/catalog/lance/arriving-support.ts'
import { join } from 'node:path'
import { rmSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
const isolate = process.argv[2] === 'iso'
const disk: any = smallDisk(48 << 20)
const id = ['t']
const c = await openCatalog({ store: memoryStore(), content: fileContent(disk.path), root: pathToFileURL(disk.path).href, format: 'lance', lance: { isolate } } as any)
await c.createTable({ id, data: batchOf(numbersFrom(0, 100_000)) })
await c.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
const { location } = await c.describeTable({ id })
async function* stream(total: number) { for (let i = 0; i < total; i += 250_000) yield batchOf(numbersFrom(i, 250_000)) }
const ops: [string, () => Promise<any>][] = [
  ['insert 1', () => c.insertIntoTable({ id, data: [{ n: 1 }] })],
  ['insert 1M', () => c.insertIntoTable({ id, data: batchOf(numbersFrom(0, 1_000_000)) })],
  ['stream 3M', () => c.insertIntoTable({ id, data: stream(3_000_000) } as any)],
  ['update', () => c.updateTable({ id, updates: [['n', 'n + 1']], predicate: 'n % 2 = 0' })],
  ['delete', () => c.deleteFromTable({ id, predicate: 'n % 3 = 0' })],
  ['meta', () => c.updateTableSchemaMetadata({ id, metadata: { x: 'y'.repeat(3000) } })],
  ['merge', () => c.mergeInsertIntoTable({ id, on: 'n', data: batchOf(numbersFrom(0, 50_000)), when_matched_update_all: true, when_not_matched_insert_all: true })],
  ['index', () => c.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })],
  ['optimize', () => c.optimizeTable({ id })],
  ['create', () => c.createTable({ id: ['new'], data: batchOf(numbersFrom(0, 1_000_000)), mode: 'Overwrite' })],
  ['create stream', () => c.createTable({ id: ['new2'], data: stream(3_000_000), mode: 'Overwrite' } as any)],
  ['tag', () => c.createTableTag({ id, tag: 'a' + Math.random(), version: 1 })],
  ['branch', () => c.createTableBranch({ id, name: 'a' + Math.random() })],
]
for (const free of [0, 3000, 9000, 40_000, 3_000_000]) for (const [n, f] of ops) {
  const before = (await c.listTableVersions({ id })).versions.length; const count = (await c.countTableRows({ id })).count
  await fillDisk(join(disk.path, 'filler'), free)
  let out = 'ok'
  try { await f() } catch (e: any) { out = `${e.code} ${e.message.slice(0, 260)}` }
  const after = await c.countTableRows({ id }).then((x) => x.count, (e) => 'ERR ' + e.message.slice(0, 100))
  const versions = (await c.listTableVersions({ id })).versions.length
  rmSync(join(disk.path, 'filler'))
  const then = await c.insertIntoTable({ id, data: [{ n: -1 }] }).then(() => 'then ok', (e: any) => 'THEN ' + e.code + e.message.slice(0, 200))
  const files = await filesAt(location!)
  console.log(free, n, out, out === 'ok' ? '' : after === count && versions === before ? 'same' : `CHANGED ${count}->${after} ${before}->${versions}`, then, files.arriving.length, files.lost.length)
  await c.restoreTable({ id, version: 1 }); await c.optimizeTable({id}).catch(()=>{})
  // room again
  await c.dropTable({ id: ['new'] }).catch(() => {}); await c.dropTable({ id: ['new2'] }).catch(() => {})
  const vs = (await c.listTableVersions({ id })).versions
  await c.vacuum().catch(() => {})
}
await c.close(); disk.unmount()
