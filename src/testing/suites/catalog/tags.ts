import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, pages, unchanged, withVersions } from './trial.ts'

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
