import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { replacements } from './clocks.ts'

// It runs the suites while timers are fake.
limitEach(60)

type Package = Pick<typeof import('../../../src/tabularium/index.ts'), 'openCatalog'> &
  Pick<typeof import('../../../src/testing/index.ts'), 'fakeCatalog'>

const load = async (): Promise<Package> => ({
  openCatalog: (await import('../../../src/tabularium/index.ts')).openCatalog,
  fakeCatalog: (await import('../../../src/testing/index.ts')).fakeCatalog,
})

const kinds: Readonly<Record<string, (from: Package, folder: string) => Promise<LocalCatalog>>> = {
  memory: ({ openCatalog }) => openCatalog('memory:'),
  'a directory': ({ openCatalog }, folder) => openCatalog(folder),
  'the fake': ({ fakeCatalog }) => fakeCatalog(),
}

const data = Array.from({ length: 300 }, (_, n) => ({ n, text: `row ${n}`, at: new Date(n) }))

/** Calls of many kinds, so that all code with timers or clocks runs. */
async function doMuch(catalog: LocalCatalog): Promise<void> {
  const id = ['t']
  await catalog.createTable({ id, data, mode: 'Overwrite' })
  await catalog.insertIntoTable({ id, data })
  await Promise.all(Array.from({ length: 8 }, () => catalog.insertIntoTable({ id, data: data.slice(0, 5) })))
  await catalog.updateTable({ id, updates: [['text', "concat(text, '!')"]], predicate: 'n < 10' })
  await catalog.mergeInsertIntoTable({
    id,
    data: [{ n: 1, text: 'x', at: new Date(0) }],
    on: 'n',
    when_matched_update_all: true,
    timeout: '10s',
  })
  await catalog.deleteFromTable({ id, predicate: 'n > 100 AND at < current_timestamp' })
  expect((await catalog.countTableRows({ id, predicate: 'n = 50' })).count).toBe(2)
  let seen = 0
  for await (const _ of catalog.rows({ id, filter: 'n < 3' })) seen++
  expect(seen).toBeGreaterThan(5)
  await catalog.optimizeTable({ id })
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: data.slice(0, 1) })
    await tx.countTableRows({ id })
  })
  const begun = await catalog.beginTransaction({})
  await catalog.insertIntoTable({ id, data: data.slice(0, 1) }, { transaction: begun.transaction_id })
  await catalog.commitTransaction({ id: [begun.transaction_id] })
  await catalog.vacuum({ graceMillis: 0 })
  await catalog.verify()
  await catalog.dropTable({ id })
}

afterEach(() => {
  vi.useRealTimers()
})

describe.each(Object.entries(replacements))('under %s', (_, replace) => {
  describe.each(Object.entries(kinds))('%s', (kind, open) => {
    it('works, and works on afterwards', async () => {
      const own = await load()
      const folder = await freshFolder()
      const restore = replace()
      const before = await open(own, join(folder, 'one')).finally(restore)
      await doMuch(before)
      const again = replace()
      await doMuch(before).finally(again)
      const third = replace()
      const other = await open(own, join(folder, 'other')).finally(third)
      await doMuch(other)
      await Promise.all([before.close(), other.close()])
    })

    it('works when it is loaded there, and works on afterwards', async () => {
      vi.resetModules()
      const folder = await freshFolder()
      const restore = replace()
      let catalog: LocalCatalog
      try {
        catalog = await open(await load(), folder)
        await doMuch(catalog)
      } finally {
        restore()
      }
      await doMuch(catalog)
      await catalog.close()
    })

    if (kind !== 'the fake')
      it('tells the time of the clock on the wall', async () => {
        const own = await load()
        const began = Date.now()
        const restore = replace()
        try {
          await using catalog = await open(own, await freshFolder())
          const { transaction_id } = await catalog.declareTable({ id: ['t'] })
          const { properties } = await catalog.describeTransaction({ id: [transaction_id!] })
          expect(Date.parse(String(properties?.created_at))).toBeGreaterThanOrEqual(began - 1_000)
        } finally {
          restore()
        }
      })
  })
})
