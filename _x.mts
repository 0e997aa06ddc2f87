import { openCatalog } from './src/tabularium/index.ts'
import { mkdtempSync, readdirSync, writeFileSync, readFileSync, cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { withFields, withMembers } from './test/catalog/lance/manifests.ts'
import { writeFields } from './src/catalog/lance/protobuf.ts'
const id = ['t']
const row = { n: 9, name: 'x' }
const ops: [string, (c: any) => Promise<any>][] = [
  ['describe', (c) => c.describeTable({ id, load_detailed_metadata: true }).then((d: any) => d.schema?.fields.length)],
  ['count', (c) => c.countTableRows({ id })],
  ['count pred', (c) => c.countTableRows({ id, predicate: 'n > 1' })],
  ['query', (c) => c.queryTable({ id, k: 10 }).then((r: any) => r.data.length)],
  ['stats', (c) => c.getTableStats({ id }).then((s: any) => s.num_rows)],
  ['versions', (c) => c.listTableVersions({ id }).then((v: any) => v.versions.map((x: any) => x.version).join())],
  ['changes', (c) => c.tableChanges({ id, from: 1, to: 2 }).then((r: any) => r.data.length)],
  ['insert', (c) => c.insertIntoTable({ id, data: [row] }).then((r: any) => r.version)],
  ['update', (c) => c.updateTable({ id, updates: [['name', "'y'"]], predicate: 'n = 9' }).then((r: any) => r.version)],
  ['delete', (c) => c.deleteFromTable({ id, predicate: 'n = 9' }).then((r: any) => r.version)],
  ['meta', (c) => c.updateTableSchemaMetadata({ id, metadata: { a: 'b' } })],
  ['tag', (c) => c.createTableTag({ id, tag: 'x' + Math.random(), version: 2 })],
  ['branch', (c) => c.createTableBranch({ id, name: 'b' + Math.random() })],
  ['restore', (c) => c.restoreTable({ id, version: 1 }).then((r: any) => r.version)],
  ['optimize', (c) => c.optimizeTable({ id }).then((r: any) => r.optimized)],
  ['clone', (c) => c.cloneTable({ id: ['c' + Math.random()], source: id }).then((r: any) => r.version)],
  ['verify', (c) => c.verify().then((r: any) => [r.ok, ...r.findings.map((f: any) => f.message)].join(' | '))],
]
async function all(c: any) { for (const [n, f] of ops) { try { console.log('  ', n, JSON.stringify(await f(c))) } catch (e: any) { console.log('  ', n, '!!', e.code, String(e.message).slice(0, 330)) } } }
async function made() {
  const dir = mkdtempSync('/dev/shm/x-')
  const c = await openCatalog(dir, { format: 'lance', managedVersioning: true })
  await c.createTable({ id, data: [{ n: 1, name: 'a' }, { n: 2, name: 'b' }] })
  await c.insertIntoTable({ id, data: [row] })
  const { location } = await c.describeTable({ id })
  await c.close()
  return { dir, path: fileURLToPath(location!) }
}
const which = process.argv[2]!
if (which === 'flags') {
  const num = (number: number, value: bigint) => ({ number, value })
  const text = (s: string) => Buffer.from(s)
  const cases: [string, (f: any) => any][] = [
    ['reader flag 64', (f) => [...f, num(9, 64n), num(10, 64n)]],
    ['writer flag 64 only', (f) => [...f, num(10, 64n)]],
    ['all flags', (f) => [...f, num(9, 2n ** 63n), num(10, 2n ** 63n)]],
    ['format 9.9', (f) => [...f.filter((x: any) => x.number !== 15), { number: 15, value: writeFields([{ number: 1, value: text('lance') }, { number: 2, value: text('9.9') }]) }]],
    ['format parquet', (f) => [...f.filter((x: any) => x.number !== 15), { number: 15, value: writeFields([{ number: 1, value: text('parquet') }, { number: 2, value: text('1') }]) }]],
    ['data file 9.9', (f) => f.map((one: any) => one.number !== 2 ? one : withMembers(one, (p) => p.map((q) => q.number !== 2 ? q : withMembers(q, (r) => [...r.filter((x) => x.number !== 4 && x.number !== 5), num(4, 9n), num(5, 9n)]))))],
    ['unknown field 99', (f) => [...f, { number: 99, value: text('new') }]],
    ['version 2^60', (f) => [...f.filter((x: any) => x.number !== 3), num(3, 2n ** 60n)]],
  ]
  for (const [name, change] of cases) {
    const { dir, path } = await made()
    const [latest] = readdirSync(path + '/_versions').filter((x) => x.endsWith('.manifest')).sort()
    const p = `${path}/_versions/${latest}`
    writeFileSync(p, withFields(readFileSync(p), change as any))
    const c = await openCatalog(dir, { managedVersioning: true })
    console.log(name); 
    // size differs from the record: register anew
    await c.deregisterTable({ id }); await c.registerTable({ id, location: path }).catch((e: any) => console.log('register', e.message))
    await all(c); await c.close()
  }
}
if (which === 'two') {
  const a = await made()
  {
    console.log('Lance dataset written into own table')
    const dir = mkdtempSync('/dev/shm/x-'); const c = await openCatalog(dir, { managedVersioning: true })
    await c.createTable({ id, data: [{ n: 1, name: 'own' }] }); await c.insertIntoTable({ id, data: [row] })
    const { location } = await c.describeTable({ id }); const path = fileURLToPath(location!)
    cpSync(a.path, path, { recursive: true })
    await all(c)
    console.log(' after deregister and register')
    await c.deregisterTable({ id }); await c.registerTable({ id, location: path }).catch((e: any) => console.log('register', e.message)); await all(c)
    console.log(' vacuum', JSON.stringify(await c.vacuum()).slice(0, 300)); await all(c)
    await c.close()
  }
  {
    console.log('own manifests written into a table of Lance')
    const dir = mkdtempSync('/dev/shm/x-'); const o = await openCatalog(dir, {})
    await o.createTable({ id, data: [{ n: 1, name: 'own' }, { n: 5, name: 'own' }, { n: 5, name: 'own' }] }); await o.insertIntoTable({ id, data: [row] })
    const { location } = await o.describeTable({ id }); await o.deregisterTable({ id }); await o.close()
    cpSync(fileURLToPath(location!), a.path, { recursive: true })
    const c = await openCatalog(a.dir, { managedVersioning: true })
    await all(c)
    await c.deregisterTable({ id }); await c.registerTable({ id, location: a.path }).catch((e: any) => console.log('register', e.message)); await all(c)
    await c.close()
  }
}
