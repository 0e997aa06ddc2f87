import { expect, it } from 'vitest'
import { memoryContent } from '../../src/content/memory/index.ts'
import { openCatalog } from '../../src/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import type { Key, Store } from '../../src/store/store.ts'
import { closedAfterwards } from '../support/catalogs.ts'

/** A store that tells the ranges that its writes walk. */
function walked(store: Store, walks: Key[]): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: (body) =>
      store.write((writer) =>
        body({
          get: (key) => writer.get(key),
          range: (range) => {
            walks.push(range.prefix ?? [])
            return writer.range(range)
          },
          put: (key, value) => writer.put(key, value),
          remove: (key) => writer.remove(key),
        }),
      ),
    close: () => store.close(),
  }
}

it('deregistering tables that are names only walks the records of each of them once', async () => {
  const walks: Key[] = []
  const store = walked(memoryStore(), walks)
  const catalog = closedAfterwards(await openCatalog({ store, content: memoryContent() }))
  const names = ['a', 'b', 'c']
  for (const name of names) await catalog.declareTable({ id: [name] })
  walks.length = 0
  await catalog.batchCommitTables({ operations: names.map((name) => ({ deregister_table: { id: [name] } })) })
  const ofTables = walks
    .filter(([family]) => ['v', 'g', 'b'].includes(String(family)))
    .map((key) => key.join())
  expect(ofTables).toHaveLength(3 * names.length)
  expect(new Set(ofTables).size).toBe(ofTables.length)
})
