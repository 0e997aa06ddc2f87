import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachLocalCatalog } from '../../support/catalogs.ts'
import { fails, refuses } from '../../support/refusals.ts'

const id = ['t']
const manifest = (version: number) => ({ id, version, manifest_path: `_versions/${version}.manifest` })

async function withVersions(catalog: Catalog, ...versions: number[]) {
  await catalog.declareTable({ id })
  for (const version of versions) await catalog.createTableVersion(manifest(version))
}

const numbers = async (catalog: Catalog, branch?: string) =>
  (await catalog.listTableVersions({ id, branch })).versions.map(({ version }) => version)

eachLocalCatalog((open) => {
  describe('createTableVersion', () => {
    it('answers with the record (section 2) and the transaction', async () => {
      const catalog = await open({ now: () => 1_700_000_000_000 })
      await catalog.declareTable({ id })
      const answer = await catalog.createTableVersion({
        ...manifest(1),
        manifest_size: 120,
        e_tag: 'abc',
        metadata: { by: 'lance' },
        naming_scheme: 'V2',
      })
      expect(answer).toEqual({
        transaction_id: expect.any(String),
        version: {
          version: 1,
          manifest_path: '_versions/1.manifest',
          manifest_size: 120,
          e_tag: 'abc',
          timestamp_millis: 1_700_000_000_000,
          metadata: { by: 'lance' },
        },
      })
      expect(await catalog.describeTableVersion({ id, version: 1 })).toEqual({ version: answer.version })
    })

    it.each([0, 1, 17, 2 ** 53 - 2])(
      'the first version may be %d, and the next is the one after it',
      async (first) => {
        const catalog = await open()
        await withVersions(catalog, first, first + 1)
        expect(await numbers(catalog)).toEqual([first, first + 1])
      },
    )

    it('refuses any number but the next one', async () => {
      const catalog = await open()
      await withVersions(catalog, 5, 6)
      for (const version of [0, 4, 8, 100]) {
        await refuses(
          catalog,
          () => catalog.createTableVersion(manifest(version)),
          'ConcurrentModification',
          'next version of the table t is 7',
          'Rebase',
        )
      }
    })

    it('takes a retry as a success that changes nothing, known by a staged name or by the request', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      const staged = '_versions/18446744073709551613.manifest-6f9a1b2c-3d4e-4f5a-8b6c-7d8e9f0a1b2c'
      const requests: { manifest_path: string; context?: Record<string, string> }[] = [
        { manifest_path: staged },
        { manifest_path: 'm2', context: { 'header.idempotency-key': 'k-1' } },
        { manifest_path: 'm2', context: { 'header.x-request-id': 'r-1' } },
      ]
      for (const [i, given] of requests.entries()) {
        const entry = { ...manifest(2 + i), manifest_size: 1, e_tag: 'e', ...given }
        const first = await catalog.createTableVersion({ ...entry, metadata: { a: '1', b: '2' } })
        const again = await catalog.createTableVersion({ ...entry, metadata: { b: '2', a: '1' } })
        expect(again).toEqual({ version: first.version })
      }
      // Also once later versions exist.
      const entry = { ...manifest(2), manifest_size: 1, e_tag: 'e', metadata: { a: '1', b: '2' } }
      await catalog.createTableVersion({ ...entry, ...requests[0] })
      expect(await numbers(catalog)).toEqual([1, 2, 3, 4])
    })

    it('refuses the same record of another request: two writers may choose one name', async () => {
      const catalog = await open()
      await catalog.declareTable({ id })
      const withKey = (key: string) => ({ context: { 'header.idempotency-key': key } })
      for (const [i, [first, second]] of (
        [
          [{}, {}],
          [{}, withKey('k')],
          [withKey('k'), {}],
          [withKey('k'), withKey('other')],
          [withKey('k'.repeat(257)), withKey('k'.repeat(257))],
        ] as const
      ).entries()) {
        const entry = manifest(i + 1)
        await catalog.createTableVersion({ ...entry, ...first })
        await refuses(
          catalog,
          () => catalog.createTableVersion({ ...entry, ...second }),
          'ConcurrentModification',
          'another writer may have created it',
          'idempotency-key',
        )
      }
    })

    it('a counter of racing writers that share names loses nothing', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      const won = await Promise.all(
        [1, 2, 3, 4].map(async () => {
          let count = 0
          for (let round = 0; round < 10; round++) {
            const { version } = (await catalog.listTableVersions({ id, descending: true, limit: 1 }))
              .versions[0]!
            const entry = { id, version: version + 1, manifest_path: `${version + 1}.manifest` }
            await catalog.createTableVersion(entry).then(
              () => count++,
              (error) => expect(error.code).toBe('ConcurrentModification'),
            )
          }
          return count
        }),
      )
      expect((await numbers(catalog)).length).toBe(1 + won.reduce((sum, count) => sum + count, 0))
    })

    it.each([
      ['manifest_path', { manifest_path: 'other' }],
      ['manifest_size', { manifest_size: 2 }],
      ['e_tag', { e_tag: 'f' }],
      ['metadata', { metadata: { a: '2' } }],
    ])('refuses a version that is there with another %s', async (_, other) => {
      const catalog = await open()
      await catalog.declareTable({ id })
      const entry = { ...manifest(1), manifest_size: 1, e_tag: 'e', metadata: { a: '1' } }
      await catalog.createTableVersion(entry)
      await refuses(
        catalog,
        () => catalog.createTableVersion({ ...entry, ...other }),
        'ConcurrentModification',
        'Version 1 of the table t already exists',
        'Rebase',
      )
    })

    it('never gives a number twice, not even after the version was deleted', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2, 3)
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: -1 }] })
      expect(await numbers(catalog)).toEqual([1])
      await refuses(catalog, () => catalog.createTableVersion(manifest(2)), 'ConcurrentModification', 'is 4')
      await refuses(catalog, () => catalog.createTableVersion(manifest(3)), 'ConcurrentModification', 'is 4')
      await catalog.createTableVersion(manifest(4))
      expect(await numbers(catalog)).toEqual([1, 4])
    })

    it('of two writers of the same version exactly one wins', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      const outcomes = await Promise.allSettled(
        ['a', 'b', 'c'].map((manifest_path) => catalog.createTableVersion({ id, version: 2, manifest_path })),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected')
          expect(outcome.reason).toMatchObject({ code: 'ConcurrentModification' })
      }
    })
  })

  describe('listTableVersions', () => {
    it('lists from the oldest or, descending, from the latest, in pages', async () => {
      const catalog = await open()
      await withVersions(catalog, 8, 9, 10, 11)
      expect(await numbers(catalog)).toEqual([8, 9, 10, 11])
      const descending = await catalog.listTableVersions({ id, descending: true, limit: 3 })
      expect(descending.versions.map(({ version }) => version)).toEqual([11, 10, 9])
      const { versions, page_token } = await catalog.listTableVersions({
        id,
        descending: true,
        page_token: descending.page_token,
      })
      expect(versions.map(({ version }) => version)).toEqual([8])
      expect(page_token).toBeUndefined()
    })

    it('a table without versions has an empty list', async () => {
      const catalog = await open()
      await withVersions(catalog)
      expect(await catalog.listTableVersions({ id })).toEqual({ versions: [] })
    })
  })

  describe('batchDeleteTableVersions', () => {
    it('takes ranges with the start in and the end out, and counts each version once', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2, 3, 4, 5, 6)
      const answer = await catalog.batchDeleteTableVersions({
        id,
        ranges: [
          { start_version: 2, end_version: 4 },
          { start_version: 3, end_version: 5 },
        ],
      })
      expect(answer).toEqual({ deleted_count: 3, transaction_id: expect.any(String) })
      expect(await numbers(catalog)).toEqual([1, 5, 6])
    })

    it('-1 as the end means through the latest', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2, 3)
      expect(
        await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: -1 }] }),
      ).toMatchObject({ deleted_count: 2 })
      expect(await numbers(catalog)).toEqual([1])
    })

    it('-1 reaches the highest number there can be', async () => {
      const catalog = await open()
      await withVersions(catalog, Number.MAX_SAFE_INTEGER)
      expect(
        await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 0, end_version: -1 }] }),
      ).toMatchObject({ deleted_count: 1 })
    })

    it.each([
      ['nothing in the range', [{ start_version: 7, end_version: 9 }]],
      ['an empty range', [{ start_version: 2, end_version: 2 }]],
      ['a range turned round', [{ start_version: 3, end_version: 1 }]],
      ['no range', []],
    ])('%s deletes nothing and records no transaction', async (_, ranges) => {
      const catalog = await open()
      await withVersions(catalog, 1, 2, 3)
      expect(await catalog.batchDeleteTableVersions({ id, ranges })).toEqual({ deleted_count: 0 })
      expect(await numbers(catalog)).toEqual([1, 2, 3])
    })

    it('a tagged version refuses, and then nothing is deleted', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2, 3)
      await catalog.createTableTag({ id, tag: 'stable', version: 2 })
      await refuses(
        catalog,
        () => catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: -1 }] }),
        'InvalidTableState',
        'Version 2 of the table t is tagged stable',
        'delete the tag first',
      )
      await catalog.updateTableTag({ id, tag: 'stable', version: 1 })
      await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: 3 }] })
      expect(await numbers(catalog)).toEqual([1, 3])
    })

    it('works on one branch and leaves others alone', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2)
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.createTableTag({ id, tag: 'main-2', version: 2 })
      await catalog.batchDeleteTableVersions({
        id,
        branch: 'dev',
        ranges: [{ start_version: 0, end_version: -1 }],
      })
      expect(await numbers(catalog, 'dev')).toEqual([])
      expect(await numbers(catalog)).toEqual([1, 2])
    })
  })

  describe('batchCreateTableVersions', () => {
    it('creates versions of several tables in one step, each seeing those before it', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['a'] })
      await catalog.declareTable({ id: ['b'] })
      const answer = await catalog.batchCreateTableVersions({
        entries: [
          { id: ['a'], version: 1, manifest_path: 'a1' },
          { id: ['b'], version: 9, manifest_path: 'b9' },
          { id: ['a'], version: 2, manifest_path: 'a2' },
        ],
      })
      expect(answer.transaction_id).toEqual(expect.any(String))
      expect(answer.versions.map(({ version, manifest_path }) => [version, manifest_path])).toEqual([
        [1, 'a1'],
        [9, 'b9'],
        [2, 'a2'],
      ])
    })

    it('a failing entry undoes all, and the error says which it was', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      await refuses(
        catalog,
        () =>
          catalog.batchCreateTableVersions({
            entries: [manifest(2), manifest(3), { id: ['none'], version: 1, manifest_path: 'm' }],
          }),
        'TableNotFound',
        'entries[2]',
        'nothing was committed',
        'none',
      )
    })

    it('a retry of the batch is a success that changes nothing, another one of its like is not', async () => {
      const catalog = await open()
      await withVersions(catalog, 1)
      const request = {
        entries: [manifest(2), manifest(3)],
        context: { 'header.idempotency-key': 'k' },
      }
      const first = await catalog.batchCreateTableVersions(request)
      expect(await catalog.batchCreateTableVersions(request)).toEqual({ versions: first.versions })
      const other = { entries: request.entries }
      await refuses(catalog, () => catalog.batchCreateTableVersions(other), 'ConcurrentModification')
      const operations = request.entries.map((create_table_version) => ({ create_table_version }))
      const { context } = request
      expect((await catalog.batchCommitTables({ operations, context })).results[0]).toMatchObject({
        create_table_version: { version: first.versions[0] },
      })
      await refuses(catalog, () => catalog.batchCommitTables({ operations }), 'ConcurrentModification')
    })
  })

  describe('describeTableVersion', () => {
    it('fails for a version that is not there, naming the latest', async () => {
      const catalog = await open()
      await withVersions(catalog, 1, 2)
      await fails(
        catalog.describeTableVersion({ id, version: 3 }),
        'TableVersionNotFound',
        'no version 3; its latest is 2',
        'List its versions',
      )
    })
  })
})
