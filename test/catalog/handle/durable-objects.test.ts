import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import type { VersionRecord } from '../../../src/base/store/records.ts'
import type { Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, openCatalog } from '../../../src/tabularium/index.ts'
import { catalogSuite, transactionSuite } from '../../../src/testing/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { limitEach } from '../../support/time-limit.ts'

// A rule waits for a turn, which lasts five seconds.
limitEach(60)

/** The objects that a crash of the machine would lose, by their paths, with their bytes as text. */
type Unsynced = Map<string, string>

/** A content whose groups sync late. */
function lateContent(sync: () => Promise<void> = () => turn()): { content: Content; unsynced: Unsynced } {
  const real = memoryContent()
  const unsynced: Unsynced = new Map()
  const content = contentWith(real, {
    group: () => {
      const own: string[] = []
      return {
        put: async (path, bytes) => {
          const parts = bytes instanceof Uint8Array ? [bytes] : bytes
          unsynced.set(path, parts.map((part) => Buffer.from(part).toString('latin1')).join(''))
          own.push(path)
          await real.put(path, bytes)
        },
        sync: async () => {
          const now = own.splice(0)
          await sync()
          for (const path of now) unsynced.delete(path)
        },
      }
    },
  })
  return { content, unsynced }
}

/** A store that refuses the record of a version while its manifest, or an object that the manifest names, is not durable. */
function strictStore(unsynced: Unsynced): Store {
  const store = memoryStore()
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: (body) =>
      store.write((writer) =>
        body({
          get: (key) => writer.get(key),
          range: (range) => writer.range(range),
          remove: (key) => writer.remove(key),
          put: (key, value) => {
            const { manifest_path, rows } = (value ?? {}) as Partial<VersionRecord>
            const early = rows === undefined ? [] : neededOf(manifest_path!, unsynced)
            if (early.length > 0) throw new Error(`${early.join()} is recorded before it is durable`)
            writer.put(key, value)
          },
        }),
      ),
    close: () => store.close(),
  }
}

/** What a manifest needs of the objects that are not durable. */
function neededOf(manifest: string, unsynced: Unsynced): string[] {
  const text = [...unsynced].find(([path]) => path.endsWith(manifest))?.[1] ?? ''
  return [...unsynced.keys()].filter(
    (path) => path.endsWith(manifest) || text.includes(path.slice(path.lastIndexOf('/') + 1)),
  )
}

async function open() {
  const { content, unsynced } = lateContent()
  return closedAfterwards(await openCatalog({ store: strictStore(unsynced), content }))
}

describe('a record never names an object that is not durable yet', () => {
  catalogSuite({ describe, test }, open, { name: 'single operations' })
  transactionSuite({ describe, test }, open, { name: 'transactions' })
})

test('nor does the record of an import', async () => {
  const folder = join(await freshFolder(), 'export')
  const catalog = await open()
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  await catalog.insertIntoTable({ id: ['t'], data: [{ x: 2 }] })
  await catalog.exportTo(folder, { history: true })
  const other = await open()
  await other.importFrom(folder)
  expect((await other.countTableRows({ id: ['t'] })).count).toBe(2)
})

test('a change whose objects could not be made durable is not committed', async () => {
  let fails = false
  const { content } = lateContent(async () => {
    if (fails) throw new CatalogError('ServiceUnavailable', 'The disk is full.')
  })
  const catalog = closedAfterwards(await openCatalog({ store: memoryStore(), content }))
  const id = ['t']
  await catalog.createTable({ id, data: [{ x: 1 }] })
  fails = true
  const data = [{ x: 2 }]
  const refused = { code: 'ServiceUnavailable', message: expect.stringContaining('The disk is full.') }
  await expect(catalog.insertIntoTable({ id, data })).rejects.toMatchObject(refused)
  await expect(catalog.deleteFromTable({ id, predicate: 'x = 1' })).rejects.toMatchObject(refused)
  await expect(catalog.createTable({ id: ['u'], data })).rejects.toMatchObject(refused)
  await expect(
    catalog.transaction(async (tx) => {
      await tx.insertIntoTable({ id, data })
      await tx.declareTable({ id: ['v'] })
    }),
  ).rejects.toMatchObject(refused)
  fails = false
  expect((await catalog.countTableRows({ id })).count).toBe(1)
  expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
  await catalog.insertIntoTable({ id, data })
  expect((await catalog.countTableRows({ id })).count).toBe(2)
})
