import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareStrings } from '../../../src/base/store/key.ts'
import { keys } from '../../../src/base/store/records.ts'
import { childrenAfter, isTableNext } from '../../../src/catalog/listing/children.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'

const name = fc.string({ unit: fc.constantFrom('a', 'b', 'é', 'ｚ', '𝒜', '-'), minLength: 1, maxLength: 3 })

test('the tables and namespaces of a namespace come together in order, after any name, in any pieces', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.tuple(name, fc.boolean()), { maxLength: 60, size: 'max', selector: ([n]) => n }),
      fc.option(name, { nil: undefined }),
      fc.integer({ min: 1, max: 20 }),
      async (children, after, atOnce) => {
        const store = memoryStore()
        await store.write((tx) => {
          for (const [n, isTable] of children) {
            tx.put(isTable ? keys.table('p', n) : keys.namespaceName('p', n), 'id')
          }
          tx.put(keys.table('q', 'a'), 'other')
        })
        const found = await store.read((tx) => {
          const left = childrenAfter(tx, 'p', after, atOnce)
          const seen: [string | undefined, boolean][] = []
          for (;;) {
            while (isTableNext(left)) seen.push([left.tables.take(), true])
            const namespace = left.namespaces.take()
            if (namespace === undefined) return seen
            seen.push([namespace, false])
          }
        })
        const expected = children
          .filter(([n]) => after === undefined || compareStrings(n, after) > 0)
          .sort(([a], [b]) => compareStrings(a, b))
        expect(found).toEqual(expected)
      },
    ),
    { numRuns: 200 },
  )
})

test('the operations of a batch find each its own namespace', async () => {
  await using catalog = await openCatalog('memory:')
  for (const id of [['a'], ['b'], ['a', 'b']]) await catalog.createNamespace({ id })
  const ids = [['a', 't'], ['b', 't'], ['a', 'b', 't'], ['t'], ['a', 'u'], ['a', 'b', 'u']]
  await catalog.batchCommitTables({ operations: ids.map((id) => ({ declare_table: { id } })) })
  const { tables } = await catalog.listTables({ id: [] })
  expect(tables.toSorted()).toEqual(ids.map((id) => id.join('$')).toSorted())
})
