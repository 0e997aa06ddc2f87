import { expect, it, onTestFinished } from 'vitest'
import { recordedByCommit } from '../../../src/catalog/formats/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { icebergRest } from '../../../src/iceberg/index.ts'
import { serve } from '../../../src/server/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog, type Store } from '../../../src/tabularium/index.ts'
import { IcebergRequests, schema, snapshotUpdates } from '../rest.ts'

/* What a commit of Iceberg costs in commits of the store, each of which a disk syncs. */

/** A catalog, and how many writes its store has had since the last call. */
async function counted() {
  const below = memoryStore()
  let count = 0
  const store: Store = {
    features: below.features,
    read: (body) => below.read(body),
    write: (body) => {
      count++
      return below.write(body)
    },
    close: () => below.close(),
  }
  const catalog = await openCatalog({ store, content: memoryContent(), root: 'memory://here' })
  onTestFinished(() => catalog.close())
  const writes = () => {
    const so = count
    count = 0
    return so
  }
  return { catalog, writes }
}

async function served() {
  const { catalog, writes } = await counted()
  const server = await serve(catalog, { auth: false, port: 0, log: false, mounts: [icebergRest(catalog)] })
  onTestFinished(() => server.close())
  const rest = new IcebergRequests(`${server.url}/iceberg`)
  await rest.post('namespaces', { namespace: ['prod'] })
  writes()
  return { rest, writes }
}

const table = 'namespaces/prod/tables/t'
const requirements = [{ type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': null }]

it('a commit is one commit of the store, and one that is late is none', async () => {
  const { rest, writes } = await served()
  expect((await rest.post('namespaces/prod/tables', { name: 't', schema })).status).toBe(200)
  expect(writes()).toBe(1)
  expect((await rest.post(table, { requirements, updates: snapshotUpdates(1) })).status).toBe(200)
  expect(writes()).toBe(1)
  expect((await rest.post(table, { requirements, updates: snapshotUpdates(2) })).body.error).toMatchObject({
    type: 'CommitFailedException',
  })
  expect(writes()).toBe(0)
})

it('of writers at once that want the same one commits, and the others cost nothing', async () => {
  const { rest, writes } = await served()
  await rest.post('namespaces/prod/tables', { name: 't', schema })
  writes()
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, i) => rest.post(table, { requirements, updates: snapshotUpdates(i + 1) })),
  )
  expect(all.map(({ status }) => status).sort()).toEqual([200, ...new Array(7).fill(409)])
  expect(writes()).toBe(1)
})

it('commits of several tables in any order do not wait for each other for ever', async () => {
  const { rest } = await served()
  for (const name of ['a', 'b', 'c']) await rest.post('namespaces/prod/tables', { name, schema })
  const change = (name: string, note: string) => ({
    identifier: { namespace: ['prod'], name },
    updates: [{ action: 'set-properties', updates: { note } }],
  })
  const orders = ['abc', 'cba', 'bca', 'acb', 'ab', 'ba', 'c']
  const all = await Promise.all(
    orders.map((names, i) =>
      rest.post('transactions/commit', { 'table-changes': [...names].map((name) => change(name, `${i}`)) }),
    ),
  )
  expect(all.map(({ status }) => status)).toEqual(orders.map(() => 204))
})

it('a transaction that its commit records runs again when a vacuum has begun', async () => {
  const { catalog, writes } = await counted()
  let runs = 0
  const quick = { [recordedByCommit]: true } as const
  const declare = (name: string, work?: () => Promise<unknown>) =>
    catalog.transaction(async (tx) => {
      if (++runs === 1) await work?.()
      await tx.declareTable({ id: [name] })
    }, quick)
  writes()
  await declare('a')
  expect([runs, writes()]).toEqual([1, 1])
  runs = 0
  await declare('b', () => catalog.vacuum())
  expect(runs).toBe(2)
  expect((await catalog.listTables({ id: [] })).tables).toEqual(['a', 'b'])
})
