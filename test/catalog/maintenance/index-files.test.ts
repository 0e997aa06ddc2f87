import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { isIndexObject } from '../../../src/engine/table/storage/objects.ts'
import { type LocalCatalog, openCatalog, restoreCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, eachCatalog, freshFolder } from '../../support/catalogs.ts'
import { eachContent, filesIn, pathsOf } from '../../support/contents.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'

const id = ['t']
const now = { graceMillis: 0 }
const rows = 6_000

async function indexed(catalog: LocalCatalog): Promise<void> {
  await catalog.createTable({ id, data: numbered(rows) })
  await catalog.createTableScalarIndex({ id, column: 'name', index_type: 'BTREE' })
}

eachContent((open) => {
  describe('files of indexes', () => {
    it('stay while a version needs them, and are vacuumed afterwards', async () => {
      const { catalog, content } = await open()
      const files = async () => (await pathsOf(content)).filter(isIndexObject)
      await indexed(catalog)
      const [file] = await files()
      expect(file).toBeDefined()
      await catalog.deleteFromTable({ id, predicate: "name = 'row 17'" })
      await catalog.insertIntoTable({ id, data: numbered(5_000, rows) })
      await catalog.optimizeTable({ id })
      expect(await files()).toHaveLength(2)
      await catalog.vacuum(now)
      expect(await files()).toHaveLength(2)
      await catalog.dropTableIndex({ id, index_name: 'name_idx' })
      await catalog.vacuum(now)
      expect(await files()).toHaveLength(2)
      const { versions } = await catalog.listTableVersions({ id })
      const last = Math.max(...versions.map(({ version }) => version))
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: last }] })
      await catalog.vacuum(now)
      expect(await files()).toEqual([])
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      expect(await countOf(catalog, id, { predicate: "name IN ('row 17', 'row 18', 'row 7000')" })).toBe(2)
    })

    it('go with their column, and those of others stay', async () => {
      const { catalog, content } = await open()
      const files = async () => (await pathsOf(content)).filter(isIndexObject)
      await indexed(catalog)
      await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
      await catalog.alterTableDropColumns({ id, columns: ['name'] })
      expect((await catalog.listTableIndices({ id })).indexes.map(({ columns }) => columns)).toEqual([['n']])
      const { versions } = await catalog.listTableVersions({ id })
      const last = Math.max(...versions.map(({ version }) => version))
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: last }] })
      await catalog.vacuum(now)
      expect(await files()).toHaveLength(1)
      expect(await countOf(catalog, id, { predicate: 'n = 17' })).toBe(1)
      expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'm', expression: 'n' }] })
      await catalog.alterTableDropColumns({ id, columns: ['n'] })
      expect((await catalog.listTableIndices({ id })).indexes).toEqual([])
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: last + 2 }] })
      await catalog.vacuum(now)
      expect(await files()).toEqual([])
      expect(await countOf(catalog, id, { predicate: 'm = 17' })).toBe(1)
    })

    it('are verified, are written anew by optimizing, and answers do not need them', async () => {
      const { catalog, content } = await open({ cacheBytes: 0 })
      await indexed(catalog)
      const spoils: readonly ((bytes: Uint8Array) => Uint8Array | undefined)[] = [
        () => undefined,
        (bytes) => bytes.subarray(0, 100),
        (bytes) => bytes.map((byte, i) => (i % 7 === 0 ? byte ^ 1 : byte)),
      ]
      for (const spoil of spoils) {
        const [path] = (await pathsOf(content)).filter(isIndexObject)
        const bytes = (await content.get(path!))!.slice()
        await content.remove(path!)
        const spoiled = spoil(bytes)
        if (spoiled) await content.put(path!, spoiled)
        const { ok, findings } = await catalog.verify()
        expect(ok).toBe(false)
        expect(findings).toMatchObject([
          {
            severity: 'problem',
            kind: 'content',
            id,
            where: path,
            message: expect.stringContaining('Optimize the table to write it anew'),
          },
        ])
        expect(await rowsOf(catalog, id, { filter: "name = 'row 4321'" })).toEqual(numbered(1, 4_321))
        const mended = await catalog.optimizeTable({ id })
        expect(mended).toMatchObject({ optimized: true, repaired_index_files: 1, rewritten_rows: 0 })
        expect(await catalog.optimizeTable({ id })).toMatchObject({
          optimized: false,
          repaired_index_files: 0,
        })
        expect(await rowsOf(catalog, id, { filter: "name = 'row 4321'" })).toEqual(numbered(1, 4_321))
        await catalog.batchDeleteTableVersions({
          id,
          ranges: [{ start_version: 1, end_version: mended.version }],
        })
        await catalog.vacuum(now)
        expect(await catalog.verify()).toMatchObject({ ok: true, findings: [] })
      }
    })
  })
})

test('a backup has the files of indexes, and does not need them', async () => {
  const folder = await freshFolder()
  const directory = join(folder, 'catalog')
  const catalog = closedAfterwards(await openCatalog(directory))
  await indexed(catalog)
  await catalog.backup(join(folder, 'whole'))
  expect((await filesIn(join(folder, 'whole'))).filter(isIndexObject)).toHaveLength(1)
  await restoreCatalog(join(folder, 'whole'), join(folder, 'restored'))
  const restored = closedAfterwards(await openCatalog(join(folder, 'restored')))
  expect(await restored.verify()).toMatchObject({ ok: true, findings: [] })
  const [file] = (await filesIn(directory)).filter(isIndexObject)
  await rm(join(directory, file!))
  await catalog.backup(join(folder, 'without'))
  const without = closedAfterwards(await openCatalog(join(folder, 'without')))
  expect(await countOf(without, id, { predicate: "name = 'row 5'" })).toBe(1)
})

eachCatalog((open) => {
  test('statistics of an index tell which rows it finds, and optimizing adds the others', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: numbered(rows) })
    await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
    const told = async () => {
      const { num_indexed_rows, num_unindexed_rows } = await catalog.describeTableIndexStats({
        id,
        index_name: 'n_idx',
      })
      const [listed] = (await catalog.listTableIndices({ id })).indexes
      expect(listed).toMatchObject({ num_indexed_rows, num_unindexed_rows })
      return [num_indexed_rows, num_unindexed_rows, listed!.num_segments]
    }
    expect(await told()).toEqual([rows, 0, 1])
    await catalog.insertIntoTable({ id, data: numbered(5_000, rows) })
    await catalog.deleteFromTable({ id, predicate: 'n IN (1, 2, 6001)' })
    expect(await told()).toEqual([rows - 2, 4_999, 1])
    const { optimized } = await catalog.optimizeTable({ id, min_deleted_share: 0.5, target_rows: 5_000 })
    expect(optimized).toBe(true)
    expect(await told()).toEqual([rows + 4_997, 0, 2])
    expect((await catalog.optimizeTable({ id, min_deleted_share: 0.5, target_rows: 5_000 })).optimized).toBe(
      false,
    )
    const [index] = (await catalog.listTableIndices({ id })).indexes
    expect(index!.size_bytes).toBeGreaterThan(6 * 11_000)
    expect(index!.size_bytes).toBeLessThan(7 * 11_000)
  })
})
