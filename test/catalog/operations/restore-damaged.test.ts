import { expect, it } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith, pathsOf } from '../../support/contents.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['t']

for (const fault of ['damaged', 'missing'])
  it(`a table whose latest manifest is ${fault} is restored to a version before`, async () => {
    const store = memoryStore()
    const content = memoryContent()
    let broken: string | undefined
    const faulty = contentWith(content, {
      async get(path, range) {
        const bytes = await content.get(path, range)
        if (path !== broken) return bytes
        return fault === 'missing' ? undefined : bytes?.fill(0)
      },
    })
    const open = async () =>
      closedAfterwards(await openCatalog({ store, content: faulty, root: 'memory://here', cacheBytes: 0 }))
    const before = await open()
    await before.createTable({ id, data: [{ x: 0 }, { x: 1 }] })
    const known = new Set(await pathsOf(content))
    await before.insertIntoTable({ id, data: [{ x: 2 }] })
    broken = (await pathsOf(content)).find((path) => path.includes('/_versions/') && !known.has(path))
    expect(broken).toBeDefined()
    const catalog = await open()
    await fails(catalog.insertIntoTable({ id, data: [{ x: 3 }] }), 'InvalidTableState', 'Restore')
    await fails(catalog.restoreTable({ id, version: 2 }), 'InvalidTableState', 'Restore')
    await catalog.restoreTable({ id, version: 1 })
    expect((await catalog.insertIntoTable({ id, data: [{ x: 4 }] })).version).toBe(4)
    await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'y', expression: 'x + 1' }] })
    const restored = await rowsOf(catalog, id, { with_row_id: true })
    expect(restored.map(({ x, y }) => [x, y])).toEqual([
      [0, 1],
      [1, 2],
      [4, 5],
    ])
    // The row with the id 2 is in the version that cannot be read.
    const ids = restored.map(({ _rowid }) => Number(_rowid))
    expect(ids.slice(0, 2)).toEqual([0, 1])
    expect(ids[2]).toBeGreaterThan(2)
    await catalog.transaction(async (tx) => {
      await tx.restoreTable({ id, version: 1 })
    })
    expect(await rowsOf(catalog, id)).toEqual([{ x: 0 }, { x: 1 }])
  })
