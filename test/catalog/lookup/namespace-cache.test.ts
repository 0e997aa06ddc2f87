import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keys } from '../../../src/base/store/records.ts'
import { withNamespaceCache } from '../../../src/catalog/lookup/namespace-cache.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'

const parent = fc.constantFrom('', 'p', 'q')
const name = fc.nat(90).map(String)

test('a writer that remembers namespaces answers as the plain one does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(parent, name), { maxLength: 120 }),
      fc.array(fc.tuple(parent, name, fc.boolean()), { maxLength: 150 }),
      async (there, asked) => {
        const store = memoryStore()
        await store.write((writer) => {
          for (const [parent, name] of there)
            writer.put(keys.namespaceName(parent, name), `${parent}/${name}`)
        })
        await store.write((writer) => {
          const remembering = withNamespaceCache(writer)
          for (const [parent, name, isTable] of asked) {
            const key = isTable ? keys.table(parent, name) : keys.namespaceName(parent, name)
            expect(remembering.get(key)).toBe(writer.get(key))
            if (isTable) remembering.put(key, name)
          }
        })
      },
    ),
    { numRuns: 50 },
  )
})

test('of a namespace with few namespaces, names are asked for a few times only', async () => {
  const store = memoryStore()
  let gets = 0
  await store.write((writer) => {
    writer.put(keys.namespaceName('', 'ns'), 'id')
    const remembering = withNamespaceCache({
      range: (range) => writer.range(range),
      put: (key, value) => writer.put(key, value),
      remove: (key) => writer.remove(key),
      get: (key) => {
        gets++
        return writer.get(key)
      },
    })
    for (let i = 0; i < 1_000; i++) expect(remembering.get(keys.namespaceName('', `t${i}`))).toBeUndefined()
    expect(remembering.get(keys.namespaceName('', 'ns'))).toBe('id')
  })
  expect(gets).toBeLessThan(20)
})
