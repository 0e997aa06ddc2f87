import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, unchanged, versionOf, withVersions } from './trial.ts'

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
