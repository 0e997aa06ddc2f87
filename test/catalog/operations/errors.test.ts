import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import {
  type Catalog,
  CatalogError,
  type ErrorCode,
  type OperationName,
  openCatalog,
  operations,
  type Store,
} from '../../../src/tabularium/index.ts'
import { itself } from '../../client/over-http.ts'
import { eachCatalog, freshFolder } from '../../support/catalogs.ts'
import { emptied } from '../../support/empty-requests.ts'
import { inspect } from '../../support/inspect.ts'
import { fails, refuses } from '../../support/refusals.ts'
import { numbered } from '../../support/rows.ts'

/*
 * Every error that an operation lists, made to happen. Each catalog holds:
 *   n, n$inner  a namespace with a declared table in it
 *   rows        three rows: version 1, tag `x` on it, branch `dev` with tag `y`
 *   pieces      two fragments
 *   declared    no version
 *   away        declared at a location out of reach
 *   foreign     registered, its content another engine's
 *   client      versions 1 and 2 recorded by a client, tag `x` on 1
 *   broken      rows in `folder`, whose manifest is gone
 *   lance       a table of Lance in `folder`, whose files are not as Lance writes them
 */
async function seed(catalog: Catalog, folder: string): Promise<string> {
  await catalog.createNamespace({ id: ['n'] })
  await catalog.declareTable({ id: ['n', 'inner'] })
  const { transaction_id } = await catalog.createTable({ id: ['rows'], data: numbered(3) })
  await catalog.createTableTag({ id: ['rows'], tag: 'x', version: 1 })
  await catalog.createTableBranch({ id: ['rows'], name: 'dev' })
  await catalog.createTableTag({ id: ['rows'], tag: 'y', version: 1, branch: 'dev' })
  await catalog.createTable({ id: ['pieces'], data: numbered(3) })
  await catalog.declareTable({ id: ['dropped'] })
  await catalog.dropTable({ id: ['dropped'] })
  await catalog.insertIntoTable({ id: ['pieces'], data: numbered(3) })
  await catalog.declareTable({ id: ['declared'] })
  await catalog.declareTable({ id: ['away'], location: 's3://bucket/away' })
  await catalog.registerTable({ id: ['foreign'], location: 's3://bucket/foreign' })
  await catalog.declareTable({ id: ['client'] })
  for (const version of [1, 2]) {
    await catalog.createTableVersion({ id: ['client'], version, manifest_path: `m${version}` })
  }
  await catalog.createTableTag({ id: ['client'], tag: 'x', version: 1 })
  await catalog.declareTable({ id: ['broken'], location: join(folder, 'broken') })
  await catalog.insertIntoTable({ id: ['broken'], data: numbered(3) })
  for (const file of await readdir(join(folder, 'broken'), { recursive: true, withFileTypes: true })) {
    if (file.isFile()) await rm(join(file.parentPath, file.name))
  }
  await catalog.declareTable({ id: ['lance'], location: join(folder, 'lance') })
  for (const file of ['_versions/1.manifest', '_refs/tags/x.json', '_refs/branches/x.json']) {
    await mkdir(join(folder, 'lance', file, '..'), { recursive: true })
    await writeFile(join(folder, 'lance', file), 'not so')
  }
  // The first to ask for its versions adopts them.
  await catalog.listTableVersions({ id: ['lance'] })
  return transaction_id!
}

interface Refusal {
  readonly request:
    | object
    | ((made: { folder: string; transaction: string; catalog: Catalog }) => object | Promise<object>)
  /** What the message names, and the next step it gives. */
  readonly says: readonly (string | RegExp)[]
}

const none = { id: ['none'] }
const rows = { id: ['rows'] }
const client = { id: ['client'] }
/** A table that was dropped, and is held. */
const dropped = { id: ['dropped'] }
const noTable = (request: object = {}): Refusal => ({
  request: { ...none, ...request },
  says: ['no table none', 'List the tables'],
})
const notHeld: Refusal = { request: none, says: ['No dropped table none is held', 'List the dropped tables'] }
const noBranch = (request: object = {}): Refusal => ({
  request: { ...rows, branch: 'none', ...request },
  says: ['rows', '"none"', 'List its branches'],
})
const noVersion = (request: object = {}): Refusal => ({
  request: { ...rows, version: 9, ...request },
  says: ['rows', 'no version 9', 'List its versions'],
})
const noTag = (request: object = {}): Refusal => ({
  request: { ...rows, tag: 'none', ...request },
  says: ['rows', '"none"', 'List its tags'],
})
const cloned = (request: object) => ({ id: ['new'], source: ['rows'], ...request })
const damaged = (ref: string, request: object = {}): Refusal => ({
  request: { id: ['lance'], ...request },
  says: [`_refs/${ref}/x.json`, 'Restore it'],
})
const noNamespace = (request: object): Refusal => ({
  request,
  says: ['no namespace none', 'Create it first'],
})
const taken = (request: object): Refusal => ({ request, says: ['table rows already exists', 'another name'] })
const foreign = (request: object = {}): Refusal => ({
  request: { id: ['foreign'], ...request },
  says: ['foreign', /[Uu]se the engine that wrote it/],
})
const withoutRows = (request: object = {}): Refusal => ({
  request: { id: ['declared'], ...request },
  says: ['declared and has no rows', 'Insert rows first'],
})
const anothers = (request: object): Refusal => ({
  request: { ...client, ...request },
  says: ['Version 2 of client', 'another engine', 'with that engine'],
})
const noTransaction = (request: object = {}): Refusal => ({
  request: { id: ['none'], ...request },
  says: ['no transaction "none"', 'check the transaction_id'],
})

/** A refusal that no request alone brings about: a conflict that only the store can find, or a package that is not installed. */
const inTheStore = 'in the store'

const data = numbered(1)
const updates = [['n', 'n']]
const fieldUpdates = [{ path: 'n', metadata: { a: 'b' } }]
const merge = { on: 'n', when_matched_update_all: true, when_not_matched_insert_all: true }
const ranges = [{ start_version: 1, end_version: -1 }]
const tagged = ['Version 1 of the table client is tagged x', 'Move or delete the tag first']
const skipped = ['the next version of the table client is 3', 'Rebase on the latest version']
const entry = { manifest_path: 'm' }

/** What a query is refused for. `asked` makes the request out of its fields. */
const queryRefusals = (asked: (fields: Record<string, unknown>) => object) => ({
  TableNotFound: noTable(asked({})),
  TableVersionNotFound: { ...noVersion(), request: { ...rows, ...asked({ version: 9 }) } },
  TableTagNotFound: { ...noTag(), request: { ...rows, ...asked({ tag: 'none' }) } },
  TableBranchNotFound: { ...noBranch(), request: { ...rows, ...asked({ branch: 'none' }) } },
  TableColumnNotFound: { request: { ...rows, ...asked({ columns: ['other'] }) }, says: ['other'] },
  InvalidTableState: {
    request: asked({ id: ['broken'] }),
    says: ['broken/_versions/', 'Restore it from a backup'],
  },
  Unsupported: {
    request: { ...rows, ...asked({ full_text_query: 'a' }) },
    says: ['Full-text search', 'needs a table of Lance'],
  },
})

const index = { column: 'n', index_type: 'BTREE' }
const noIndex: Refusal = { request: { ...rows, index_name: 'x' }, says: ['"x"'] }
const indexRefusals = {
  TableNotFound: noTable(index),
  TableBranchNotFound: noBranch(index),
  TableColumnNotFound: { request: { ...rows, ...index, column: 'other' }, says: ['other'] },
  TableIndexAlreadyExists: {
    request: async ({ catalog }: { catalog: Catalog }) => {
      await catalog.createTableIndex({ ...rows, ...index })
      return { ...rows, ...index, replace: false }
    },
    says: ['n_idx'],
  },
  InvalidTableState: withoutRows(index),
  Unsupported: { request: { ...rows, ...index, index_type: 'FTS' }, says: ['Full-text indexes'] },
  ConcurrentModification: inTheStore,
} as const

const refusals: {
  readonly [Name in OperationName]?: { readonly [Code in ErrorCode]?: Refusal | typeof inTheStore }
} = {
  createNamespace: {
    NamespaceNotFound: noNamespace({ id: ['none', 'x'] }),
    NamespaceAlreadyExists: { request: { id: ['n'] }, says: ['namespace n already exists', 'another name'] },
    ConcurrentModification: inTheStore,
  },
  listNamespaces: { NamespaceNotFound: noNamespace(none) },
  describeNamespace: { NamespaceNotFound: noNamespace(none) },
  updateNamespaceProperties: {
    NamespaceNotFound: noNamespace({ ...none, removals: ['a'] }),
    ConcurrentModification: inTheStore,
  },
  namespaceExists: { NamespaceNotFound: noNamespace(none) },
  dropNamespace: {
    NamespaceNotFound: noNamespace(none),
    NamespaceNotEmpty: { request: { id: ['n'] }, says: ['namespace n', 'n$inner', 'behavior Cascade'] },
    ConcurrentModification: inTheStore,
  },
  createTable: {
    NamespaceNotFound: noNamespace({ id: ['none', 'x'], data }),
    TableAlreadyExists: taken({ ...rows, data }),
    Unsupported: {
      request: async ({ catalog }) => {
        const [id, properties] = [['beyond'], { format: 'lance' }]
        await catalog.declareTable({ id, location: 's3://bucket/beyond', properties })
        return { id, data }
      },
      says: ['beyond', 's3://bucket/beyond', 'Lance cannot write'],
    },
    InvalidTableState: {
      request: { id: ['away'], data },
      says: ['away', 's3://bucket/away', 'locationRoots'],
    },
    TableSchemaValidationError: {
      request: {
        ...none,
        data: [{ other: 1 }],
        schema: { fields: [{ name: 'n', nullable: false, type: { type: 'int64' } }] },
      },
      says: [/n|other/],
    },
    ConcurrentModification: inTheStore,
  },
  cloneTable: {
    NamespaceNotFound: noNamespace({ id: ['none', 'x'], source: ['rows'] }),
    TableNotFound: { ...noTable(), request: cloned({ source: ['none'] }) },
    TableAlreadyExists: taken({ ...rows, source: ['pieces'] }),
    TableVersionNotFound: { ...noVersion(), request: cloned({ source_version: 9 }) },
    TableTagNotFound: { ...noTag(), request: cloned({ source_tag: 'none' }) },
    TableBranchNotFound: { ...noBranch(), request: cloned({ source_branch: 'none' }) },
    InvalidTableState: anothers({ id: ['new'], source: ['client'] }),
    ConcurrentModification: inTheStore,
  },
  declareTable: {
    NamespaceNotFound: noNamespace({ id: ['none', 'x'] }),
    TableAlreadyExists: taken(rows),
    ConcurrentModification: inTheStore,
  },
  registerTable: {
    NamespaceNotFound: noNamespace({ id: ['none', 'x'], location: 's3://bucket/x' }),
    TableAlreadyExists: taken({ ...rows, location: 's3://bucket/x' }),
    InvalidTableState: {
      request: async ({ folder }) => {
        await mkdir(join(folder, 'damaged', '_registration'), { recursive: true })
        await writeFile(join(folder, 'damaged', '_registration', '1.json'), '{"format":1')
        return { ...none, location: join(folder, 'damaged') }
      },
      says: ['damaged/_registration/1.json', 'Restore it, or remove it'],
    },
    ConcurrentModification: inTheStore,
  },
  describeTable: {
    TableNotFound: noTable(),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: {
      request: { id: ['broken'], load_detailed_metadata: true },
      says: ['broken/_versions/', 'Restore it from a backup'],
    },
  },
  tableExists: { TableNotFound: noTable(), TableVersionNotFound: noVersion(), TableTagNotFound: noTag() },
  listTables: { NamespaceNotFound: noNamespace(none) },
  listAllTables: {},
  renameTable: {
    NamespaceNotFound: noNamespace({ ...rows, new_table_name: 'x', new_namespace_id: ['none'] }),
    TableNotFound: noTable({ new_table_name: 'x' }),
    TableAlreadyExists: taken({ id: ['declared'], new_table_name: 'rows' }),
    ConcurrentModification: inTheStore,
  },
  restoreTable: {
    TableNotFound: noTable({ version: 1 }),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch({ version: 1 }),
    InvalidTableState: {
      request: { ...client, version: 1 },
      says: ['Version 1 of client', 'with that engine'],
    },
    ConcurrentModification: inTheStore,
  },
  updateTableProperties: { TableNotFound: noTable({ removals: ['a'] }), ConcurrentModification: inTheStore },
  deregisterTable: { TableNotFound: noTable(), ConcurrentModification: inTheStore },
  dropTable: { TableNotFound: noTable(), ConcurrentModification: inTheStore },
  undropTable: {
    NamespaceNotFound: noNamespace({ ...dropped, new_namespace_id: ['none'] }),
    TableNotFound: notHeld,
    TableAlreadyExists: taken({ ...dropped, new_table_name: 'rows' }),
    ConcurrentModification: inTheStore,
  },
  purgeTable: { TableNotFound: notHeld, ConcurrentModification: inTheStore },
  listDroppedTables: {},
  insertIntoTable: {
    TableNotFound: noTable({ data }),
    TableBranchNotFound: noBranch({ data }),
    InvalidTableState: {
      request: { id: ['away'], data },
      says: ['away', 's3://bucket/away', 'locationRoots'],
    },
    TableSchemaValidationError: { request: { ...rows, data: [{ other: 1 }] }, says: ['other'] },
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  deleteFromTable: {
    TableNotFound: noTable({ predicate: 'true' }),
    TableBranchNotFound: noBranch({ predicate: 'true' }),
    InvalidTableState: {
      request: { id: ['declared'], predicate: 'true' },
      says: ['declared and has no rows', 'Insert rows first'],
    },
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  updateTable: {
    TableNotFound: noTable({ updates }),
    TableBranchNotFound: noBranch({ updates }),
    TableColumnNotFound: { request: { ...rows, updates: [['other', '1']] }, says: ['other'] },
    InvalidTableState: withoutRows({ updates }),
    TableSchemaValidationError: {
      request: async ({ catalog }) => {
        const item = { name: 'item', nullable: true, type: { type: 'float' } }
        const columns = [
          { name: 'pair', nullable: true, type: { type: 'fixed_size_list', length: 2, fields: [item] } },
          { name: 'list', nullable: true, type: { type: 'list', fields: [item] } },
        ]
        await catalog.createTable({ id: ['lists'], data: [{ list: [1] }], schema: { fields: columns } })
        return { id: ['lists'], updates: [['pair', 'list']] }
      },
      says: ['pair'],
    },
    Unsupported: {
      request: async ({ catalog }) => {
        await catalog.createTable({ id: ['nested'], data: [{ s: { a: 1 } }] })
        return { id: ['nested'], updates: [['s.a', '2']] }
      },
      says: ['s.a', 'whole columns'],
    },
    ConcurrentModification: inTheStore,
  },
  mergeInsertIntoTable: {
    TableNotFound: noTable({ ...merge, data }),
    TableBranchNotFound: noBranch({ ...merge, data }),
    TableColumnNotFound: { request: { ...rows, ...merge, data, on: 'other' }, says: ['other'] },
    InvalidTableState: {
      request: { id: ['away'], ...merge, data },
      says: ['away', 's3://bucket/away', 'locationRoots'],
    },
    TableSchemaValidationError: { request: { ...rows, ...merge, data: [{ other: 1 }] }, says: ['other'] },
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  countTableRows: {
    TableNotFound: noTable(),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: foreign(),
    Unsupported: inTheStore,
  },
  queryTable: queryRefusals((fields) => fields),
  tableChanges: {
    TableNotFound: noTable({ from: 1 }),
    TableVersionNotFound: { ...noVersion(), request: { ...rows, from: 9 } },
    TableTagNotFound: {
      request: { ...rows, from: 'none' },
      says: ['rows', 'no tag or branch "none"', 'Name a version by'],
    },
    TableBranchNotFound: { ...noBranch(), request: { ...rows, from: 'none@1' } },
    TableColumnNotFound: { request: { ...rows, from: 1, on: 'other' }, says: ['other'] },
    InvalidTableState: foreign({ from: 1 }),
    TableSchemaValidationError: {
      request: async ({ catalog }) => {
        await catalog.insertIntoTable({ ...rows, mode: 'Overwrite', data: [{ n: 'text' }] })
        return { ...rows, from: 1 }
      },
      says: ['"n"', 'Name the other columns'],
    },
  },
  analyzeTableQueryPlan: queryRefusals((fields) => fields),
  explainTableQueryPlan: queryRefusals(({ id, ...query }) => ({ ...(id !== undefined && { id }), query })),
  getTableStats: {
    TableNotFound: noTable(),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: foreign(),
    Unsupported: inTheStore,
  },
  createTableIndex: indexRefusals,
  createTableScalarIndex: indexRefusals,
  listTableIndices: {
    TableNotFound: noTable(),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: foreign(),
  },
  describeTableIndexStats: {
    TableNotFound: noTable({ index_name: 'x' }),
    TableVersionNotFound: noVersion({ index_name: 'x' }),
    TableTagNotFound: noTag({ index_name: 'x' }),
    TableBranchNotFound: noBranch({ index_name: 'x' }),
    TableIndexNotFound: noIndex,
    InvalidTableState: foreign({ index_name: 'x' }),
  },
  prewarmTableIndex: {
    TableNotFound: noTable({ index_name: 'x' }),
    TableVersionNotFound: noVersion({ index_name: 'x' }),
    TableTagNotFound: noTag({ index_name: 'x' }),
    TableBranchNotFound: noBranch({ index_name: 'x' }),
    TableIndexNotFound: noIndex,
    InvalidTableState: foreign({ index_name: 'x' }),
    Unsupported: {
      request: async ({ catalog }: { catalog: Catalog }) => {
        await catalog.createTableIndex({ ...rows, ...index })
        return { ...rows, index_name: 'n_idx' }
      },
      says: ['kept in memory'],
    },
  },
  fetchTableBlobs: {
    TableNotFound: noTable({ column: 'b', row_ids: [0] }),
    TableVersionNotFound: noVersion({ column: 'b', row_ids: [0] }),
    TableTagNotFound: noTag({ column: 'b', row_ids: [0] }),
    TableBranchNotFound: noBranch({ column: 'b', row_ids: [0] }),
    InvalidTableState: foreign({ column: 'b', row_ids: [0] }),
    TableColumnNotFound: { request: { ...rows, column: 'other', row_ids: [0] }, says: ['other'] },
    Unsupported: { request: async () => ({ ...rows, column: 'n', row_ids: [0] }), says: ['by a query'] },
  },
  getLsmWriteSpec: {
    TableNotFound: noTable(),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: foreign(),
  },
  dropTableIndex: {
    TableNotFound: noTable({ index_name: 'x' }),
    TableBranchNotFound: noBranch({ index_name: 'x' }),
    TableIndexNotFound: noIndex,
    InvalidTableState: withoutRows({ index_name: 'x' }),
    ConcurrentModification: inTheStore,
  },
  updateTableSchemaMetadata: {
    TableNotFound: noTable({ metadata: {} }),
    TableBranchNotFound: noBranch({ metadata: {} }),
    InvalidTableState: {
      request: { ...client, metadata: {} },
      says: ['Version 2 of client', 'another engine', 'with that engine'],
    },
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  alterTableAddColumns: {
    TableNotFound: noTable({ new_columns: [{ name: 'x', expression: '1' }] }),
    TableBranchNotFound: noBranch({ new_columns: [{ name: 'x', expression: '1' }] }),
    InvalidTableState: anothers({ new_columns: [{ name: 'x', expression: '1' }] }),
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  alterTableAlterColumns: {
    TableNotFound: noTable({ alterations: [{ path: 'n', rename: 'm' }] }),
    TableBranchNotFound: noBranch({ alterations: [{ path: 'n', rename: 'm' }] }),
    TableColumnNotFound: {
      request: { ...rows, alterations: [{ path: 'other', rename: 'x' }] },
      says: ['no column "other"', 'The columns are'],
    },
    InvalidTableState: anothers({ alterations: [{ path: 'n', rename: 'm' }] }),
    ConcurrentModification: inTheStore,
  },
  alterTableDropColumns: {
    TableNotFound: noTable({ columns: ['n'] }),
    TableBranchNotFound: noBranch({ columns: ['n'] }),
    TableColumnNotFound: {
      request: { ...rows, columns: ['other'] },
      says: ['no column "other"', 'The columns are'],
    },
    InvalidTableState: anothers({ columns: ['n'] }),
    ConcurrentModification: inTheStore,
    Unsupported: inTheStore,
  },
  updateFieldMetadata: {
    TableNotFound: noTable({ updates: fieldUpdates }),
    TableBranchNotFound: noBranch({ updates: fieldUpdates }),
    TableColumnNotFound: {
      request: { ...rows, updates: [{ path: 'other', metadata: { a: 'b' } }] },
      says: ['no column "other"', 'The columns are'],
    },
    InvalidTableState: anothers({ updates: fieldUpdates }),
    ConcurrentModification: inTheStore,
  },
  optimizeTable: {
    TableNotFound: noTable(),
    TableBranchNotFound: noBranch(),
    InvalidTableState: withoutRows(),
    ConcurrentModification: inTheStore,
  },
  listTableVersions: { TableNotFound: noTable(), TableBranchNotFound: noBranch() },
  describeTableVersion: {
    TableNotFound: noTable({ version: 1 }),
    TableBranchNotFound: noBranch({ version: 1 }),
    TableVersionNotFound: noVersion(),
    TableTagNotFound: noTag(),
  },
  createTableVersion: {
    TableNotFound: noTable({ version: 1, ...entry }),
    TableBranchNotFound: noBranch({ version: 1, ...entry }),
    ConcurrentModification: { request: { ...client, version: 5, ...entry }, says: skipped },
  },
  batchCreateTableVersions: {
    TableNotFound: {
      request: { entries: [{ ...none, version: 1, ...entry }] },
      says: ['entries[0]', 'List the tables'],
    },
    TableBranchNotFound: {
      request: { entries: [{ ...rows, branch: 'none', version: 1, ...entry }] },
      says: ['entries[0]', '"none"', 'List its branches'],
    },
    ConcurrentModification: {
      request: {
        entries: [
          { ...client, version: 3, ...entry },
          { ...client, version: 3, manifest_path: 'other' },
        ],
      },
      says: ['entries[1]', 'Version 3 of the table client already exists', 'Rebase'],
    },
  },
  batchDeleteTableVersions: {
    TableNotFound: noTable({ ranges }),
    TableBranchNotFound: noBranch({ ranges }),
    InvalidTableState: { request: { ...client, ranges }, says: tagged },
    ConcurrentModification: inTheStore,
  },
  createTableTag: {
    TableNotFound: noTable({ tag: 'z', version: 1 }),
    TableTagAlreadyExists: {
      request: { ...rows, tag: 'x', version: 1 },
      says: ['"x"', 'version 1', 'Update the tag'],
    },
    TableVersionNotFound: noVersion({ tag: 'z' }),
    TableBranchNotFound: noBranch({ tag: 'z', version: 1 }),
    InvalidTableState: damaged('tags', { tag: 'x', version: 1 }),
  },
  updateTableTag: {
    TableNotFound: noTable({ tag: 'x', version: 1 }),
    TableTagNotFound: noTag({ version: 1 }),
    TableVersionNotFound: noVersion({ tag: 'x' }),
    TableBranchNotFound: noBranch({ tag: 'x', version: 1 }),
    InvalidTableState: damaged('tags', { tag: 'x', version: 1 }),
  },
  getTableTagVersion: {
    TableNotFound: noTable({ tag: 'x' }),
    TableTagNotFound: noTag(),
    InvalidTableState: damaged('tags', { tag: 'x' }),
  },
  listTableTags: { TableNotFound: noTable(), InvalidTableState: damaged('tags') },
  deleteTableTag: {
    TableNotFound: noTable({ tag: 'x' }),
    TableTagNotFound: noTag(),
    InvalidTableState: damaged('tags', { tag: 'x' }),
  },
  createTableBranch: {
    TableNotFound: noTable({ name: 'z' }),
    TableBranchAlreadyExists: { request: { ...rows, name: 'dev' }, says: ['"dev"', 'another name'] },
    TableBranchNotFound: {
      request: { ...rows, name: 'z', from_branch: 'none' },
      says: ['rows', 'no branch "none"', 'List its branches'],
    },
    TableVersionNotFound: {
      request: { ...rows, name: 'z', from_version: 9 },
      says: [/9/, 'List its versions'],
    },
    InvalidTableState: {
      request: { id: ['lance'], name: 'z' },
      says: ['Version 1 of the table lance', 'Make the branch with Lance'],
    },
  },
  listTableBranches: { TableNotFound: noTable(), InvalidTableState: damaged('branches') },
  deleteTableBranch: {
    TableNotFound: noTable({ name: 'dev' }),
    TableBranchNotFound: {
      request: { ...rows, name: 'none' },
      says: ['rows', 'no branch "none"', 'List its branches'],
    },
    InvalidTableState: {
      request: { ...rows, name: 'dev' },
      says: ['tag y', '"dev"', 'delete the tag first'],
    },
  },
  beginTransaction: {
    Unsupported: {
      request: async ({ catalog }) => ({
        context: { 'header.x-tabularium-transaction': await begin(catalog) },
      }),
      says: ['no transactions inside', 'run the other one afterwards'],
    },
    TransactionNotFound: {
      request: () => ({ retry_of: '0'.repeat(26) }),
      says: ['0'.repeat(26)],
    },
    ConcurrentModification: {
      request: async ({ catalog }) => {
        const retry_of = await begin(catalog)
        await catalog.commitTransaction({ id: [retry_of] })
        return { retry_of }
      },
      says: ['is committed', 'leave retry_of out'],
    },
    // Only when there are as many as there may be: the tests of open transactions try it.
    Throttling: inTheStore,
  },
  commitTransaction: {
    TransactionNotFound: noTransaction(),
    ConcurrentModification: {
      request: async ({ catalog }) => {
        const id = [await begin(catalog)]
        await catalog.rollbackTransaction({ id })
        return { id }
      },
      says: ['was canceled', 'Start the operation again'],
    },
  },
  rollbackTransaction: {
    TransactionNotFound: noTransaction(),
    ConcurrentModification: {
      request: async ({ catalog }) => {
        const id = [await begin(catalog)]
        await catalog.commitTransaction({ id })
        return { id }
      },
      says: ['is committed and stays so', 'Undo its changes'],
    },
  },
  describeTransaction: { TransactionNotFound: noTransaction() },
  listTransactions: {},
  alterTransaction: {
    TransactionNotFound: noTransaction({ actions: [{ setStatusAction: { status: 'Canceled' } }] }),
    ConcurrentModification: {
      request: ({ transaction }) => ({
        id: [transaction],
        actions: [{ setStatusAction: { status: 'Canceled' } }],
      }),
      says: ['is Succeeded and stays so', 'Start the operation again'],
    },
  },
  batchCommitTables: {
    NamespaceNotFound: {
      request: { operations: [{ declare_table: { id: ['none', 'x'] } }] },
      says: ['operations[0]', 'no namespace none', 'Create it first'],
    },
    TableNotFound: {
      request: { operations: [{ deregister_table: none }] },
      says: ['operations[0]', 'no table none', 'List the tables'],
    },
    TableAlreadyExists: {
      request: { operations: [{ declare_table: none }, { declare_table: rows }] },
      says: ['operations[1]', 'table rows already exists', 'another name'],
    },
    TableBranchNotFound: {
      request: { operations: [{ delete_table_versions: { ...client, branch: 'none', ranges } }] },
      says: ['operations[0]', '"none"', 'List its branches'],
    },
    InvalidTableState: {
      request: { operations: [{ declare_table: none }, { delete_table_versions: { ...client, ranges } }] },
      says: ['operations[1]', ...tagged],
    },
    ConcurrentModification: {
      request: {
        operations: [{ declare_table: none }, { create_table_version: { ...client, version: 5, ...entry } }],
      },
      says: ['operations[1]', ...skipped],
    },
  },
}

/** For each operation that changes something, a request that would succeed. */
const changes: { readonly [Name in OperationName]?: object } = {
  createNamespace: none,
  dropNamespace: { id: ['n'], behavior: 'Cascade' },
  updateNamespaceProperties: { id: ['n'], updates: { owner: 'ada' } },
  createTable: { ...none, data },
  cloneTable: { ...none, source: ['rows'] },
  declareTable: none,
  registerTable: { ...none, location: 's3://bucket/none' },
  renameTable: { ...rows, new_table_name: 'x' },
  updateTableProperties: { ...rows, updates: { owner: 'ada' } },
  restoreTable: { ...rows, version: 1 },
  deregisterTable: rows,
  dropTable: rows,
  undropTable: dropped,
  purgeTable: dropped,
  insertIntoTable: { ...rows, data },
  deleteFromTable: { ...rows, predicate: 'true' },
  updateTable: { ...rows, updates },
  mergeInsertIntoTable: { ...rows, ...merge, data },
  createTableIndex: { ...rows, ...index },
  createTableScalarIndex: { ...rows, ...index },
  dropTableIndex: { id: ['pieces'], index_name: 'n_idx' },
  updateTableSchemaMetadata: { ...rows, metadata: { a: 'b' } },
  alterTableAddColumns: { ...rows, new_columns: [{ name: 'x', expression: '1' }] },
  alterTableAlterColumns: { ...rows, alterations: [{ path: 'n', rename: 'm' }] },
  alterTableDropColumns: { ...rows, columns: ['n'] },
  updateFieldMetadata: { ...rows, updates: fieldUpdates },
  optimizeTable: { id: ['pieces'] },
  createTableVersion: { ...client, version: 3, ...entry },
  batchCreateTableVersions: { entries: [{ ...client, version: 3, ...entry }] },
  batchDeleteTableVersions: { ...client, ranges: [{ start_version: 2, end_version: -1 }] },
  createTableTag: { ...rows, tag: 'z', version: 1 },
  updateTableTag: { ...rows, tag: 'x', version: 1 },
  deleteTableTag: { ...rows, tag: 'x' },
  createTableBranch: { ...rows, name: 'z' },
  deleteTableBranch: { id: ['client'], name: 'dev' },
  batchCommitTables: { operations: [{ declare_table: none }] },
  beginTransaction: {},
}

/**
 * Changes that ask for nothing in one place, or by nothing but what they must have, and still are no mistakes. All others
 * are refused.
 */
const stillAsked: Readonly<Record<string, readonly string[]>> = {
  'the rest of the request says what changes': [
    'createNamespace.properties',
    'updateNamespaceProperties.removals',
    'createTable.properties',
    'createTable.storage_options',
    'cloneTable.properties',
    'declareTable.properties',
    'registerTable.properties',
    'updateTableProperties.removals',
    'createTableIndex.custom_stop_words',
    'createTableScalarIndex.custom_stop_words',
    'createTableVersion.metadata',
    'beginTransaction.properties',
    'dropNamespace',
  ],
  'the answer counts what the ranges held': ['batchDeleteTableVersions.ranges'],
  'an empty map takes the place of the one that is there': ['updateTableSchemaMetadata.metadata'],
}

async function begin(catalog: Catalog): Promise<string> {
  return (await catalog.beginTransaction({})).transaction_id
}

const call = (catalog: Catalog, name: OperationName, request: object) =>
  (catalog[name] as (request: object) => Promise<unknown>)(request)

const supported = Object.values(operations)
  .map(({ definition }) => definition)
  .filter(({ summary }) => !summary.includes('Not supported'))

describe('the errors of operations', () => {
  it.each(supported)('$name lists those that are tried here, and no others', ({ name, errors }) => {
    const tried = Object.keys(refusals[name] ?? {})
    const toAdd = errors
      .filter((code) => !tried.includes(code))
      .map(
        (code) =>
          `test/catalog/operations/errors.test.ts: to refusals, ${name}: { ${code}: { request, says } }`,
      )
    expect(toAdd).toEqual([])
    expect(tried.sort()).toEqual([...errors].sort())
  })
})

/** The refusals of an operation, but those that only a store makes happen. */
const refusalsOf = (name: OperationName) =>
  Object.entries(refusals[name] ?? {}).filter(
    (entry): entry is [ErrorCode, Refusal] => entry[1] !== inTheStore,
  )

/** Whether a refusal takes more than a request. What it takes could be in the way of others. */
const isPrepared = ({ name }: { readonly name: OperationName }) =>
  refusalsOf(name).some(([, { request }]) => typeof request === 'function')

eachCatalog((open) => {
  const tryEach = async (names: readonly OperationName[]) => {
    const folder = await freshFolder()
    const catalog = await open({ locationRoots: [folder], cacheBytes: 0, retainDropped: 3_600_000 })
    const transaction = await seed(catalog, folder)
    for (const name of names) {
      for (const [code, { request, says }] of refusalsOf(name)) {
        const made = typeof request === 'function' ? await request({ folder, transaction, catalog }) : request
        await refuses(catalog, () => call(catalog, name, made), code, ...says).catch((cause) => {
          throw new Error(`${name} does not fail with ${code} as it should.`, { cause })
        })
      }
    }
  }

  it('operations fail with each error they list, and change nothing', () =>
    tryEach(supported.filter((definition) => !isPrepared(definition)).map(({ name }) => name)))

  it.each(supported.filter(isPrepared))(
    '$name fails with each error it lists, and changes nothing',
    ({ name }) => tryEach([name]),
  )

  it.each(Object.values(operations).filter(({ definition }) => !supported.includes(definition)))(
    'what is not supported says so by name: $definition.name',
    async ({ definition: { name } }) => {
      const catalog = await open()
      await fails(
        call(catalog, name, { id: ['t'], anything: 1 }),
        'Unsupported',
        name,
        /not supported by this catalog\. [A-Z]/,
      )
    },
  )
})

const aboutRecords = ['alterTransaction', 'commitTransaction', 'rollbackTransaction']
const changing = supported.filter(({ changes, name }) => changes && !aboutRecords.includes(name))

describe('a change that asks for nothing', () => {
  const asked = Object.values(stillAsked).flat()
  const tries = changing.flatMap(({ name }) =>
    // Another test asks for a request that is missing.
    changes[name] ? emptied(name, changes[name]).map((less) => ({ name, ...less })) : [],
  )

  eachCatalog((open) => {
    it('is refused with what is missing, and changes nothing', async () => {
      const folder = await freshFolder()
      const catalog = await open({ locationRoots: [folder], retainDropped: 3_600_000 })
      await seed(catalog, folder)
      const refused = tries.filter(({ place }) => !asked.includes(place))
      const before = await inspect(itself(catalog))
      for (const { name, place, request } of refused) {
        await fails(call(catalog, name, request), 'InvalidInput', /give|name|must|ask/i).catch((cause) => {
          throw new Error(`${place} is empty, and is not refused as it should be.`, { cause })
        })
      }
      expect(await inspect(itself(catalog))).toEqual(before)
      expect(refused.length).toBeGreaterThan(20)
    })
  })

  it.each(asked)('%s may be empty', async (place) => {
    const folder = await freshFolder()
    const catalog = await openCatalog({
      store: memoryStore(),
      content: memoryContent(),
      locationRoots: [folder],
    })
    await seed(catalog, folder)
    const { name, request } = tries.find((less) => less.place === place)!
    const attempt = call(catalog, name, request)
    // It is about a namespace that is not empty, so it is refused for that.
    if (name === 'dropNamespace') await fails(attempt, 'NamespaceNotEmpty')
    else await attempt
  })
})

describe('a conflict that the store finds', () => {
  it.each(changing)('$name passes it on as it is, and changes nothing', async ({ name }) => {
    expect(changes, `test/catalog/operations/errors.test.ts: to changes, ${name}: a request`).toHaveProperty(
      name,
    )
    const folder = await freshFolder()
    const store = memoryStore()
    const content = memoryContent()
    const seeded = await openCatalog({ store, content, locationRoots: [folder], retainDropped: 3_600_000 })
    await seed(seeded, folder)
    await seeded.createTableBranch({ id: ['client'], name: 'dev' })
    await seeded.createTableIndex({ id: ['pieces'], ...index })
    const catalog = await openCatalog({
      store: refusingWrites(store),
      content,
      locationRoots: [folder],
      retainDropped: 3_600_000,
    })
    await refuses(
      catalog,
      () => call(catalog, name, changes[name]!),
      'ConcurrentModification',
      'committed first',
    )
    // It was the store that refused: without it the same request succeeds.
    await call(seeded, name, changes[name]!)
  })
})

function refusingWrites(store: Store): Store {
  return {
    features: store.features,
    read: (body) => store.read(body),
    write: () =>
      Promise.reject(new CatalogError('ConcurrentModification', 'Somebody else committed first. Try again.')),
    close: () => store.close(),
  }
}
