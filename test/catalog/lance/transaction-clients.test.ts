import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect, connectNamespace, type Table } from '@lancedb/lancedb'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { RoundRobin } from '../../support/round-robin.ts'
import { releases, requirePython } from './clients/python.ts'
import { HttpTransaction } from './clients/transaction.ts'
import { servedForLance } from './served.ts'

/* Writers of Lance, in one language and in several, in a transaction over two tables. */

let folder: string
let url: string
/** How late it is in the catalog, in milliseconds. */
let late: number
beforeEach(async () => {
  folder = await freshFolder()
  late = 0
  const now = () => Date.now() + late
  const catalog = closedAfterwards(await openCatalog(folder, { managedVersioning: true, now }))
  url = (await servedForLance(catalog)).url
  for (const name of ['lines', 'orders']) {
    // LanceDB opens folders of such names without a catalog, too.
    await catalog.declareTable({ id: [name], location: `${folder}/${name}.lance` })
    await (await namespace()).createTable(name, [{ id: 0 }])
  }
})

const namespace = (transaction?: HttpTransaction) =>
  connectNamespace('rest', { uri: url, ...(transaction && { headers: transaction.headers }) })

const open = async (name: string, transaction?: HttpTransaction) =>
  (await namespace(transaction)).openTable(name)

type State = [version: number, ids: number[]]

async function state(table: Table): Promise<State> {
  const ids = (await table.query().toArray()).map(({ id }) => Number(id))
  return [await table.version(), ids.sort((a, b) => a - b)]
}

/** Versions and rows of both tables, as who opens them sees them. */
async function both(openOne: (name: string) => Promise<Table>) {
  return { lines: await state(await openOne('lines')), orders: await state(await openOne('orders')) }
}
const outside = () => both((name) => open(name))
const direct = () => both(async (name) => (await connect(folder)).openTable(name))

/** The manifests of both tables, by the names of their folders. */
async function manifests(): Promise<string[]> {
  const files = await readdir(folder, { recursive: true })
  return files.filter((file) => file.includes('.manifest')).sort()
}

const before = { lines: [1, [0]], orders: [1, [0]] }

it('what LanceDB writes to several tables inside is there at once, or never', async () => {
  const transaction = await HttpTransaction.begin(url)
  await (await open('orders', transaction)).add([{ id: 1 }])
  const lines = await open('lines', transaction)
  await lines.add([{ id: 1 }, { id: 2 }])
  await lines.add([{ id: 3 }])
  await lines.delete('id = 2')
  const after = { lines: [4, [0, 1, 3]], orders: [2, [0, 1]] }
  expect(await both((name) => open(name, transaction))).toEqual(after)
  expect([await outside(), await direct()]).toEqual([before, before])
  expect(await transaction.commit()).toBe(200)
  expect([await outside(), await direct()]).toEqual([after, after])
  expect((await manifests()).filter((file) => !/_versions\/\d{20}\.manifest$/.test(file))).toEqual([])
})

it('when another writer changes one of the tables meanwhile, nothing is published', async () => {
  const transaction = await HttpTransaction.begin(url)
  for (const name of ['lines', 'orders']) await (await open(name, transaction)).add([{ id: 9 }])
  await (await open('lines')).add([{ id: 8 }])
  expect(await transaction.commit()).toBe(409)
  const after = { lines: [2, [0, 8]], orders: [1, [0]] }
  expect([await outside(), await direct()]).toEqual([after, after])
  expect(await manifests()).toHaveLength(3)
})

it('a table can be created inside', async () => {
  const transaction = await HttpTransaction.begin(url)
  const table = await (await namespace(transaction)).createTable('returns', [{ id: 5 }])
  await table.add([{ id: 6 }])
  await expect(open('returns')).rejects.toThrow()
  expect(await transaction.commit()).toBe(200)
  expect(await state(await open('returns'))).toEqual([2, [5, 6]])
})

it.each(['rollback', 'expiry'] as const)('after its %s nothing of a transaction is there', async (end) => {
  const files = await manifests()
  const transaction = await HttpTransaction.begin(url, { idle_timeout_seconds: 600 })
  for (const name of ['lines', 'orders']) await (await open(name, transaction)).add([{ id: 9 }])
  expect(await manifests()).toHaveLength(files.length + 2)
  if (end === 'rollback') expect(await transaction.rollback()).toBe(200)
  else late = 600_000
  expect(await transaction.commit()).not.toBe(200)
  await expect.poll(manifests).toEqual(files)
  expect([await outside(), await direct()]).toEqual([before, before])
})

it.for(releases)(
  'Lance %s for Python and LanceDB for Node share a transaction',
  async (release, { skip }) => {
    const python = await requirePython(release, skip)
    const transaction = await HttpTransaction.begin(url)
    await (await open('orders', transaction)).add([{ id: 1 }])
    const lines = await open('lines', transaction)
    for (const id of [1, 2, 3]) await lines.add([{ id }])
    const script = fileURLToPath(new URL('clients/transaction.py', import.meta.url))
    const args = [script, url, transaction.id, 'orders', '2', 'lines']
    const { stdout } = await promisify(execFile)(python, args)
    const after = { lines: [4, [0, 1, 2, 3]], orders: [3, [0, 1, 2]] }
    expect(JSON.parse(stdout)).toEqual({ inside: after, outside: before, direct: before })
    expect(await both((name) => open(name, transaction))).toEqual(after)
    expect(await transaction.commit()).toBe(200)
    expect([await outside(), await direct()]).toEqual([after, after])
  },
)

it.for(releases)(
  'the page on transactions has an example that runs with Lance %s',
  async (release, { skip }) => {
    const python = await requirePython(release, skip)
    const page = await readFile(new URL('../../../docs/transactions.md', import.meta.url), 'utf8')
    const examples = [...page.matchAll(/^```python\n(.*?)^```/gms)].map(([, code]) => code!)
    const [example] = examples.filter((code) => code.includes('lance.write_dataset'))
    // The tables of the test have these names already.
    const names = example!.replaceAll('"orders"', '"sales"').replaceAll('"lines"', '"items"')
    const code = names.replace('http://127.0.0.1:2333', url)
    expect(code).toContain(url)
    const { stdout } = await promisify(execFile)(python, ['-c', code])
    const told = [...example!.matchAll(/^print\(.*\) {2}# (.*)$/gm)].map((match) => match[1])
    expect(stdout.trim().split('\n')).toEqual(told)
  },
)

it('writers whose requests come to two servers in turns are in one transaction', async () => {
  const other = closedAfterwards(await openCatalog(folder, { managedVersioning: true }))
  const server = await servedForLance(other)
  const proxy = await RoundRobin.start([url, server.url])
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  url = proxy.url
  const transaction = await HttpTransaction.begin(url)
  const lines = await open('lines', transaction)
  await lines.add([{ id: 1 }, { id: 2 }])
  await lines.delete('id = 2')
  await (await open('orders', transaction)).add([{ id: 1 }])
  const after = { lines: [3, [0, 1]], orders: [2, [0, 1]] }
  expect(await both((name) => open(name, transaction))).toEqual(after)
  expect([await outside(), await direct()]).toEqual([before, before])
  expect(await transaction.commit()).toBe(200)
  expect([await outside(), await direct()]).toEqual([after, after])
})
