import { beforeEach, expect, it } from 'vitest'
import type { Key, Store } from '../../../src/base/store/store.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type Catalog, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'

/** A store that notes the ranges that each of its writes walks. */
function walked(store: Store, walks: Key[][]): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: (body) =>
      store.write((writer) => {
        const walked: Key[] = []
        walks.push(walked)
        return body({
          get: (key) => writer.get(key),
          range: (range) => {
            walked.push(range.prefix ?? [])
            return writer.range(range)
          },
          put: (key, value) => writer.put(key, value),
          remove: (key) => writer.remove(key),
        })
      }),
    close: () => store.close(),
  }
}

const names = ['a', 'b', 'c']
let catalog: Catalog
let walks: Key[][]

beforeEach(async () => {
  walks = []
  const store = walked(memoryStore(), walks)
  catalog = closedAfterwards(await openCatalog({ store, content: memoryContent() }))
  for (const name of names) await catalog.declareTable({ id: [name] })
})

/** The walks for versions, tags and branches by each write that deregisters the tables. */
async function deregistering(): Promise<string[][]> {
  walks.length = 0
  await catalog.batchCommitTables({ operations: names.map((name) => ({ deregister_table: { id: [name] } })) })
  return walks.map((keys) =>
    keys.filter(([family]) => ['v', 'g', 'b'].includes(String(family))).map((key) => key.join()),
  )
}

it('deregistering tables that are names only walks no records of them', async () => {
  expect((await deregistering()).flat()).toEqual([])
})

it('deregistering tables with versions walks the records of each of them once in each write', async () => {
  for (const name of names) {
    await catalog.createTableVersion({ id: [name], version: 1, manifest_path: 'tables/m/1.manifest' })
  }
  const writes = (await deregistering()).filter((keys) => keys.length > 0)
  expect(writes.length).toBeGreaterThan(0)
  for (const keys of writes) expect(keys.toSorted()).toEqual([...new Set(keys)].toSorted())
  expect(writes.map((keys) => keys.length)).toEqual(writes.map(() => 3 * names.length))
})
