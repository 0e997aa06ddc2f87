import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, numbers, pages, unchanged, versionOf, withVersions } from './trial.ts'

export const versions: Topic<CatalogTrial> = {
  name: 'versions',
  cases: [
    rule(
      'version.record',
      'document 2, table version record',
      'A version is answered, described and listed with the fields it was created with, and a time.',
      ['describeTableVersion'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.declareTable({ id: id('t') })
        const fields = {
          version: 1,
          manifest_path: 'v1.manifest',
          manifest_size: 120,
          e_tag: 'abc',
          metadata: { by: 'lance' },
        }
        const { version } = await catalog.createTableVersion({ id: id('t'), ...fields })
        const { timestamp_millis, ...rest } = version
        assert.deepEqual(rest, fields)
        assert.ok(Number.isSafeInteger(timestamp_millis), `timestamp_millis is ${timestamp_millis}`)
        assert.deepEqual((await catalog.describeTableVersion({ id: id('t'), version: 1 })).version, version)
        assert.deepEqual((await catalog.listTableVersions({ id: id('t') })).versions, [version])
      },
    ),
    rule(
      'version.next',
      'decision: versions',
      'The first version may have any number from 0; after it comes the next one, any other is ConcurrentModification.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        for (const first of [0, 1, 17]) {
          const table = await withVersions(trial, `t${first}`, first, first + 1)
          assert.deepEqual(await numbers(catalog, table), [first, first + 1])
        }
        const table = trial.id('t17')
        await unchanged(
          trial,
          'ConcurrentModification',
          [0, 16, 20, 100].map((version) => () => catalog.createTableVersion(versionOf(table, version))),
        )
        for (const version of [-1, 1.5]) {
          await refused(async () => catalog.createTableVersion(versionOf(table, version)), 'InvalidInput')
        }
      },
    ),
    rule(
      'version.again',
      'decision: versions',
      'The same record again is a success that changes nothing when its manifest has a name with a UUID; otherwise, and for another record of its number, it is ConcurrentModification.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 1)
        const manifest_path = '_versions/2.manifest-0b0e7c1e-5a3d-4f6b-9c8d-1e2f3a4b5c6d'
        const entry = { ...versionOf(table, 2), manifest_path, e_tag: 'e', metadata: { a: '1', b: '2' } }
        const first = await catalog.createTableVersion(entry)
        await catalog.createTableVersion(versionOf(table, 3))
        const again = await catalog.createTableVersion({ ...entry, metadata: { b: '2', a: '1' } })
        assert.deepEqual(again.version, first.version)
        assert.deepEqual(await numbers(catalog, table), [1, 2, 3])
        await unchanged(
          trial,
          'ConcurrentModification',
          [{ manifest_path: 'x' }, { manifest_size: 1 }, { e_tag: 'x' }, { metadata: { a: '2' } }].map(
            (other) => () => catalog.createTableVersion({ ...entry, ...other }),
          ),
        )
        const named = versionOf(table, 3)
        await unchanged(trial, 'ConcurrentModification', [() => catalog.createTableVersion(named)])
      },
    ),
    rule(
      'version.never-reused',
      'decision: versions',
      'The number of a deleted version is not given again.',
      ['batchDeleteTableVersions'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 1, 2, 3)
        await catalog.batchDeleteTableVersions({
          id: table,
          ranges: [{ start_version: 2, end_version: -1 }],
        })
        await unchanged(
          trial,
          'ConcurrentModification',
          [2, 3].map((version) => () => catalog.createTableVersion(versionOf(table, version))),
        )
        await catalog.createTableVersion(versionOf(table, 4))
        assert.deepEqual(await numbers(catalog, table), [1, 4])
      },
    ),
    rule(
      'version.one-wins',
      'decision: versions',
      'Of many who create the same version at the same time exactly one succeeds.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 1)
        const outcomes = await Promise.allSettled(
          Array.from({ length: 8 }, (_, i) =>
            catalog.createTableVersion({ id: table, version: 2, manifest_path: `by ${i}` }),
          ),
        )
        const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
        assert.equal(won.length, 1)
        const { versions } = await catalog.listTableVersions({ id: table })
        assert.equal(versions.at(-1)?.manifest_path, `by ${won[0]}`)
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected')
            await refused(Promise.reject(outcome.reason), 'ConcurrentModification')
        }
      },
    ),
    rule(
      'version.list',
      'protocol: list table versions',
      'Versions are listed from the oldest or, descending, from the latest, in pages of the limit.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 8, 9, 10, 11, 12)
        const walk = async (descending: boolean) =>
          (
            await pages((page_token) =>
              catalog.listTableVersions({ id: table, limit: 2, descending, page_token }),
            )
          ).map(({ versions }) => versions.map(({ version }) => version))
        assert.deepEqual(await walk(false), [[8, 9], [10, 11], [12]])
        assert.deepEqual(await walk(true), [[12, 11], [10, 9], [8]])
      },
    ),
    rule(
      'version.delete',
      'document 4.8; decision: versions',
      'Ranges have their start in and their end out, -1 is through the latest, and each version counts once.',
      ['batchDeleteTableVersions'],
      async (trial: CatalogTrial) => {
        const { catalog } = trial
        const table = await withVersions(trial, 't', 1, 2, 3, 4, 5, 6, 7)
        const remove = async (...ranges: { start_version: number; end_version: number }[]) =>
          (await catalog.batchDeleteTableVersions({ id: table, ranges })).deleted_count
        assert.equal(
          await remove({ start_version: 2, end_version: 4 }, { start_version: 3, end_version: 5 }),
          3,
        )
        assert.deepEqual(await numbers(catalog, table), [1, 5, 6, 7])
        assert.equal(await remove({ start_version: 2, end_version: 5 }), 0)
        assert.equal(await remove({ start_version: 6, end_version: -1 }), 2)
        assert.deepEqual(await numbers(catalog, table), [1, 5])
      },
    ),
    rule(
      'version.batch',
      'protocol: batch create table versions',
      'A batch of versions is created as a whole, or not at all; an error says which entry it was.',
      ['batchCreateTableVersions'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const table = await withVersions(trial, 't', 1)
        const { versions } = await catalog.batchCreateTableVersions({
          entries: [versionOf(table, 2), versionOf(table, 3)],
        })
        assert.deepEqual(
          versions.map(({ version }) => version),
          [2, 3],
        )
        await unchanged(
          trial,
          'TableNotFound',
          [() => catalog.batchCreateTableVersions({ entries: [versionOf(table, 4), versionOf(id('x'), 1)] })],
          /\b1\b/,
        )
      },
    ),
    rule(
      'version.missing',
      'document 7, status 404',
      'A version that is not there is TableVersionNotFound.',
      ['describeTableVersion'],
      async (trial: CatalogTrial) => {
        const table = await withVersions(trial, 't', 1)
        await refused(trial.catalog.describeTableVersion({ id: table, version: 2 }), 'TableVersionNotFound')
      },
    ),
  ],
}
