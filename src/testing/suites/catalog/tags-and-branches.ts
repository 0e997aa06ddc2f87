import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, pages, unchanged, versionOf, withVersions } from './trial.ts'

export const tags: Topic<CatalogTrial> = {
  name: 'tags',
  cases: [
    rule(
      'tag.create',
      'document 9',
      'A tag points to one version, is listed, and is gone once deleted.',
      ['createTableTag', 'getTableTagVersion', 'listTableTags', 'deleteTableTag'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1, 2)
        await catalog.createTableTag({ id, tag: 'stable', version: 1 })
        await catalog.createTableTag({ id, tag: 'a-1._', version: 2 })
        assert.equal((await catalog.getTableTagVersion({ id, tag: 'stable' })).version, 1)
        const listed = Object.entries((await catalog.listTableTags({ id })).tags)
        assert.deepEqual(
          listed.map(([name, { version }]) => [name, version]),
          [
            ['a-1._', 2],
            ['stable', 1],
          ],
        )
        await catalog.deleteTableTag({ id, tag: 'stable' })
        await refused(catalog.getTableTagVersion({ id, tag: 'stable' }), 'TableTagNotFound')
        await unchanged(trial, 'TableTagNotFound', [() => catalog.deleteTableTag({ id, tag: 'stable' })])
      },
    ),
    rule(
      'tag.update',
      'document 4.6',
      'Updating makes an existing tag point to a different version; a missing tag or version is refused.',
      ['createTableTag', 'updateTableTag', 'getTableTagVersion'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1, 2)
        await catalog.createTableTag({ id, tag: 'stable', version: 2 })
        await catalog.updateTableTag({ id, tag: 'stable', version: 1 })
        assert.equal((await catalog.getTableTagVersion({ id, tag: 'stable' })).version, 1)
        await unchanged(trial, 'TableTagNotFound', [
          () => catalog.updateTableTag({ id, tag: 'none', version: 1 }),
        ])
        await unchanged(trial, 'TableVersionNotFound', [
          () => catalog.updateTableTag({ id, tag: 'stable', version: 9 }),
        ])
        await refused(async () => catalog.updateTableTag({ id, tag: 'stable', version: -1 }), 'InvalidInput')
      },
    ),
    rule(
      'tag.refused',
      'decision: tags',
      'A tag that exists, a version that does not, and a name of other characters than letters, digits, `.`, `-` and `_` are refused.',
      ['createTableTag'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1)
        await catalog.createTableTag({ id, tag: 'x', version: 1 })
        const create = (tag: string, version: number) => () => catalog.createTableTag({ id, tag, version })
        await unchanged(trial, 'TableTagAlreadyExists', [create('x', 1)])
        await unchanged(trial, 'TableVersionNotFound', [create('y', 2)])
        await unchanged(
          trial,
          'InvalidInput',
          ['', 'a b', 'a/b', 'é'].map((tag) => create(tag, 1)),
        )
      },
    ),
    rule(
      'tag.protects',
      'decision: versions',
      'A tagged version cannot be deleted, and then nothing is.',
      ['createTableTag', 'batchDeleteTableVersions'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1, 2, 3)
        await catalog.createTableTag({ id, tag: 'stable', version: 2 })
        await unchanged(trial, 'InvalidTableState', [
          () => catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: -1 }] }),
        ])
      },
    ),
    rule(
      'tag.pages',
      'protocol: list table tags',
      'Tags are listed by name, in pages of the limit.',
      ['createTableTag', 'listTableTags'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1)
        for (const tag of ['c', 'a', 'b']) await catalog.createTableTag({ id, tag, version: 1 })
        const found = await pages((page_token) => catalog.listTableTags({ id, limit: 2, page_token }))
        assert.deepEqual(
          found.map((page) => Object.keys(page.tags)),
          [['a', 'b'], ['c']],
        )
      },
    ),
  ],
}

export const branches: Topic<CatalogTrial> = {
  name: 'branches',
  cases: [
    rule(
      'branch.numbering',
      'decision: tags, branches',
      'A branch begins with a version of its parent and continues its numbering; the parent is left alone.',
      ['createTableBranch', 'listTableBranches'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 4, 5)
        await catalog.createTableBranch({ id, name: 'dev' })
        await catalog.createTableBranch({ id, name: 'old', from_version: 4 })
        await catalog.createTableVersion({ ...versionOf(id, 6), branch: 'dev' })
        assert.deepEqual(await numbers(catalog, id, 'dev'), [5, 6])
        assert.deepEqual(await numbers(catalog, id, 'old'), [4])
        assert.deepEqual(await numbers(catalog, id), [4, 5])
        assert.deepEqual(Object.keys((await catalog.listTableBranches({ id })).branches), ['dev', 'old'])
        await unchanged(trial, 'ConcurrentModification', [
          () => catalog.createTableVersion({ ...versionOf(id, 6), branch: 'old' }),
        ])
      },
    ),
    rule(
      'branch.main',
      'document 9; decision: tags, branches',
      '`main`, the empty name and no name are the main branch, which cannot be created or deleted.',
      ['createTableBranch', 'deleteTableBranch'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1)
        for (const branch of [undefined, '', 'main'])
          assert.deepEqual(await numbers(catalog, id, branch), [1])
        for (const name of ['main', '']) {
          await unchanged(trial, 'InvalidInput', [
            () => catalog.createTableBranch({ id, name }),
            () => catalog.deleteTableBranch({ id, name }),
          ])
        }
      },
    ),
    rule(
      'branch.delete',
      'protocol: delete table branch',
      'A deleted branch takes its versions with it; one that a tag points to is refused as InvalidTableState.',
      ['createTableBranch', 'deleteTableBranch', 'createTableTag', 'deleteTableTag'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1)
        await catalog.createTableBranch({ id, name: 'dev' })
        await catalog.createTableVersion({ ...versionOf(id, 2), branch: 'dev' })
        await catalog.createTableTag({ id, tag: 'x', version: 2, branch: 'dev' })
        await unchanged(trial, 'InvalidTableState', [() => catalog.deleteTableBranch({ id, name: 'dev' })])
        await catalog.deleteTableTag({ id, tag: 'x' })
        await catalog.deleteTableBranch({ id, name: 'dev' })
        await refused(numbers(catalog, id, 'dev'), 'TableBranchNotFound')
        assert.deepEqual(await numbers(catalog, id), [1])
        await catalog.createTableBranch({ id, name: 'dev' })
        assert.deepEqual(await numbers(catalog, id, 'dev'), [1])
      },
    ),
    rule(
      'branch.refused',
      'protocol: create table branch',
      'A branch that exists, and a branch or version it shall begin with that does not, are refused.',
      ['createTableBranch', 'deleteTableBranch'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const id = await withVersions(trial, 't', 1)
        await catalog.createTableBranch({ id, name: 'dev' })
        await unchanged(trial, 'TableBranchAlreadyExists', [
          () => catalog.createTableBranch({ id, name: 'dev' }),
        ])
        await unchanged(trial, 'TableBranchNotFound', [
          () => catalog.createTableBranch({ id, name: 'x', from_branch: 'none' }),
          () => catalog.deleteTableBranch({ id, name: 'x' }),
          () => catalog.createTableVersion({ ...versionOf(id, 2), branch: 'none' }),
        ])
        await unchanged(trial, 'TableVersionNotFound', [
          () => catalog.createTableBranch({ id, name: 'x', from_version: 2 }),
        ])
      },
    ),
  ],
}
