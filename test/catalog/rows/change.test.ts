import { expect, it } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import type { Key, Reader, Store, Writer } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { gate } from '../../support/gate.ts'
import { numbered, rowsOf } from '../../support/rows.ts'
import { turns } from '../../support/turns.ts'

const id = ['t']

/**
 * A store that tells its transactions: reads, writes, and records of work that takes long, which on a busy machine may be
 * any. The process reads those records once a second, whatever it does besides: that is not told.
 */
function seeing(store: Store, seen: string[]): Store {
  const isRecord = (key: Key) => key[0] === keys.transactions[0]
  return {
    features: store.features,
    read: (body) =>
      store.read((reader) => {
        const read: Key[] = []
        const told: Reader = {
          get: (key) => {
            read.push(key)
            return reader.get(key)
          },
          range: (range) => {
            read.push([])
            return reader.range(range)
          },
        }
        try {
          return body(told)
        } finally {
          if (!read.every(isRecord)) seen.push('read')
        }
      }),
    write: (body) =>
      store.write((writer) => {
        const written: Key[] = []
        const told: Writer = {
          get: (key) => writer.get(key),
          range: (range) => writer.range(range),
          put: (key, value) => {
            written.push(key)
            writer.put(key, value)
          },
          remove: (key) => {
            written.push(key)
            writer.remove(key)
          },
        }
        try {
          return body(told)
        } finally {
          seen.push(written.length > 0 && written.every(isRecord) ? 'record' : 'write')
        }
      }),
    close: () => store.close(),
  }
}

/** What changes cost whoever makes them. */
const costOf = (seen: readonly string[]) => seen.filter((what) => what !== 'record')

/** Two catalogs on one store. The first one tells its store transactions, and calls `onManifest` before it writes one. */
async function two() {
  const store = memoryStore()
  const seen: string[] = []
  const counting = seeing(store, seen)
  const content = memoryContent()
  const hooks: { onManifest?: (() => Promise<unknown>) | undefined } = {}
  const hooked = contentWith(content, {
    put: async (path, bytes) => {
      if (path.includes('/_versions/')) await hooks.onManifest?.()
      await content.put(path, bytes)
    },
  })
  const root = 'memory://here'
  const one = closedAfterwards(await openCatalog({ store: counting, content: hooked, root }))
  // Its clock is ahead: to its vacuum, all that is there is old.
  const now = () => Date.now() + 5
  const other = await openCatalog({ store, content, root, now })
  await one.createTable({ id, data: numbered(1) })
  return { one, other, hooks, seen }
}

it('a change of rows is two transactions of the store', async () => {
  const { one, seen } = await two()
  for (const change of [
    () => one.insertIntoTable({ id, data: numbered(1) }),
    () => one.deleteFromTable({ id, predicate: 'n = 5' }),
    () => one.updateTableSchemaMetadata({ id, metadata: {} }),
    () => one.optimizeTable({ id, min_deleted_share: 0 }),
  ]) {
    // The first one loads code. Work that takes long gets a record before its commit.
    await change()
    await one.insertIntoTable({ id, data: numbered(1) })
    seen.length = 0
    await change()
    expect(costOf(seen)).toEqual(['read', 'write'])
  }
})

it('a change that loses a race goes on from where its refused commit found the table', async () => {
  const { one, other, hooks, seen } = await two()
  hooks.onManifest = async () => {
    hooks.onManifest = undefined
    await other.insertIntoTable({ id, data: numbered(1, 1) })
    await other.insertIntoTable({ id, data: numbered(1, 2) })
  }
  seen.length = 0
  expect(await one.insertIntoTable({ id, data: numbered(1, 3) })).toMatchObject({ version: 4 })
  expect(costOf(seen)).toEqual(['read', 'write', 'write'])
  expect(await rowsOf(other, id)).toEqual(numbered(4))
})

it('changes that wait for one another go on from the one before', async () => {
  const { one, seen } = await two()
  seen.length = 0
  await Promise.all(
    Array.from({ length: 8 }, (_, i) => one.insertIntoTable({ id, data: numbered(1, 1 + i) })),
  )
  // Each finds the table, and commits at the first attempt.
  expect(seen.filter((what) => what === 'read')).toHaveLength(8)
  expect(seen.filter((what) => what === 'write')).toHaveLength(8)
})

it('a change after one that failed finds the table by itself', async () => {
  const { one, other, hooks } = await two()
  hooks.onManifest = async () => {
    hooks.onManifest = undefined
    await other.insertIntoTable({ id, data: numbered(1, 1) })
    throw new Error('no room')
  }
  const both = await Promise.allSettled([2, 3].map((n) => one.insertIntoTable({ id, data: numbered(1, n) })))
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const made = both.findIndex(({ status }) => status === 'fulfilled')
  expect(both[made]).toMatchObject({ value: { version: 3 } })
  expect(await rowsOf(other, id)).toEqual([...numbered(2), ...numbered(1, 2 + made)])
})

it('a change begins again when a vacuum began meanwhile, as it may have taken what the change wrote', async () => {
  const { one, other, hooks } = await two()
  hooks.onManifest = async () => {
    hooks.onManifest = undefined
    await other.vacuum({ graceMillis: 0 })
  }
  expect(await one.insertIntoTable({ id, data: numbered(1, 1) })).toMatchObject({ version: 2 })
  expect(await rowsOf(other, id)).toEqual(numbered(2))
  hooks.onManifest = async () => {
    hooks.onManifest = undefined
    await other.vacuum({ graceMillis: 0 })
  }
  await one.createTable({ id: ['new'], data: numbered(2) })
  expect(await rowsOf(other, ['new'])).toEqual(numbered(2))
})

it('a change that takes long is recorded meanwhile, and one that fails is recorded by its failure', async () => {
  const { one, other, hooks, seen } = await two()
  let go = () => {}
  hooks.onManifest = () =>
    new Promise((resolve) => {
      go = () => resolve(undefined)
    })
  seen.length = 0
  const long = one.insertIntoTable({ id, data: numbered(1, 1) })
  // On a busy machine, its lease may be renewed meanwhile.
  await expect.poll(() => seen.slice(0, 2)).toEqual(['read', 'record'])
  hooks.onManifest = undefined
  go()
  await long
  expect(costOf(seen)).toEqual(['read', 'write'])
  const failure = await one
    .deleteFromTable({ id, predicate: 'CAST(name AS INT) = 1' })
    .catch((error) => error)
  expect(failure).toMatchObject({ code: 'InvalidInput', transaction_id: expect.any(String) })
  expect(await other.describeTransaction({ id: [failure.transaction_id] })).toMatchObject({
    status: 'Failed',
    properties: { failure_code: 'InvalidInput' },
  })
})

it('a quick change does not wait for a slow one behind it', async () => {
  const { one, hooks } = await two()
  const order: number[] = []
  let manifests = 0
  const { open: go, opened: isCommitted } = gate()
  // The third one writes its manifest only when the second one is done. The first is under way when both come.
  hooks.onManifest = () => (++manifests === 3 ? isCommitted : turns())
  await Promise.all(
    [1, 2, 3].map(async (n) => {
      await one.updateTableSchemaMetadata({ id, metadata: { n: String(n) } })
      order.push(n)
      if (n === 2) go()
    }),
  )
  expect(order).toEqual([1, 2, 3])
})

it('a change that is canceled between its manifest and the commit fails alone', async () => {
  const { one, other, hooks } = await two()
  // The first one loads code. From then on, changes of metadata become ready in their order.
  await one.updateTableSchemaMetadata({ id, metadata: {} })
  const transactions: string[] = []
  let manifests = 0
  hooks.onManifest = async () => {
    manifests++
    // While the first one is written, the others become ready. They are written on top of each other.
    if (manifests === 1) await turns()
    if (manifests === 3) await other.alterTransaction(cancel(transactions[2]!))
  }
  const cancel = (transaction: string) => ({
    id: [transaction],
    actions: [{ setStatusAction: { status: 'Canceled' as const } }],
  })
  const outcomes = await Promise.allSettled(
    [0, 1, 2, 3].map((i) => {
      const onProgress = ({ transaction_id }: { transaction_id?: string }) => {
        transactions[i] = transaction_id!
      }
      return one.updateTableSchemaMetadata({ id, metadata: { by: String(i) } }, { onProgress })
    }),
  )
  expect(outcomes).toMatchObject([
    { status: 'fulfilled' },
    { status: 'fulfilled' },
    { reason: { code: 'ConcurrentModification' } },
    { status: 'fulfilled' },
  ])
  const { versions } = await other.listTableVersions({ id })
  expect(versions.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5])
})
