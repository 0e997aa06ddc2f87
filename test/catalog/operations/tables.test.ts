import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../../support/catalogs.ts'
import { tablesOf } from '../../support/inspect.ts'
import { fails, refuses } from '../../support/refusals.ts'

eachCatalog((open) => {
  describe('declareTable', () => {
    it('answers with the location, the properties and the transaction', async () => {
      const catalog = await open()
      const answer = await catalog.declareTable({ id: ['t'], properties: { a: '1' } })
      expect(answer).toEqual({
        location: expect.stringMatching(
          open.kind === 'memory' ? /^memory:\/\/\w+\/tables\/\w+$/ : /^file:\/\/\/.+\/tables\/\w+$/,
        ),
        properties: { a: '1' },
        transaction_id: expect.any(String),
      })
      expect(await catalog.describeTable({ id: ['t'], check_declared: true })).toEqual({
        location: answer.location,
        properties: { a: '1' },
        is_only_declared: true,
      })
    })

    it('tells clients to keep versions through the catalog when it is set up so', async () => {
      const catalog = await open({ managedVersioning: true })
      expect(await catalog.declareTable({ id: ['t'] })).toMatchObject({ managed_versioning: true })
      expect(await catalog.describeTable({ id: ['t'] })).toMatchObject({ managed_versioning: true })
      const plain = await open()
      expect(await plain.declareTable({ id: ['t'] })).not.toHaveProperty('managed_versioning')
    })

    it('vends the credentials the hook gives, and none without a hook or when not asked', async () => {
      const asked: unknown[] = []
      const catalog = await open({
        storageOptions: (location, request) => {
          asked.push([location, request])
          return { token: 'secret' }
        },
      })
      const identity = { auth_token: 'me' }
      const context = { region: 'eu' }
      const declared = await catalog.declareTable({ id: ['t'], vend_credentials: true, identity, context })
      expect(declared).toMatchObject({ storage_options: { token: 'secret' } })
      // A server adds the headers of the request.
      const known = open.remote ? expect.objectContaining(context) : context
      expect(asked).toEqual([[declared.location, { id: ['t'], identity, context: known }]])
      expect(await catalog.declareTable({ id: ['u'] })).not.toHaveProperty('storage_options')
      expect(await catalog.declareTable({ id: ['v'], vend_credentials: false })).not.toHaveProperty(
        'storage_options',
      )
      expect(await catalog.describeTable({ id: ['t'], vend_credentials: true })).toMatchObject({
        storage_options: { token: 'secret' },
      })
      expect(await catalog.describeTable({ id: ['t'] })).not.toHaveProperty('storage_options')
      const without = await open()
      expect(await without.declareTable({ id: ['t'], vend_credentials: true })).not.toHaveProperty(
        'storage_options',
      )
    })

    it('a hook for credentials that fails is asked before anything is declared', async () => {
      const catalog = await open({
        storageOptions: () => {
          throw new Error('the vault is sealed')
        },
      })
      const declare = () => catalog.declareTable({ id: ['t'], vend_credentials: true })
      await refuses(catalog, declare, 'Internal')
      await catalog.declareTable({ id: ['t'] })
    })

    it('refuses a taken name, be it of a namespace, and a missing namespace', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      await catalog.createNamespace({ id: ['n'] })
      await refuses(
        catalog,
        () => catalog.declareTable({ id: ['t'] }),
        'TableAlreadyExists',
        'table t',
        'another name',
      )
      await refuses(catalog, () => catalog.declareTable({ id: ['n'] }), 'TableAlreadyExists', 'namespace n')
      await refuses(
        catalog,
        () => catalog.declareTable({ id: ['x', 't'] }),
        'NamespaceNotFound',
        'x',
        'Create it first',
      )
      await refuses(
        catalog,
        () => catalog.declareTable({ id: ['t', 't'] }),
        'NamespaceNotFound',
        'no namespace t',
      )
    })
  })

  describe('registerTable', () => {
    it('gives content that is there a name, and is no declaration', async () => {
      const catalog = await open()
      const answer = await catalog.registerTable({
        id: ['t'],
        location: 's3://bucket/flights/',
        properties: { a: '1' },
      })
      expect(answer).toEqual({
        location: 's3://bucket/flights',
        properties: { a: '1' },
        transaction_id: expect.any(String),
      })
      expect(await catalog.describeTable({ id: ['t'], check_declared: true })).toEqual({
        location: 's3://bucket/flights',
        properties: { a: '1' },
        is_only_declared: false,
      })
    })

    it('content of another engine is renamed, tagged, versioned and committed like any other', async () => {
      const catalog = await open()
      await catalog.registerTable({ id: ['t'], location: 's3://bucket/t' })
      await catalog.createTableVersion({ id: ['t'], version: 3, manifest_path: 'm3' })
      await catalog.createTableTag({ id: ['t'], tag: 'x', version: 3 })
      await catalog.renameTable({ id: ['t'], new_table_name: 'u' })
      expect(await catalog.getTableTagVersion({ id: ['u'], tag: 'x' })).toEqual({ version: 3 })
      await catalog.batchCommitTables({
        operations: [{ create_table_version: { id: ['u'], version: 4, manifest_path: 'm4' } }],
      })
      expect(await catalog.describeTable({ id: ['u'], load_detailed_metadata: true })).toMatchObject({
        version: 4,
      })
    })

    it('mode Create, the default, refuses a taken name; mode Overwrite deregisters what had it', async () => {
      const catalog = await open()
      await catalog.registerTable({ id: ['t'], location: 's3://bucket/one' })
      await refuses(
        catalog,
        () => catalog.registerTable({ id: ['t'], location: 's3://bucket/two' }),
        'TableAlreadyExists',
        'table t',
        'another name',
      )
      await catalog.createNamespace({ id: ['n'] })
      for (const mode of ['Create', 'Overwrite'] as const) {
        await refuses(
          catalog,
          () => catalog.registerTable({ id: ['n'], location: 's3://bucket/two', mode }),
          'TableAlreadyExists',
          'namespace n',
        )
      }
      await catalog.registerTable({ id: ['t'], location: 's3://bucket/two', mode: 'overwrite' })
      expect(await catalog.describeTable({ id: ['t'] })).toMatchObject({ location: 's3://bucket/two' })
      // The first location is free again.
      await catalog.registerTable({ id: ['u'], location: 's3://bucket/one' })
    })

    it('needs its namespace', async () => {
      const catalog = await open()
      await refuses(
        catalog,
        () => catalog.registerTable({ id: ['x', 't'], location: 's3://bucket/t' }),
        'NamespaceNotFound',
        'x',
        'Create it first',
      )
    })
  })

  describe('describeTable and tableExists', () => {
    it('tell where a table lies, with its URI and its names when asked', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await catalog.declareTable({ id: ['n', 't'], location: 's3://bucket/t' })
      expect(await catalog.describeTable({ id: ['n', 't'] })).toEqual({
        location: 's3://bucket/t',
        properties: {},
      })
      expect(await catalog.describeTable({ id: ['n', 't'], with_table_uri: true })).toEqual({
        location: 's3://bucket/t',
        table_uri: 's3://bucket/t',
        properties: {},
      })
      expect(await catalog.describeTable({ id: ['n', 't'], load_detailed_metadata: true })).toEqual({
        location: 's3://bucket/t',
        properties: {},
        table: 't',
        namespace: ['n'],
        is_only_declared: true,
      })
    })

    it('a version another client created makes the table a created one, without a schema known here', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'], location: 's3://bucket/t' })
      await catalog.createTableVersion({ id: ['t'], version: 1, manifest_path: 'm' })
      expect(await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })).toEqual({
        location: 's3://bucket/t',
        properties: {},
        table: 't',
        namespace: [],
        version: 1,
        is_only_declared: false,
      })
    })

    it('a version, tag or branch picks a version; a tag goes with neither of the others', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'], location: 's3://bucket/t' })
      for (const version of [1, 2, 3])
        await catalog.createTableVersion({ id: ['t'], version, manifest_path: `m${version}` })
      await catalog.createTableTag({ id: ['t'], tag: 'old', version: 1 })
      await catalog.createTableBranch({ id: ['t'], name: 'dev', from_version: 2 })
      const detailed = { id: ['t'], load_detailed_metadata: true }
      expect(await catalog.describeTable({ ...detailed })).toMatchObject({ version: 3 })
      expect(await catalog.describeTable({ ...detailed, version: 2 })).toMatchObject({ version: 2 })
      expect(await catalog.describeTable({ ...detailed, tag: 'old' })).toMatchObject({ version: 1 })
      expect(await catalog.describeTable({ ...detailed, branch: 'dev' })).toMatchObject({ version: 2 })
      expect(await catalog.describeTable({ ...detailed, branch: 'main', version: 1 })).toMatchObject({
        version: 1,
      })
      for (const other of [{ version: 1 }, { branch: 'dev' }]) {
        await fails(
          catalog.describeTable({ ...detailed, tag: 'old', ...other }),
          'InvalidInput',
          'tag',
          'one of them',
        )
      }
      await fails(
        catalog.describeTable({ ...detailed, branch: 'dev', version: 1 }),
        'TableVersionNotFound',
        '"dev"',
      )
    })

    it('tableExists answers for a table and for its versions', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      expect(await catalog.tableExists({ id: ['t'] })).toEqual({})
      await fails(
        catalog.tableExists({ id: ['t'], version: 1 }),
        'TableVersionNotFound',
        'declared',
        'Insert rows',
      )
      await catalog.createTableVersion({ id: ['t'], version: 4, manifest_path: 'm' })
      expect(await catalog.tableExists({ id: ['t'], version: 4 })).toEqual({})
      await fails(catalog.tableExists({ id: ['t'], version: 1 }), 'TableVersionNotFound', 'latest is 4')
      await catalog.createNamespace({ id: ['n'] })
      for (const id of [['x'], ['n'], ['n', 'x'], ['constructor']])
        await fails(catalog.tableExists({ id }), 'TableNotFound', id.join('$'), 'List the tables')
      const ways = [
        [['x', 'y', 'z'], 'nor a namespace x. Create it first, or list the namespaces of the root '],
        [['n', 'y', 'z'], 'nor a namespace n$y. Create it first, or list the namespaces of n '],
      ] as const
      for (const [id, missing] of ways)
        await fails(catalog.tableExists({ id: [...id] }), 'TableNotFound', id.join('$'), missing)
    })
  })

  describe('renameTable', () => {
    it('gives a table another name; location, versions, tags and branches stay (4.5)', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'], properties: { a: '1' } })
      for (const version of [1, 2])
        await catalog.createTableVersion({ id: ['t'], version, manifest_path: `m${version}` })
      await catalog.createTableTag({ id: ['t'], tag: 'x', version: 1 })
      await catalog.createTableBranch({ id: ['t'], name: 'dev' })
      const described = await catalog.describeTable({ id: ['t'], with_table_uri: true })
      const versions = await catalog.listTableVersions({ id: ['t'] })
      expect(await catalog.renameTable({ id: ['t'], new_table_name: 'u' })).toEqual({
        transaction_id: expect.any(String),
      })
      await fails(catalog.tableExists({ id: ['t'] }), 'TableNotFound')
      expect(await catalog.describeTable({ id: ['u'], with_table_uri: true })).toEqual(described)
      expect(await catalog.listTableVersions({ id: ['u'] })).toEqual(versions)
      expect(await catalog.getTableTagVersion({ id: ['u'], tag: 'x' })).toEqual({ version: 1 })
      expect(Object.keys((await catalog.listTableBranches({ id: ['u'] })).branches)).toEqual(['dev'])
    })

    it('without new_namespace_id the table stays in its namespace; [] is the root (4.5)', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['a'] })
      await catalog.createNamespace({ id: ['b'] })
      await catalog.declareTable({ id: ['a', 't'] })
      await catalog.renameTable({ id: ['a', 't'], new_table_name: 'u' })
      expect(await tablesOf(catalog)).toEqual(['a$u'])
      await catalog.renameTable({ id: ['a', 'u'], new_table_name: 'v', new_namespace_id: null })
      expect(await tablesOf(catalog)).toEqual(['a$v'])
      await catalog.renameTable({ id: ['a', 'v'], new_table_name: 'v', new_namespace_id: ['b'] })
      expect(await tablesOf(catalog)).toEqual(['b$v'])
      await catalog.renameTable({ id: ['b', 'v'], new_table_name: 'w', new_namespace_id: [] })
      expect(await tablesOf(catalog)).toEqual(['w'])
    })

    it('refuses a taken name, its own included', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      for (const id of [['t'], ['u'], ['n', 'u']]) await catalog.declareTable({ id })
      const rename = (new_table_name: string, new_namespace_id?: string[]) => () =>
        catalog.renameTable({ id: ['t'], new_table_name, new_namespace_id })
      await refuses(catalog, rename('u'), 'TableAlreadyExists', 'table u', 'another name')
      await refuses(catalog, rename('t'), 'TableAlreadyExists', 'table t', 'another name')
      await refuses(catalog, rename('t', []), 'TableAlreadyExists', 'table t')
      await refuses(catalog, rename('n'), 'TableAlreadyExists', 'namespace n')
      await refuses(catalog, rename('u', ['n']), 'TableAlreadyExists', 'table n$u')
    })

    it('refuses a missing table and a missing target namespace', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      await refuses(
        catalog,
        () => catalog.renameTable({ id: ['x'], new_table_name: 'u' }),
        'TableNotFound',
        'x',
        'List the tables',
      )
      for (const new_namespace_id of [['x'], ['t']]) {
        await refuses(
          catalog,
          () => catalog.renameTable({ id: ['t'], new_table_name: 'u', new_namespace_id }),
          'NamespaceNotFound',
          String(new_namespace_id[0]),
          'Create it first',
        )
      }
    })

    it('cannot move a table deeper than an identifier reaches', async () => {
      const catalog = await open()
      const deep: string[] = []
      for (let i = 0; i < 32; i++) {
        deep.push('n')
        await catalog.createNamespace({ id: deep })
      }
      await catalog.declareTable({ id: ['t'] })
      await refuses(
        catalog,
        () => catalog.renameTable({ id: ['t'], new_table_name: 't', new_namespace_id: deep }),
        'InvalidInput',
        '33 names',
        '32 levels are the most',
      )
      await catalog.renameTable({ id: ['t'], new_table_name: 't', new_namespace_id: deep.slice(1) })
      expect(await tablesOf(catalog)).toEqual([[...deep.slice(1), 't'].join('$')])
    })

    it('of many who rename to one name exactly one gets it', async () => {
      const catalog = await open()
      const ids = Array.from({ length: 20 }, (_, i) => [`t${i}`])
      for (const id of ids) await catalog.declareTable({ id })
      const outcomes = await Promise.allSettled(
        ids.map((id) => catalog.renameTable({ id, new_table_name: 'u' })),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await tablesOf(catalog)).toHaveLength(20)
    })
  })

  describe('deregisterTable', () => {
    it('answers with identifier, location and properties, and frees the name (4.2)', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      const { location } = await catalog.declareTable({ id: ['n', 't'], properties: { a: '1' } })
      expect(await catalog.deregisterTable({ id: ['n', 't'] })).toEqual({
        id: ['n', 't'],
        location,
        properties: { a: '1' },
        transaction_id: expect.any(String),
      })
      expect(await tablesOf(catalog)).toEqual([])
      await refuses(
        catalog,
        () => catalog.deregisterTable({ id: ['n', 't'] }),
        'TableNotFound',
        'n$t',
        'List the tables of n',
      )
      await catalog.declareTable({ id: ['n', 't'] })
    })

    it('what was known of a location out of reach comes back with it', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'], location: 's3://bucket/t', properties: { a: '1' } })
      await catalog.createTableVersion({ id: ['t'], version: 7, manifest_path: 'm7' })
      await catalog.createTableTag({ id: ['t'], tag: 'x', version: 7 })
      await catalog.deregisterTable({ id: ['t'] })
      await catalog.registerTable({ id: ['u'], location: 's3://bucket/t' })
      expect(await catalog.getTableTagVersion({ id: ['u'], tag: 'x' })).toEqual({ version: 7 })
      expect(await catalog.describeTable({ id: ['u'] })).toMatchObject({ properties: { a: '1' } })
      await fails(
        catalog.createTableVersion({ id: ['u'], version: 7, manifest_path: 'other' }),
        'ConcurrentModification',
      )
      await catalog.createTableVersion({ id: ['u'], version: 8, manifest_path: 'm8' })
    })
  })

  describe('dropTable', () => {
    it('answers with identifier, location and properties; name, versions, tags and branches are gone', async () => {
      const catalog = await open()
      const { location } = await catalog.declareTable({ id: ['t'], properties: { a: '1' } })
      await catalog.createTableVersion({ id: ['t'], version: 1, manifest_path: 'm' })
      await catalog.createTableTag({ id: ['t'], tag: 'x', version: 1 })
      await catalog.createTableBranch({ id: ['t'], name: 'dev' })
      expect(await catalog.dropTable({ id: ['t'] })).toEqual({
        id: ['t'],
        location,
        properties: { a: '1' },
        transaction_id: expect.any(String),
      })
      await catalog.declareTable({ id: ['t'] })
      expect(await catalog.listTableVersions({ id: ['t'] })).toEqual({ versions: [] })
      expect(await catalog.listTableTags({ id: ['t'] })).toEqual({ tags: {} })
      expect(await catalog.listTableBranches({ id: ['t'] })).toEqual({ branches: {} })
    })

    it('fails for what is no table', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await refuses(catalog, () => catalog.dropTable({ id: ['x'] }), 'TableNotFound', 'x', 'List the tables')
      await refuses(catalog, () => catalog.dropTable({ id: ['n'] }), 'TableNotFound', 'n')
    })

    it('what was known of a location out of reach does not come back after a drop', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'], location: 's3://bucket/t' })
      await catalog.createTableVersion({ id: ['t'], version: 1, manifest_path: 'm' })
      await catalog.deregisterTable({ id: ['t'] })
      await catalog.registerTable({ id: ['t'], location: 's3://bucket/t' })
      await catalog.dropTable({ id: ['t'] })
      await catalog.registerTable({ id: ['t'], location: 's3://bucket/t' })
      expect(await catalog.listTableVersions({ id: ['t'] })).toEqual({ versions: [] })
    })
  })
})
