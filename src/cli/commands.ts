import type { OperationName } from '../index.ts'

/** What a command has beyond what its operation tells. */
export interface CommandNotes {
  readonly group: string
  /** Short names, the best known one first. */
  readonly aliases?: readonly string[]
  /** Fields that may follow the identifier without their option's name. */
  readonly positional?: readonly string[]
  /** What the identifier names; a table when absent. */
  readonly id?: 'namespace' | 'table' | 'transaction'
  /** Whether the identifier may be left out, which is the root. */
  readonly rootByDefault?: boolean
  /** Whether it may begin a catalog where there is none. */
  readonly begins?: boolean
  /** Arguments after the command's name, as one would type them. */
  readonly examples?: readonly string[]
}

const namespaces = 'Namespaces:'
const tables = 'Tables:'
const rows = 'Rows:'
const history = 'Versions, tags and branches:'
const transactions = 'Transactions and batches:'

/** The commands' short names, places of arguments and examples. Operations without an entry are commands too. */
export const commandNotes: { readonly [Name in OperationName]?: CommandNotes } = {
  createNamespace: {
    group: namespaces,
    aliases: ['mkns'],
    id: 'namespace',
    begins: true,
    examples: ['./catalog prod', './catalog prod.eu --properties owner=ada --mode ExistOk'],
  },
  listNamespaces: {
    group: namespaces,
    aliases: ['namespaces'],
    id: 'namespace',
    rootByDefault: true,
    examples: ['./catalog', './catalog prod'],
  },
  describeNamespace: { group: namespaces, id: 'namespace', examples: ['./catalog prod'] },
  dropNamespace: {
    group: namespaces,
    aliases: ['rmns'],
    id: 'namespace',
    examples: ['./catalog prod', './catalog prod --behavior Cascade'],
  },
  namespaceExists: { group: namespaces, id: 'namespace', examples: ['./catalog prod'] },
  createTable: {
    group: tables,
    aliases: ['create'],
    begins: true,
    examples: [
      './catalog prod.flights --data flights.arrow',
      './catalog prod.flights --data flights.csv --mode Overwrite',
      `./catalog scores --data '[{"name":"Ada","score":9.5}]'`,
    ],
  },
  declareTable: { group: tables, aliases: ['declare'], begins: true, examples: ['./catalog prod.orders'] },
  registerTable: {
    group: tables,
    aliases: ['register'],
    positional: ['location'],
    begins: true,
    examples: ['./catalog prod.old file:///data/old-table'],
  },
  describeTable: {
    group: tables,
    aliases: ['describe'],
    examples: ['./catalog prod.flights', './catalog prod.flights --load-detailed-metadata'],
  },
  tableExists: { group: tables, aliases: ['exists'], examples: ['./catalog prod.flights'] },
  listTables: {
    group: tables,
    aliases: ['list', 'ls'],
    id: 'namespace',
    rootByDefault: true,
    examples: ['./catalog', './catalog prod --no-include-declared', 'http://127.0.0.1:2333 --json'],
  },
  listAllTables: { group: tables, aliases: ['list-all'], examples: ['./catalog'] },
  renameTable: {
    group: tables,
    aliases: ['rename', 'mv'],
    positional: ['new_table_name'],
    examples: ['./catalog prod.flights flights_2024', './catalog prod.flights archive.flights_2024'],
  },
  restoreTable: {
    group: history,
    aliases: ['revert'],
    positional: ['version'],
    examples: ['./catalog prod.flights 3'],
  },
  deregisterTable: { group: tables, aliases: ['deregister'], examples: ['./catalog prod.flights'] },
  dropTable: { group: tables, aliases: ['drop', 'rm'], examples: ['./catalog prod.flights'] },
  insertIntoTable: {
    group: rows,
    aliases: ['insert'],
    examples: [
      './catalog prod.flights --data more.arrow',
      `./catalog scores --data '[{"name":"Grace","score":9.9}]'`,
      './catalog prod.flights --data - < rows.jsonl',
    ],
  },
  deleteFromTable: {
    group: rows,
    aliases: ['delete'],
    examples: [`./catalog prod.flights --where 'delay > 60'`],
  },
  countTableRows: {
    group: rows,
    aliases: ['count'],
    examples: ['./catalog prod.flights', `./catalog prod.flights --where 'delay > 60'`],
  },
  queryTable: {
    group: rows,
    aliases: ['query'],
    examples: [
      `./catalog prod.flights --columns origin,delay --where 'delay > 60' --limit 10`,
      './catalog prod.flights --version 1 --output flights.arrow',
    ],
  },
  updateTableSchemaMetadata: {
    group: tables,
    aliases: ['set-metadata'],
    examples: ['./catalog prod.flights --metadata unit=minutes --metadata source=FAA'],
  },
  optimizeTable: {
    group: rows,
    aliases: ['optimize'],
    examples: ['./catalog prod.flights', './catalog prod.flights --min-deleted-share 0'],
  },
  listTableVersions: {
    group: history,
    aliases: ['versions'],
    examples: ['./catalog prod.flights', './catalog prod.flights --descending --limit 1'],
  },
  describeTableVersion: {
    group: history,
    aliases: ['describe-version'],
    positional: ['version'],
    examples: ['./catalog prod.flights 3'],
  },
  createTableVersion: {
    group: history,
    aliases: ['create-version'],
    positional: ['version'],
    examples: ['./catalog prod.orders 8 --manifest-path _versions/8.manifest'],
  },
  batchCreateTableVersions: {
    group: transactions,
    examples: [
      `./catalog --entries '[{"id":["prod","orders"],"version":8,"manifest_path":"_versions/8.manifest"}]'`,
    ],
  },
  batchDeleteTableVersions: {
    group: history,
    aliases: ['delete-versions'],
    examples: [`./catalog prod.flights --ranges '[{"start_version":1,"end_version":5}]'`],
  },
  createTableTag: {
    group: history,
    aliases: ['tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 3'],
  },
  updateTableTag: {
    group: history,
    aliases: ['move-tag'],
    positional: ['tag', 'version'],
    examples: ['./catalog prod.flights stable 4'],
  },
  getTableTagVersion: {
    group: history,
    aliases: ['tag-version'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  listTableTags: { group: history, aliases: ['tags'], examples: ['./catalog prod.flights'] },
  deleteTableTag: {
    group: history,
    aliases: ['untag'],
    positional: ['tag'],
    examples: ['./catalog prod.flights stable'],
  },
  createTableBranch: {
    group: history,
    aliases: ['branch'],
    positional: ['name'],
    examples: ['./catalog prod.flights experiment --from-version 3'],
  },
  listTableBranches: { group: history, aliases: ['branches'], examples: ['./catalog prod.flights'] },
  deleteTableBranch: {
    group: history,
    aliases: ['delete-branch'],
    positional: ['name'],
    examples: ['./catalog prod.flights experiment'],
  },
  describeTransaction: {
    group: transactions,
    aliases: ['transaction'],
    id: 'transaction',
    examples: ['./catalog 01JDZ6Y4M8Q3V0S1T2R3N4P5K6'],
  },
  alterTransaction: {
    group: transactions,
    id: 'transaction',
    examples: [
      `./catalog 01JDZ6Y4M8Q3V0S1T2R3N4P5K6 --actions '[{"setStatusAction":{"status":"Canceled"}}]'`,
    ],
  },
  batchCommitTables: {
    group: transactions,
    aliases: ['commit'],
    positional: ['operations'],
    begins: true,
    examples: [
      './catalog @operations.json',
      `./catalog '[{"declare_table":{"id":["prod","returns"]}},{"deregister_table":{"id":["prod","old"]}}]'`,
    ],
  },
}

/** What the options are for, by the name of their field. */
export const fieldNotes: Readonly<Record<string, string>> = {
  actions: 'what to change',
  branch: 'branch to work on (default: main)',
  check_declared: 'tell whether the table is only declared',
  columns: 'columns or field paths: a,b.c, or JSON such as {"column_aliases":{"c":"b.c"}}',
  context: 'context for the catalog; header.NAME becomes an HTTP header',
  data: 'rows: a file (Arrow IPC, JSON, JSON lines, CSV), - for standard input, or JSON in place',
  descending: 'latest first',
  e_tag: 'entity tag of the manifest',
  entries: 'versions to create',
  from_branch: 'branch to start from (default: main)',
  from_version: 'version to start from (default: the latest)',
  identity: 'who asks, as the request body says it',
  include_declared: 'leave out tables that are only declared',
  limit: 'at most so many (default: all)',
  load_detailed_metadata: 'tell version, schema, statistics and metadata too',
  location: 'URL where the content lies',
  manifest_path: 'path of the manifest, relative to the location',
  manifest_size: 'bytes of the manifest',
  metadata: 'pairs',
  min_deleted_share: 'write fragments anew that have this share of deleted rows, 0 to 1 (default: 0.1)',
  name: 'name of the branch',
  naming_scheme: 'how manifests are named',
  new_namespace_id: 'namespace to move to; the delimiter alone is the root',
  new_table_name: 'new name; with namespaces before it, the table moves there',
  offset: 'rows to pass over',
  operations: 'operations to commit',
  page_token: 'go on where a page ended',
  predicate: 'SQL predicate',
  filter: 'SQL predicate',
  properties: 'pairs',
  ranges: 'ranges of versions: [{"start_version":1,"end_version":5}], the end not included',
  recursive: 'leave out what lies in the namespaces below',
  schema: 'columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}',
  start_after: 'with --no-recursive: begin after this name',
  storage_options: 'pairs',
  tag: 'name of the tag',
  target_bytes: 'bytes of a merged fragment, about (default: 128 MiB)',
  target_rows: 'rows of a merged fragment (default: 1,048,576)',
  vend_credentials: 'ask for credentials for the location',
  version: 'number of a version',
  with_table_uri: 'tell the URI of the table',
}

/** Fields that are part of the protocol and of no use here: taken, not shown. */
export const hiddenFields = new Set(['vector', 'full_text_query', 'with_row_id', 'k', 'order_by', 'identity'])

/** Flags that hold unless they are turned off. */
export const onByDefault = new Set(['include_declared', 'recursive'])

/** Fields that are better known under another name. */
export const otherNames: Readonly<Record<string, string>> = { predicate: 'where', filter: 'where' }
