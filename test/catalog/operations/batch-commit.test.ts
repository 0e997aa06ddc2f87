import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/tabularium/index.ts'
import { eachLocalCatalog } from '../../support/catalogs.ts'
import { tablesOf } from '../../support/inspect.ts'
import { refuses } from '../../support/refusals.ts'

eachLocalCatalog((open) => {
  describe('batchCommitTables', () => {
    it('answers in the order of the operations, each under its member (4.8)', async () => {
      const catalog = await open({ now: () => 1_700_000_000_000 })
      for (const name of ['orders', 'lines', 'gone']) await catalog.declareTable({ id: [name] })
      for (const version of [1, 2, 3]) {
        await catalog.createTableVersion({ id: ['lines'], version, manifest_path: `l${version}` })
      }
      const { location } = await catalog.describeTable({ id: ['gone'] })
      const { results, transaction_id, ...rest } = await catalog.batchCommitTables({
        operations: [
          {
            create_table_version: {
              id: ['orders'],
              version: 8,
              manifest_path: 'o8',
              manifest_size: 1,
              e_tag: 'e',
            },
          },
          { delete_table_versions: { id: ['lines'], ranges: [{ start_version: 1, end_version: 3 }] } },
          { deregister_table: { id: ['gone'] } },
          { declare_table: { id: ['new'], location: 's3://bucket/new', properties: { a: '1' } } },
        ],
      })
      expect(rest).toEqual({})
      expect(results).toEqual([
        {
          create_table_version: {
            transaction_id,
            version: {
              version: 8,
              manifest_path: 'o8',
              manifest_size: 1,
              e_tag: 'e',
              timestamp_millis: 1_700_000_000_000,
              metadata: {},
            },
          },
        },
        { delete_table_versions: { transaction_id, deleted_count: 2 } },
        { deregister_table: { transaction_id, id: ['gone'], location, properties: {} } },
        { declare_table: { transaction_id, location: 's3://bucket/new', properties: { a: '1' } } },
      ])
      expect(await tablesOf(catalog)).toEqual(['lines', 'new', 'orders'])
      expect(await catalog.describeTransaction({ id: [transaction_id!] })).toMatchObject({
        status: 'Succeeded',
        properties: { operation: 'BatchCommitTables' },
      })
    })

    it('each operation sees what those before it did', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['a'] })
      await catalog.batchCommitTables({
        operations: [
          { deregister_table: { id: ['a'] } },
          { declare_table: { id: ['a'] } },
          { create_table_version: { id: ['a'], version: 1, manifest_path: 'one' } },
          { create_table_version: { id: ['a'], version: 2, manifest_path: 'two' } },
          { delete_table_versions: { id: ['a'], ranges: [{ start_version: 0, end_version: 2 }] } },
        ],
      })
      const { versions } = await catalog.listTableVersions({ id: ['a'] })
      expect(versions.map(({ version, manifest_path }) => [version, manifest_path])).toEqual([[2, 'two']])
    })

    it('the first failure undoes all, and says which operation it was and why (4.8)', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['a'] })
      await catalog.createTableVersion({ id: ['a'], version: 1, manifest_path: 'm' })
      const before = [
        { declare_table: { id: ['b'], location: 's3://bucket/b' } },
        { create_table_version: { id: ['a'], version: 2, manifest_path: 'm2' } },
        { deregister_table: { id: ['a'] } },
      ]
      const batch = (last: object) => () => catalog.batchCommitTables({ operations: [...before, last] })
      await refuses(
        catalog,
        batch({ declare_table: { id: ['b'] } }),
        'TableAlreadyExists',
        'operations[3] failed, so nothing was committed',
        'table b',
        'another name',
      )
      await refuses(
        catalog,
        batch({ declare_table: { id: ['x', 'y'] } }),
        'NamespaceNotFound',
        'operations[3]',
        'x',
      )
      await refuses(
        catalog,
        batch({ deregister_table: { id: ['a'] } }),
        'TableNotFound',
        'operations[3]',
        'table a',
      )
      await refuses(
        catalog,
        batch({ create_table_version: { id: ['b'], version: 1, branch: 'dev', manifest_path: 'm' } }),
        'TableBranchNotFound',
        'operations[3]',
        '"dev"',
      )
      await refuses(
        catalog,
        batch({ declare_table: { id: ['c'], location: 's3://bucket/b/below' } }),
        'TableAlreadyExists',
        'operations[3]',
        's3://bucket/b',
      )
      // Nothing of it remains that would be in the way.
      await catalog.batchCommitTables({ operations: before })
      expect(await tablesOf(catalog)).toEqual(['b'])
    })

    it('a tagged version and a conflicting one refuse the batch', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['a'] })
      await catalog.createTableVersion({ id: ['a'], version: 1, manifest_path: 'm' })
      await catalog.createTableTag({ id: ['a'], tag: 'x', version: 1 })
      await refuses(
        catalog,
        () =>
          catalog.batchCommitTables({
            operations: [
              { declare_table: { id: ['b'] } },
              { delete_table_versions: { id: ['a'], ranges: [{ start_version: 0, end_version: -1 }] } },
            ],
          }),
        'InvalidTableState',
        'operations[1]',
        'tagged x',
        'delete the tag first',
      )
      await refuses(
        catalog,
        () =>
          catalog.batchCommitTables({
            operations: [
              { declare_table: { id: ['b'] } },
              { create_table_version: { id: ['a'], version: 3, manifest_path: 'm' } },
            ],
          }),
        'ConcurrentModification',
        'operations[1]',
        'is 2',
        'Rebase',
      )
    })

    it.each([
      ['no operations', undefined, 'operations is missing'],
      ['operations that are no list', {}, 'operations must be a list'],
      ['an empty batch', [], 'operations is empty'],
      ['an operation without a member', [{}], 'operations[0] must have exactly one of declare_table'],
      [
        'an operation with an unknown member',
        [{ drop_table: { id: ['a'] } }],
        'operations[0] must have exactly one of',
      ],
      [
        'an operation with two members',
        [{ declare_table: { id: ['a'] } }, { declare_table: { id: ['b'] }, deregister_table: { id: ['b'] } }],
        'operations[1] must have exactly one of',
      ],
      [
        'an operation with an unknown member besides',
        [{ declare_table: { id: ['a'] }, drop_table: { id: ['b'] } }],
        'operations[0] must have exactly one of',
      ],
      ['a null operation', [null], 'operations[0] must be an object'],
      ['an operation that is text', ['declare_table'], 'operations[0] must be an object'],
      ['an operation without its id', [{ declare_table: {} }], 'operations[0].declare_table.id is missing'],
      [
        'an operation on the root',
        [{ deregister_table: { id: [] } }],
        'operations[0].deregister_table.id is empty',
      ],
      [
        'a member of the wrong type',
        [{ declare_table: { id: ['a'] } }, { declare_table: ['b'] }],
        'operations[1].declare_table',
      ],
      [
        'a wrong version',
        [{ create_table_version: { id: ['a'], version: -1, manifest_path: 'm' } }],
        'version must be',
      ],
      [
        'more than 10,000 operations',
        Array.from({ length: 10_001 }, (_, i) => ({ declare_table: { id: [`t${i}`] } })),
        'operations must hold at most 10,000',
      ],
    ])('refuses %s', async (_, operations, message) => {
      const catalog = await open()
      await refuses(
        catalog,
        () => catalog.batchCommitTables({ operations } as never),
        'InvalidInput',
        message,
      )
    })

    it('a batch of 10,000 that fails in its last operation changes nothing', async () => {
      const catalog = await open()
      const operations: { declare_table: { id: string[] } }[] = Array.from({ length: 9_999 }, (_, i) => ({
        declare_table: { id: [`t${i}`] },
      }))
      operations.push({ declare_table: { id: ['t17'] } })
      await refuses(
        catalog,
        () => catalog.batchCommitTables({ operations }),
        'TableAlreadyExists',
        'operations[9999]',
        'table t17',
      )
      expect(await tablesOf(catalog)).toEqual([])
    })

    it('null members are as good as absent ones', async () => {
      const catalog = await open()
      const { results } = await catalog.batchCommitTables({
        operations: [{ declare_table: { id: ['a'] }, deregister_table: null, create_table_version: null }],
      })
      expect(Object.keys(results[0]!)).toEqual(['declare_table'])
    })

    it('a hook for credentials that fails is asked before anything is committed', async () => {
      const catalog = await open({
        storageOptions: () => {
          throw new Error('the vault is sealed')
        },
      })
      const operations = [
        { declare_table: { id: ['a'] } },
        { declare_table: { id: ['b'], vend_credentials: true } },
      ]
      await refuses(catalog, () => catalog.batchCommitTables({ operations }), 'Internal')
      expect(await tablesOf(catalog)).toEqual([])
    })

    it('the first failure is told, whatever is looked at before the batch runs', async () => {
      const catalog = await open({
        storageOptions: () => {
          throw new CatalogError('Unauthenticated', 'The vault is sealed. Open it.')
        },
      })
      const missing = { deregister_table: { id: ['missing'] } }
      for (const [refused, code] of [
        [{ declare_table: { id: ['b'], location: 'nowhere' } }, 'InvalidInput'],
        [{ declare_table: { id: ['b'], vend_credentials: true } }, 'Unauthenticated'],
      ] as const) {
        const batch = (...operations: object[]) => catalog.batchCommitTables({ operations })
        await refuses(catalog, () => batch(missing, refused), 'TableNotFound', 'operations[0] failed')
        await refuses(catalog, () => batch(refused, missing), code, 'operations[0] failed')
      }
    })

    it('vends credentials to the declarations that ask for them', async () => {
      const catalog = await open({
        storageOptions: (location) => ({ for: location }),
        managedVersioning: true,
      })
      const { results } = await catalog.batchCommitTables({
        operations: [
          { declare_table: { id: ['a'], location: 's3://bucket/a', vend_credentials: true } },
          { declare_table: { id: ['b'], location: 's3://bucket/b' } },
        ],
      })
      expect(results[0]!.declare_table).toMatchObject({
        storage_options: { for: 's3://bucket/a' },
      })
      expect(results[1]!.declare_table).not.toHaveProperty('storage_options')
      // The catalog publishes no versions there.
      expect(results[0]!.declare_table).not.toHaveProperty('managed_versioning')
    })
  })
})
