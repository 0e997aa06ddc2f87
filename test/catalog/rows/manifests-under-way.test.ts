import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Content } from '../../../src/base/content/content.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']

/** A content whose groups put manifests when `before` lets them. */
function slowManifests(content: Content, before: (path: string) => Promise<unknown>): Content {
  return contentWith(content, {
    group: () => ({
      put: async (path, bytes) => {
        if (path.includes('/_versions/')) await before(path)
        await content.put(path, bytes)
      },
      sync: async () => {},
    }),
  })
}

/** A catalog that keeps nothing of what it read or wrote, and another one over the same records and content. */
async function catalogs(before: (path: string) => Promise<unknown>) {
  const store = memoryStore()
  const content = memoryContent()
  const options = { store, root: 'memory://here', cacheBytes: 0 }
  const one = closedAfterwards(await openCatalog({ ...options, content: slowManifests(content, before) }))
  const other = closedAfterwards(await openCatalog({ ...options, content }))
  return { one, other }
}

async function someTurns(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}

test('changes that wait together go on top of manifests that are still being written', async () => {
  const { one, other } = await catalogs(someTurns)
  await one.createTable({ id, data: numbered(10) })
  const changes = Array.from({ length: 12 }, (_, i) =>
    i % 3 === 0
      ? one.insertIntoTable({ id, data: numbered(1, 100 + i) })
      : i % 3 === 1
        ? one.deleteFromTable({ id, predicate: `n = ${i}` })
        : one.updateTableSchemaMetadata({ id, metadata: { by: String(i) } }),
  )
  await Promise.all(changes)
  const { versions } = await other.listTableVersions({ id, limit: 100 })
  expect(versions).toHaveLength(13)
  for (const { version } of versions) expect(await countOf(other, id, { version })).toBeGreaterThan(0)
  expect(await rowsOf(other, id)).toHaveLength(11)
})

test('no change is acknowledged, or seen by others, before its manifest is there', async () => {
  let release = () => {}
  let gate: Promise<void> | undefined
  const { one, other } = await catalogs(() => gate ?? Promise.resolve())
  await one.createTable({ id, data: numbered(1) })
  gate = new Promise((resolve) => {
    release = resolve
  })
  let isDone = false
  const insert = one.insertIntoTable({ id, data: numbered(1, 1) }).then(() => {
    isDone = true
  })
  for (let i = 0; i < 5; i++) await someTurns()
  expect(isDone).toBe(false)
  expect(await rowsOf(other, id)).toHaveLength(1)
  release()
  await insert
  expect(await rowsOf(other, id)).toHaveLength(2)
})

test('a change whose manifest cannot be written fails alone', async () => {
  let puts = 0
  const { one, other } = await catalogs(async () => {
    await someTurns()
    // The first is that of the new table.
    if (puts++ === 3) throw new Error('EIO')
  })
  await one.createTable({ id, data: numbered(1) })
  const inserts = Array.from({ length: 8 }, (_, i) => one.insertIntoTable({ id, data: numbered(1, 1 + i) }))
  const outcomes = await Promise.allSettled(inserts)
  const failed = outcomes.flatMap(({ status }, i) => (status === 'rejected' ? [1 + i] : []))
  expect(failed).toHaveLength(1)
  const found = (await rowsOf(other, id)).map(({ n }) => n as number)
  expect(found.sort((a, b) => a - b)).toEqual(
    Array.from({ length: 9 }, (_, n) => n).filter((n) => n !== failed[0]),
  )
})

test('a transaction reads what it has just written', async () => {
  const { one, other } = await catalogs(someTurns)
  await one.createTable({ id, data: numbered(1) })
  await one.transaction(async (tx) => {
    for (let n = 1; n < 4; n++) {
      await tx.insertIntoTable({ id, data: numbered(1, n) })
      expect(await tx.countTableRows({ id })).toMatchObject({ count: n + 1 })
    }
  })
  expect(await rowsOf(other, id)).toHaveLength(4)
})
