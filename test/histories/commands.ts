import fc from 'fast-check'
import type { TransactionCommand } from './linearize.ts'
import type { Command, ModelOperation } from './model/index.ts'
import { conditions, predicates, values } from './model/rows.ts'
import { ended } from './model/transactions.ts'

/*
 * Random calls with few names, so that they collide. `#L?3` is one of the locations seen so far, `#T?3` one of the
 * transactions, `#I?3` one of the dropped tables, and `#R/x` a folder below the catalog's root.
 */

/** The columns of every table in the histories. */
const columns = {
  fields: [
    { name: 'id', type: { type: 'int32' }, nullable: false },
    { name: 'note', type: { type: 'string' }, nullable: true },
  ],
}

const pick = fc.constantFrom

// Half of these come in another order when compared as JavaScript does instead of by their UTF-8 bytes.
const namespaceName = pick('a', 'a', 'b', 'ｚ', '𝒜')
const tableName = fc.oneof({ weight: 9, arbitrary: pick('t', 't', 'u', 'ｚ', '𝒜') }, pick('a', 'b'))
const namespace = fc.oneof(
  { weight: 2, arbitrary: fc.constant<string[]>([]) },
  { weight: 5, arbitrary: pick(['a'], ['b']) },
  { weight: 3, arbitrary: pick(['a', 'b'], ['a', 'a']) },
  { weight: 1, arbitrary: fc.array(namespaceName, { maxLength: 3 }) },
)
const anyTable = fc.tuple(namespace, tableName).map(([path, name]) => [...path, name])
const properties = pick({}, { owner: 'x' }, { owner: 'y', __proto: '1' })
/** What changes properties, with names that are often there. */
const newProperties = record(
  {},
  {
    updates: pick<Record<string, string>[]>(
      {},
      { owner: 'x' },
      { owner: 'z', tier: '1' },
      { __proto: '2' },
      { table_type: 'ICEBERG' },
    ),
    removals: pick<string[][]>([], ['owner'], ['tier', 'none', 'tier'], ['__proto']),
  },
).filter(
  ({ updates, removals }: { updates?: object; removals?: string[] }) =>
    Object.keys(updates ?? {}).length + (removals ?? []).length > 0,
)
/** A unique name. */
const staged = 'm.manifest-6f9a1b2c-3d4e-4f5a-8b6c-7d8e9f0a1b2c'
const version = fc.oneof({ weight: 4, arbitrary: pick(1, 2, 3) }, fc.nat(6))
const branch = pick<(string | null)[]>('', '', '', 'main', null, 'dev', 'dev', 'x/y')
const tag = pick('v1', 'v1', 'stable')
const location = fc.oneof(
  { weight: 5, arbitrary: pick('s3://bucket/a', 's3://bucket/a/b', 's3://bucket/c/', '#R/x', '#R/y') },
  { weight: 10, arbitrary: fc.nat(9).map((n) => `#L?${n}`) },
  { weight: 1, arbitrary: fc.constant('nowhere') },
)
const droppedTable = fc.nat(9).map((n) => `#I?${n}`)
const row = fc.record({ id: fc.nat(6), note: pick(null, 'x', 'y', 'é') })
const data = fc.array(row, { maxLength: 4 })
const predicate = pick(...Object.keys(predicates))
const numberValue = pick(...Object.keys(values).filter((value) => /id/.test(value)))
const noteValue = pick(...Object.keys(values).filter((value) => !/id/.test(value)))
const updates = fc.oneof(
  numberValue.map((value) => [['id', value]]),
  noteValue.map((value) => [['note', value]]),
  fc.tuple(numberValue, noteValue).map(([number, note]) => [
    ['note', note],
    ['id', number],
  ]),
)
/** The clauses of a merge, at least one. */
const merging = fc.oneof(
  fc.constant({ when_matched_update_all: true, when_not_matched_insert_all: true }),
  pick(...Object.keys(conditions)).map((when_matched_update_all_filt) => ({
    when_matched_update_all: true,
    when_matched_update_all_filt,
    when_not_matched_insert_all: true,
  })),
  fc.constant({ when_not_matched_insert_all: true }),
  fc.constant({ when_matched_delete: true, when_not_matched_insert_all: true }),
  predicate.map((when_not_matched_by_source_delete_filt) => ({
    when_matched_update_all: true,
    when_not_matched_by_source_delete: true,
    when_not_matched_by_source_delete_filt,
  })),
)
/** Tables that often have rows, and names that often are free. */
const likelySource = pick(['a', 't'], ['a', 't'], ['a', 't'], ['t'], ['u'])
const likelyFree = pick(['u'], ['a', 'u'], ['ｚ'], ['𝒜'])
/** The version to clone. */
const cloned = fc.oneof(
  fc.constant({}),
  fc.record({ source_version: pick(1, 1, 1, 2, 3) }),
  fc.record({ source_branch: branch }),
  fc.record({ source_tag: pick('v1') }),
  record({}, { source_version: version, source_branch: branch, source_tag: tag }),
)
const range = fc.record({ start_version: fc.nat(4), end_version: fc.oneof(fc.nat(6), fc.constant(-1)) })
const ranges = fc.array(range, { maxLength: 2 })
const action = fc.oneof(
  fc.record({
    setStatusAction: fc.record({ status: pick('Succeeded', 'Succeeded', 'Canceled', 'Running') }),
  }),
  fc.record({
    setPropertyAction: record({ key: pick('k', 'l'), value: pick('1', '2') }, { mode: pick('Fail', 'Skip') }),
  }),
  fc.record({ unsetPropertyAction: record({ key: pick('k', 'l') }, { mode: pick('Fail', 'Skip') }) }),
)

const metadata = pick<Record<string, string>[]>({}, { unit: 'm' }, { unit: 's', by: 'x' })

/** Calls for batches, which also occur alone. */
function batchItems(table: fc.Arbitrary<string[]>) {
  const entry = record(
    { id: table, version, manifest_path: pick('m1', staged) },
    {
      branch,
      manifest_size: pick(10, 20),
      e_tag: pick('e1'),
      metadata: pick<Record<string, string>[]>({}, { by: 'x' }),
    },
  )
  const declaration = record({ id: table }, { location, properties })
  const deletion = record({ id: table, ranges }, { branch })
  const step: fc.Arbitrary<object> = fc.oneof(
    declaration.map((declare_table) => ({ declare_table })),
    entry.map((create_table_version) => ({ create_table_version })),
    deletion.map((delete_table_versions) => ({ delete_table_versions })),
    fc.record({ deregister_table: fc.record({ id: table }) }),
  )
  return { entry, declaration, deletion, step }
}

/**
 * Long batches in which several items fail, with few tables, so that earlier items determine the failures of later
 * ones.
 */
export function batch(): fc.Arbitrary<Command> {
  const { entry, step } = batchItems(pick(['t'], ['t'], ['a', 't'], ['u'], ['a', 'n', 'v']))
  const mixed = fc.array(step, { minLength: 2, maxLength: 8, size: 'max' })
  const versions = fc.array(entry, { minLength: 2, maxLength: 4, size: 'max' })
  return fc.oneof(
    {
      weight: 5,
      arbitrary: mixed.map((operations) => ({
        operation: 'batchCommitTables' as const,
        request: { operations },
      })),
    },
    versions.map((entries) => ({ operation: 'batchCreateTableVersions' as const, request: { entries } })),
  )
}

type Requests = Readonly<Record<ModelOperation, readonly [weight: number, fc.Arbitrary<object>]>>

/** The weight and the requests of each operation. */
function requestsFor(table: fc.Arbitrary<string[]>): Requests {
  const transaction = fc.oneof(
    { weight: 2, arbitrary: fc.nat(20).map((n) => [`#T?${n}`]) },
    fc.tuple(fc.oneof(table, namespace), fc.nat(20)).map(([id, n]) => [...id, `#T?${n}`]),
  )

  const { entry, declaration, deletion, step } = batchItems(table)
  const at = { id: table }
  return {
    createNamespace: [
      8,
      record({ id: namespace }, { mode: pick('Create', 'ExistOk', 'Overwrite', 'exist_ok'), properties }),
    ],
    updateNamespaceProperties: [
      3,
      fc.tuple(namespace, newProperties).map(([id, changed]) => ({ id, ...changed })),
    ],
    describeNamespace: [1, fc.record({ id: namespace })],
    namespaceExists: [1, fc.record({ id: namespace })],
    dropNamespace: [
      3,
      record({ id: namespace }, { mode: pick('Fail', 'Skip'), behavior: pick('Restrict', 'Cascade') }),
    ],
    listNamespaces: [1, fc.record({ id: namespace })],
    declareTable: [6, declaration],
    createTable: [
      8,
      record(
        { ...at, data, schema: fc.constant(columns) },
        { mode: pick('Create', 'ExistOk', 'Overwrite'), properties },
      ),
    ],
    cloneTable: [
      8,
      fc
        .tuple(
          fc.oneof(
            { weight: 6, arbitrary: fc.record({ id: likelyFree, source: likelySource }) },
            fc.record({ id: anyTable, source: table }),
            fc.record({ id: table, source: anyTable }),
            fc.record({ id: anyTable, source_location: location }),
          ),
          cloned,
          record({}, { is_shallow: fc.boolean(), properties }),
        )
        .map(([tables, which, more]) => ({ ...tables, ...which, ...more })),
    ],
    registerTable: [7, record({ ...at, location }, { mode: pick('Create', 'Overwrite'), properties })],
    deregisterTable: [5, fc.record(at)],
    dropTable: [3, record(at, { purge: fc.boolean() })],
    undropTable: [
      2,
      record(at, { table_id: droppedTable, new_table_name: tableName, new_namespace_id: namespace }),
    ],
    purgeTable: [1, record(at, { table_id: droppedTable })],
    listDroppedTables: [1, fc.record({ id: namespace })],
    updateTableProperties: [5, fc.tuple(table, newProperties).map(([id, changed]) => ({ id, ...changed }))],
    renameTable: [
      8,
      record({ ...at, new_table_name: tableName }, { new_namespace_id: fc.option(namespace) }),
    ],
    tableExists: [1, record(at, { version })],
    listTables: [2, record({ id: namespace }, { include_declared: fc.boolean() })],
    listAllTables: [1, record({}, { include_declared: fc.boolean() })],
    describeTable: [
      3,
      record(at, {
        version,
        branch,
        tag,
        load_detailed_metadata: fc.boolean(),
        check_declared: fc.boolean(),
      }),
    ],
    createTableVersion: [8, entry],
    batchCreateTableVersions: [3, fc.record({ entries: fc.array(entry, { maxLength: 3 }) })],
    batchDeleteTableVersions: [4, deletion],
    describeTableVersion: [2, record({ ...at, version }, { branch })],
    listTableVersions: [2, record(at, { branch, descending: fc.boolean() })],
    createTableTag: [5, record({ ...at, tag, version }, { branch })],
    updateTableTag: [3, record({ ...at, tag, version }, { branch })],
    deleteTableTag: [2, fc.record({ ...at, tag })],
    getTableTagVersion: [2, fc.record({ ...at, tag })],
    listTableTags: [1, fc.record(at)],
    createTableBranch: [
      6,
      record({ ...at, name: pick('dev', 'x/y') }, { from_branch: branch, from_version: version }),
    ],
    deleteTableBranch: [2, fc.record({ ...at, name: pick('dev', 'x/y') })],
    listTableBranches: [1, fc.record(at)],
    insertIntoTable: [
      10,
      record(
        { ...at, data, schema: fc.constant(columns) },
        { branch, mode: pick('Append', 'Append', 'Overwrite') },
      ),
    ],
    deleteFromTable: [6, record({ ...at, predicate }, { branch })],
    updateTable: [6, record({ ...at, updates }, { branch, predicate })],
    mergeInsertIntoTable: [
      6,
      fc
        .tuple(
          record({ ...at, data, on: fc.constant('id'), schema: fc.constant(columns) }, { branch }),
          merging,
        )
        .map(([request, flags]) => ({ ...request, ...flags })),
    ],
    updateTableSchemaMetadata: [3, record({ ...at, metadata }, { branch })],
    alterTableAddColumns: [
      3,
      record(
        {
          ...at,
          new_columns: pick<object[]>(
            [{ name: 'size', expression: 'CASE WHEN note IS NULL THEN NULL ELSE id * 2 END' }],
            [{ name: 'size', data_type: 'int32' }],
          ),
        },
        { branch },
      ),
    ],
    alterTableAlterColumns: [
      2,
      record(
        { ...at, alterations: pick('int16', 'int32').map((data_type) => [{ path: 'size', data_type }]) },
        { branch },
      ),
    ],
    alterTableDropColumns: [2, record({ ...at, columns: fc.constant(['size']) }, { branch })],
    updateFieldMetadata: [
      1,
      record(
        { ...at, updates: metadata.map((pairs) => [{ path: 'note', metadata: pairs, replace: true }]) },
        { branch },
      ),
    ],
    optimizeTable: [4, record(at, { branch, min_deleted_share: pick(0, 0.5) })],
    restoreTable: [3, record({ ...at, version }, { branch })],
    countTableRows: [3, record(at, { version, branch, predicate })],
    queryTable: [3, record(at, { version, branch, filter: predicate, limit: fc.nat(3), offset: fc.nat(3) })],
    batchCommitTables: [
      6,
      fc.record({
        operations: fc.array(fc.oneof({ weight: 32, arbitrary: step }, fc.constant({})), { maxLength: 4 }),
      }),
    ],
    describeTransaction: [2, fc.record({ id: transaction })],
    listTransactions: [1, fc.constant(ended)],
    alterTransaction: [
      2,
      fc.record({ id: transaction, actions: fc.array(action, { minLength: 1, maxLength: 3 }) }),
    ],
  }
}

const rowOperations = new Set<ModelOperation>([
  'createTable',
  'cloneTable',
  'insertIntoTable',
  'deleteFromTable',
  'updateTable',
  'mergeInsertIntoTable',
  'updateTableSchemaMetadata',
  'alterTableAddColumns',
  'alterTableAlterColumns',
  'alterTableDropColumns',
  'updateFieldMetadata',
  'optimizeTable',
  'restoreTable',
  'countTableRows',
  'queryTable',
])

/** A random call: without access to rows unless `rows` is set, and only on `table` and of `only`, if given. */
export function command({
  rows = true,
  table,
  only,
}: {
  rows?: boolean
  table?: string[]
  only?: readonly ModelOperation[]
} = {}): fc.Arbitrary<Command> {
  const requests = requestsFor(table ? fc.constant(table) : anyTable)
  const operations = Object.keys(requests) as ModelOperation[]
  return fc.oneof(
    ...operations
      .filter((operation) => rows || !rowOperations.has(operation))
      .filter((operation) => only?.includes(operation) ?? true)
      .map((operation) => {
        const [weight, request] = requests[operation]
        return { weight, arbitrary: fc.record({ operation: fc.constant(operation), request }) }
      }),
  )
}

/** Fields that name a version, and those that name one by time in their place. */
const timed: Partial<Record<ModelOperation, readonly [names: string, at: string]>> = {
  describeTable: ['version,tag', 'at'],
  countTableRows: ['version', 'at'],
  queryTable: ['version', 'at'],
  listTableVersions: ['', 'at'],
  restoreTable: ['version', 'at'],
  createTableTag: ['version', 'at'],
  updateTableTag: ['version', 'at'],
  createTableBranch: ['from_version', 'from_at'],
  cloneTable: ['source_version,source_tag', 'source_at'],
}

/** Calls of which many name versions by time, such as `#A?3` for the third of the times that are known. */
export function byTime(calls: fc.Arbitrary<Command>): fc.Arbitrary<Command> {
  return fc.tuple(calls, fc.option(fc.nat(60))).map(([{ operation, request }, n]) => {
    const [names, at] = timed[operation] ?? []
    if (n === null || at === undefined) return { operation, request }
    const others = Object.entries(request).filter(([field]) => !names!.split(',').includes(field))
    return { operation, request: { ...Object.fromEntries(others), [at]: `#A?${n}` } }
  })
}

/** Rules of retention for single tables. */
export const tableRules = pick<object[]>(
  { updates: { 'tabularium.retention.versions': '1' } },
  { updates: { 'tabularium.retention.versions': '2', 'tabularium.retention.age': '2s' } },
  { updates: { 'tabularium.retention.age': '1s' } },
  { updates: { 'tabularium.retention.versions': 'all' } },
  { removals: ['tabularium.retention.versions', 'tabularium.retention.age'] },
)

/** Calls that are committed together, or sometimes rolled back. */
export function transactionOf(calls: fc.Arbitrary<Command>, maxLength = 4): fc.Arbitrary<TransactionCommand> {
  return fc.record({
    calls: fc.array(calls, { minLength: 1, maxLength, size: 'max' }),
    commits: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  })
}

/** The usual first calls of a history, so that later calls find existing objects. */
export const beginnings: readonly (readonly Command[])[] = [
  [],
  [
    { operation: 'createNamespace', request: { id: ['a'] } },
    { operation: 'createNamespace', request: { id: ['a', 'b'] } },
    { operation: 'declareTable', request: { id: ['a', 't'] } },
    { operation: 'declareTable', request: { id: ['t'], location: '#R/x' } },
    { operation: 'createTableVersion', request: { id: ['t'], version: 1, manifest_path: 'm1' } },
  ],
]

/** The first calls of histories with rows. */
export const beginningWithRows: readonly Command[] = [
  { operation: 'createNamespace', request: { id: ['a'] } },
  {
    operation: 'createTable',
    request: { id: ['a', 't'], data: [{ id: 1, note: 'x' }], schema: columns },
  },
  {
    operation: 'insertIntoTable',
    request: { id: ['a', 't'], data: [{ id: 2, note: null }], schema: columns },
  },
  { operation: 'createTableTag', request: { id: ['a', 't'], tag: 'v1', version: 1 } },
  { operation: 'declareTable', request: { id: ['t'] } },
]

function record<Must extends object, May extends object>(
  must: { [K in keyof Must]: fc.Arbitrary<Must[K]> },
  may: { [K in keyof May]: fc.Arbitrary<May[K]> },
): fc.Arbitrary<Must & Partial<May>> {
  const arbitraries = { ...must, ...may } as Record<string, fc.Arbitrary<unknown>>
  return fc.record(arbitraries, { requiredKeys: Object.keys(must) }) as fc.Arbitrary<Must & Partial<May>>
}
