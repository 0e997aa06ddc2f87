import { catalogFixture, type FakeCatalog } from 'tabularium/testing'
import { test as base, expect } from 'vitest'
import { cleanUp, publish } from './publish.ts'

// Seeded once. Every test gets a fork of its own.
const test = base.extend({
  catalog: catalogFixture({
    seed: {
      staging: { flights: [{ delay: 75 }, { delay: 12 }] },
      prod: { flights: [{ delay: 3 }] },
      archive: {},
    },
  }),
})

async function rows(catalog: FakeCatalog, ...id: string[]): Promise<number> {
  return (await catalog.countTableRows({ id })).count
}

test('readers see the new rows, and the old ones are kept', async ({ catalog }) => {
  await publish(catalog, 'flights')
  expect([await rows(catalog, 'prod', 'flights'), await rows(catalog, 'archive', 'flights')]).toEqual([2, 1])
})

test('a first publication has nothing to keep', async ({ catalog }) => {
  await catalog.seed({ staging: { trains: [{ delay: 1 }] } })
  await publish(catalog, 'trains')
  expect(await rows(catalog, 'prod', 'trains')).toBe(1)
})

test('a busy catalog is asked again', async ({ catalog }) => {
  const busy = catalog.faults.add({ operation: 'renameTable', nth: 2, fail: 'ServiceUnavailable' })
  await publish(catalog, 'flights')
  expect(busy.fired).toBe(1)
  const outcomes = catalog.calls.of('renameTable').map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['succeeded', 'failed', 'succeeded'])
})

test('a catalog that stays busy is told of', async ({ catalog }) => {
  catalog.faults.add({ operation: 'renameTable', fail: 'ServiceUnavailable' })
  await expect(publish(catalog, 'flights')).rejects.toMatchObject({ code: 'ServiceUnavailable' })
  expect(await rows(catalog, 'prod', 'flights')).toBe(1)
})

test('the archive forgets what is older than 30 days', async ({ catalog }) => {
  const day = 24 * 60 * 60 * 1_000
  await publish(catalog, 'flights')
  expect(await cleanUp(catalog, 30 * day, catalog.clock.now())).toEqual([])
  catalog.clock.advance(31 * day)
  // What would happen a day later is tried on a fork, and does not happen here.
  expect(await cleanUp(catalog.fork(), 30 * day, catalog.clock.now())).toEqual(['flights'])
  expect(await rows(catalog, 'archive', 'flights')).toBe(1)
})
