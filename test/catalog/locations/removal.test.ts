import { expect, test } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { CatalogError, type ErrorCode, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'

test.each([
  ['is away is asked once, and not for each of them', 'ServiceUnavailable', 1],
  ['refuses is asked for each of them', 'PermissionDenied', 5],
] as const)('dropping many tables from a content that %s', async (_, code: ErrorCode, times) => {
  const content = memoryContent()
  let failing: ErrorCode | undefined
  let asked = 0
  const catalog = closedAfterwards(
    await openCatalog({
      store: memoryStore(),
      content: contentWith(content, {
        remove: async (path) => {
          asked++
          if (failing) throw new CatalogError(failing, 'It cannot be removed now.')
          return content.remove(path)
        },
      }),
    }),
  )
  await catalog.createNamespace({ id: ['n'] })
  for (let i = 0; i < 5; i++) await catalog.createTable({ id: ['n', `t${i}`], data: [{ x: i }] })
  failing = code
  asked = 0
  await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
  expect(asked).toBe(times)
  expect((await catalog.listNamespaces({ id: [] })).namespaces).toEqual([])
  failing = undefined
  await catalog.vacuum({ graceMillis: 0 })
  expect(await pathsOf(content)).toEqual([])
})
