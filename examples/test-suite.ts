/*
 * Tests of code that uses a catalog. Nothing has to be installed, started or cleaned up: the fake is the real
 * catalog, in memory, and each test gets a fork of the seeded one.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { type Catalog, CatalogError } from 'tabularium'
import { type FakeCatalog, fakeCatalog } from 'tabularium/testing'

/** The code under test: moves a checked table to where its readers look, and keeps the old one beside it. */
async function publish(catalog: Catalog, name: string): Promise<void> {
  const target = ['prod', name]
  await catalog
    .renameTable({ id: target, new_table_name: `${name}_before`, new_namespace_id: ['archive'] })
    .catch((error) => {
      if (!(error instanceof CatalogError && error.code === 'TableNotFound')) throw error
    })
  await again(() =>
    catalog.renameTable({ id: ['staging', name], new_table_name: name, new_namespace_id: ['prod'] }),
  )
}

/** Tries again when the catalog is busy. */
async function again<T>(work: () => Promise<T>, attempts = 3): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const busy = error instanceof CatalogError && error.code === 'ServiceUnavailable'
      if (!busy || attempt === attempts) throw error
    }
  }
}

const seeded = await fakeCatalog({
  seed: {
    staging: { flights: [{ delay: 75 }, { delay: 12 }] },
    prod: { flights: [{ delay: 3 }] },
    archive: {},
  },
})
let catalog: FakeCatalog

beforeEach(() => {
  catalog = seeded.fork()
})

async function delays(id: string[]): Promise<number> {
  return (await catalog.countTableRows({ id })).count
}

test('readers see the new rows, and the old ones are kept', async () => {
  await publish(catalog, 'flights')
  assert.equal(await delays(['prod', 'flights']), 2)
  assert.equal(await delays(['archive', 'flights_before']), 1)
})

test('a busy catalog is asked again', async () => {
  catalog.faults.add({ operation: 'renameTable', nth: 2, fail: 'ServiceUnavailable' })
  await publish(catalog, 'flights')
  assert.deepEqual(
    catalog.calls.of('renameTable').map(({ outcome }) => outcome),
    ['succeeded', 'failed', 'succeeded'],
  )
})

test('a table that was never staged is told of', async () => {
  await assert.rejects(publish(catalog, 'trains'), { code: 'TableNotFound' })
})
