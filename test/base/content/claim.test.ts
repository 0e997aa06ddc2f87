import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { freshFolder } from '../../support/catalogs.ts'

/** A place for rows, and an opening of a catalog there that is refused after the place was claimed. */
async function refusedAt() {
  const folder = join(await freshFolder(), 'rows')
  await mkdir(folder)
  const content = pathToFileURL(folder).href
  const contentCache = { folder: join(await freshFolder(), 'cache') }
  return {
    folder,
    content,
    open: (store = memoryStore()) =>
      openCatalog({ store, content, contentCache }).then(
        () => 'opened',
        (error) => error.message,
      ),
  }
}

test('a new catalog that is refused leaves no claim behind: another one may have its prefix', async () => {
  const { folder, content, open } = await refusedAt()
  expect(await open()).toContain('has its rows nearby')
  expect(await readdir(folder)).toEqual([])
  await using other = await openCatalog({ store: memoryStore(), content })
  await other.createTable({ id: ['t'], data: [{ x: 1 }] })
  expect(await other.countTableRows({ id: ['t'] })).toEqual({ count: 1 })
})

test('a claim that was there before stays, whoever is refused', async () => {
  const { folder, content, open } = await refusedAt()
  const store = memoryStore()
  await using catalog = await openCatalog({ store, content })
  await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
  // The same catalog, and another one.
  expect(await open(store)).toContain('has its rows nearby')
  expect(await open()).toContain('belongs to another catalog')
  expect((await readdir(folder)).sort()).toEqual(['catalog.json', 'tables'])
  await using again = await openCatalog({ store, content })
  expect(await again.countTableRows({ id: ['t'] })).toEqual({ count: 1 })
})

test('those who open one new catalog at once, and are refused, undo only what they made', async () => {
  const { content, open } = await refusedAt()
  const store = memoryStore()
  await using catalog = await openCatalog({ store, content })
  const read = store.read.bind(store)
  // Another process made the record after this one had looked for it.
  let isFirst = true
  store.read = async (body) => {
    const found = await read(body)
    if (!isFirst) return found
    isFirst = false
    return undefined as typeof found
  }
  expect(await open(store)).toContain('has its rows nearby')
  await using again = await openCatalog({ store, content })
  await catalog.createNamespace({ id: ['n'] })
  expect(await again.namespaceExists({ id: ['n'] })).toEqual({})
})
