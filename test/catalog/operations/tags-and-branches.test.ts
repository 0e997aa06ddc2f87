import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachLocalCatalog } from '../../support/catalogs.ts'
import { fails, refuses } from '../../support/refusals.ts'

const id = ['t']

async function withVersions(catalog: Catalog, ...versions: number[]) {
  await catalog.declareTable({ id })
  for (const version of versions) {
    await catalog.createTableVersion({
      id,
      version,
      manifest_path: `m${version}`,
      manifest_size: version * 10,
    })
  }
}

const done = { transaction_id: expect.any(String) }

eachLocalCatalog((open) => {
  describe('tags', () => {
    it('are created on a version, got, listed with its manifest size, and deleted', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2)
      expect(await catalog.createTableTag({ id, tag: 'stable', version: 1 })).toEqual(done)
      expect(await catalog.createTableTag({ id, tag: '__proto__', version: 2 })).toEqual(done)
      expect(await catalog.getTableTagVersion({ id, tag: 'stable' })).toEqual({ version: 1 })
      const { tags, ...rest } = await catalog.listTableTags({ id })
      expect(rest).toEqual({})
      expect(Object.entries(tags)).toEqual([
        ['__proto__', { version: 2, manifestSize: 20 }],
        ['stable', { version: 1, manifestSize: 10 }],
      ])
      expect(await catalog.deleteTableTag({ id, tag: 'stable' })).toEqual(done)
      await fails(
        catalog.getTableTagVersion({ id, tag: 'stable' }),
        'TableTagNotFound',
        '"stable"',
        'List its tags',
      )
      await refuses(
        catalog,
        () => catalog.deleteTableTag({ id, tag: 'stable' }),
        'TableTagNotFound',
        '"stable"',
      )
    })

    it('an existing tag moves to another version (4.6)', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2)
      await catalog.createTableTag({ id, tag: 'stable', version: 2 })
      expect(await catalog.updateTableTag({ id, tag: 'stable', version: 1 })).toEqual(done)
      expect(await catalog.getTableTagVersion({ id, tag: 'stable' })).toEqual({ version: 1 })
      await refuses(
        catalog,
        () => catalog.updateTableTag({ id, tag: 'none', version: 1 }),
        'TableTagNotFound',
        '"none"',
        'create this one first',
      )
      await refuses(
        catalog,
        () => catalog.updateTableTag({ id, tag: 'stable', version: 9 }),
        'TableVersionNotFound',
        'no version 9',
        'List its versions',
      )
    })

    it('a tag may point to a version of a branch, which is named then (4.6)', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.createTableVersion({ id, branch: 'dev', version: 2, manifest_path: 'd2' })
      await catalog.createTableTag({ id, tag: 'x', branch: 'dev', version: 2 })
      expect(await catalog.getTableTagVersion({ id, tag: 'x' })).toEqual({ version: 2, branch: 'dev' })
      expect(await catalog.listTableTags({ id })).toEqual({
        tags: { x: { version: 2, branch: 'dev', manifestSize: 0 } },
      })
      await catalog.updateTableTag({ id, tag: 'x', version: 1, branch: 'main' })
      expect(await catalog.getTableTagVersion({ id, tag: 'x' })).toEqual({ version: 1 })
      await catalog.updateTableTag({ id, tag: 'x', version: 1, branch: 'dev' })
      expect(await catalog.getTableTagVersion({ id, tag: 'x' })).toEqual({ version: 1, branch: 'dev' })
      await refuses(
        catalog,
        () => catalog.updateTableTag({ id, tag: 'x', version: 1, branch: 'none' }),
        'TableBranchNotFound',
        '"none"',
      )
    })

    it('cannot be created twice, nor on a version or branch that is not there', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      await catalog.createTableTag({ id, tag: 'x', version: 1 })
      await refuses(
        catalog,
        () => catalog.createTableTag({ id, tag: 'x', version: 1 }),
        'TableTagAlreadyExists',
        '"x", on version 1',
        'Update the tag',
      )
      await refuses(
        catalog,
        () => catalog.createTableTag({ id, tag: 'y', version: 2 }),
        'TableVersionNotFound',
        '2',
      )
      await refuses(
        catalog,
        () => catalog.createTableTag({ id, tag: 'y', version: 1, branch: 'b' }),
        'TableBranchNotFound',
        '"b"',
      )
    })

    it('are listed by name in pages', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      for (const tag of ['c', 'a', 'b']) await catalog.createTableTag({ id, tag, version: 1 })
      const { tags, page_token } = await catalog.listTableTags({ id, limit: 2 })
      expect(Object.keys(tags)).toEqual(['a', 'b'])
      const last = await catalog.listTableTags({ id, limit: 2, page_token })
      expect(Object.keys(last.tags)).toEqual(['c'])
      expect(last.page_token).toBeUndefined()
    })
  })

  describe('branches', () => {
    it('start with a version of their parent and continue its numbering', async () => {
      const catalog = await open({ now: () => 1_700_000_000_999 })
      await withVersions(catalog, 4, 5)
      expect(await catalog.createTableBranch({ id, name: 'dev' })).toEqual(done)
      expect(await catalog.createTableBranch({ id, name: 'old', from_version: 4 })).toEqual(done)
      await catalog.createTableVersion({
        id,
        branch: 'dev',
        version: 6,
        manifest_path: 'd6',
        manifest_size: 3,
      })
      await catalog.createTableBranch({ id, name: 'dev/two', from_branch: 'dev' })
      const versions = async (branch?: string) =>
        (await catalog.listTableVersions({ id, branch })).versions.map((v) => [v.version, v.manifest_path])
      expect(await versions('dev')).toEqual([
        [5, 'm5'],
        [6, 'd6'],
      ])
      expect(await versions('old')).toEqual([[4, 'm4']])
      expect(await versions('dev/two')).toEqual([[6, 'd6']])
      expect(await versions()).toEqual([
        [4, 'm4'],
        [5, 'm5'],
      ])
      expect(await catalog.listTableBranches({ id })).toEqual({
        branches: {
          dev: { parentVersion: 5, createAt: 1_700_000_000, manifestSize: 3 },
          'dev/two': { parentBranch: 'dev', parentVersion: 6, createAt: 1_700_000_000, manifestSize: 3 },
          old: { parentVersion: 4, createAt: 1_700_000_000, manifestSize: 40 },
        },
      })
      await fails(
        catalog.createTableVersion({ id, branch: 'old', version: 6, manifest_path: 'x' }),
        'ConcurrentModification',
        'on branch "old" is 5',
      )
    })

    it('main, the empty name and no name are the main branch', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      for (const branch of [undefined, null, '', 'main']) {
        expect((await catalog.listTableVersions({ id, branch })).versions).toHaveLength(1)
      }
      for (const name of ['main', '']) {
        await fails(catalog.createTableBranch({ id, name }), 'InvalidInput', 'main branch', 'another name')
        await fails(catalog.deleteTableBranch({ id, name }), 'InvalidInput', 'main branch', 'drop the table')
      }
    })

    it('are deleted with their versions, the parent untouched', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.createTableVersion({ id, branch: 'dev', version: 2, manifest_path: 'd2' })
      expect(await catalog.deleteTableBranch({ id, name: 'dev' })).toEqual(done)
      expect(await catalog.listTableBranches({ id })).toEqual({ branches: {} })
      await fails(
        catalog.listTableVersions({ id, branch: 'dev' }),
        'TableBranchNotFound',
        '"dev"',
        'List its branches',
      )
      expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
      // A new branch of that name has nothing of the old one.
      await catalog.createTableBranch({ id, name: 'dev' })
      expect((await catalog.listTableVersions({ id, branch: 'dev' })).versions).toHaveLength(1)
    })

    it('that a tag points to cannot be deleted', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.createTableTag({ id, tag: 'x', version: 1, branch: 'dev' })
      await refuses(
        catalog,
        () => catalog.deleteTableBranch({ id, name: 'dev' }),
        'InvalidTableState',
        'tag x',
        '"dev"',
        'delete the tag first',
      )
    })

    it('cannot be created twice, nor from what is not there', async () => {
      const catalog = await open()
      await withVersions(catalog)
      await refuses(
        catalog,
        () => catalog.createTableBranch({ id, name: 'dev' }),
        'TableVersionNotFound',
        'declared',
        'Insert rows or create a version first',
      )
      await catalog.createTableVersion({ id, version: 1, manifest_path: 'm' })
      await catalog.createTableBranch({ id, name: 'dev' })
      await refuses(
        catalog,
        () => catalog.createTableBranch({ id, name: 'dev' }),
        'TableBranchAlreadyExists',
        '"dev"',
        'another name',
      )
      await refuses(
        catalog,
        () => catalog.createTableBranch({ id, name: 'x', from_branch: 'none' }),
        'TableBranchNotFound',
        '"none"',
      )
      await refuses(
        catalog,
        () => catalog.createTableBranch({ id, name: 'x', from_version: 2 }),
        'TableVersionNotFound',
        'no version 2',
      )
      await refuses(catalog, () => catalog.deleteTableBranch({ id, name: 'x' }), 'TableBranchNotFound', '"x"')
    })

    it('are listed by name in pages', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      for (const name of ['c', 'a', 'b']) await catalog.createTableBranch({ id, name })
      const { branches, page_token } = await catalog.listTableBranches({ id, limit: 2 })
      expect(Object.keys(branches)).toEqual(['a', 'b'])
      const last = await catalog.listTableBranches({ id, limit: 2, page_token })
      expect(Object.keys(last.branches)).toEqual(['c'])
      expect(last.page_token).toBeUndefined()
    })
  })
})
