import { rmSync } from 'node:fs'
import { cp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { storeFiles } from '../../../src/stores/lmdb/index.ts'
import { openCatalog, restoreCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

async function opened() {
  const folder = join(await freshFolder(), 'catalog')
  const catalog = closedAfterwards(await openCatalog(folder))
  await catalog.createTable({ id, data: numbered(3) })
  const changes = [
    () => catalog.declareTable({ id: ['u'] }),
    () => catalog.insertIntoTable({ id, data: numbered(1) }),
    () => catalog.createTable({ id: ['v'], data: numbered(1) }),
    () => catalog.deregisterTable({ id }),
    () => catalog.dropTable({ id }),
  ]
  const refused = async () => {
    for (const change of changes)
      await fails(change, 'ServiceUnavailable', 'was removed or replaced', 'open it')
    // Many at once as well.
    const all = await Promise.allSettled(changes.flatMap((change) => [change(), change(), change()]))
    expect(all.every(({ status }) => status === 'rejected')).toBe(true)
  }
  return { folder, catalog, refused }
}

describe('an open catalog whose files are taken away', () => {
  it.each([...storeFiles.filter((name) => !name.endsWith('-queue')), 'tables'])(
    'refuses changes once %s is gone',
    async (name) => {
      const { folder, refused } = await opened()
      await rm(join(folder, name), { recursive: true })
      await refused()
    },
  )

  it.each([...storeFiles.filter((name) => !name.endsWith('-queue')), 'tables'])(
    'refuses a change once %s is gone, beside one that began before',
    async (name) => {
      for (const turns of [0, 4, 8, 16, 32]) {
        const { folder, catalog } = await opened()
        const before = catalog.declareTable({ id: ['before'] })
        for (let turn = 0; turn < turns; turn++) await undefined
        rmSync(join(folder, name), { recursive: true })
        await fails(catalog.declareTable({ id: ['after'] }), 'ServiceUnavailable', 'was removed or replaced')
        await before.catch(() => {})
      }
    },
  )

  it('refuses changes once the whole directory is gone, and reads what it still has', async () => {
    const { folder, catalog, refused } = await opened()
    await rm(folder, { recursive: true })
    await refused()
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['t'])
  })

  it.each(['catalog.mdb', 'catalog.lock', 'tables'])(
    'refuses changes once %s is another one',
    async (name) => {
      const { folder, refused } = await opened()
      await rename(join(folder, name), join(folder, 'old'))
      await cp(join(folder, 'old'), join(folder, name), { recursive: true })
      await refused()
    },
  )

  it('refuses changes once another catalog was restored in its place', async () => {
    const { folder, catalog, refused } = await opened()
    await catalog.backup(`${folder}-copy`)
    await restoreCatalog(`${folder}-copy`, folder, { replace: true })
    await refused()
    await catalog.close()
    const restored = closedAfterwards(await openCatalog(folder))
    await restored.insertIntoTable({ id, data: numbered(1, 3) })
    expect(await rowsOf(restored, id)).toEqual(numbered(4))
  })

  it('goes on where other files come and go', async () => {
    const folder = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(folder))
    await catalog.declareTable({ id: ['first'] })
    await catalog.createTable({ id, data: numbered(3) })
    await writeFile(join(folder, 'note'), 'x')
    await catalog.dropTable({ id })
    await rm(join(folder, 'note'))
    await catalog.vacuum({ graceMillis: 0 })
    await catalog.createTable({ id, data: numbered(3) })
    expect(await rowsOf(catalog, id)).toEqual(numbered(3))
  })
})
