import { expect, test } from 'vitest'
import { type CatalogRecord, catalogFormat, keys, retentionFormat } from '../../../src/base/store/records.ts'
import { retentionProperties } from '../../../src/catalog/lookup/retention-rule.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { openContext } from '../../../src/server/core/context.ts'
import { logger } from '../../../src/server/logger.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, stoppedClock } from '../../support/catalogs.ts'

const hour = 3_600_000

async function quiet(retention?: { readonly versions?: number; readonly age?: number }) {
  const now = stoppedClock()
  const store = memoryStore()
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent(), now, retention }))
  // A catalog of an earlier release.
  await store.write((writer) => {
    writer.put(keys.catalog, { ...writer.get<CatalogRecord>(keys.catalog)!, v: catalogFormat })
  })
  return { catalog, now, store }
}

const numbers = async (catalog: LocalCatalog) =>
  (await catalog.listTableVersions({ id: ['t'] })).versions.map(({ version }) => version)

test('a server does the upkeep of a catalog that nobody changes', async () => {
  const { catalog, now } = await quiet({ age: hour })
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  for (const x of [2, 3]) await catalog.insertIntoTable({ id: ['t'], data: [{ x }] })
  const context = await openContext(
    { catalog, auth: false },
    { log: logger(false, () => {}), upkeepMillis: 5 },
  )
  try {
    expect(await numbers(catalog)).toEqual([1, 2, 3])
    now.move(3 * hour)
    await expect.poll(() => numbers(catalog), { timeout: 15_000 }).toEqual([3])
  } finally {
    await context.close()
  }
})

test('retention gives the catalog a format that older releases refuse', async () => {
  const format = ({ store }: { store: ReturnType<typeof memoryStore> }) =>
    store.read((reader) => reader.get<CatalogRecord>(keys.catalog)!.v)
  const all = await quiet({ versions: 1 })
  await all.catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  await all.catalog.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
  await all.catalog.vacuum({ graceMillis: 0, dryRun: true })
  expect(await format(all)).toBeLessThan(retentionFormat)
  await all.catalog.vacuum({ graceMillis: 0 })
  expect(await numbers(all.catalog)).toEqual([2])
  expect(await format(all)).toBe(retentionFormat)

  const one = await quiet()
  await one.catalog.createTable({ id: ['a'], data: [{ x: 1 }] })
  expect(await format(one)).toBeLessThan(retentionFormat)
  const properties = { [retentionProperties.versions]: '3' }
  await one.catalog.createTable({ id: ['t'], data: [{ x: 1 }], properties })
  expect(await format(one)).toBe(retentionFormat)
})
