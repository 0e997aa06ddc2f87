import { randomBytes } from 'node:crypto'
import { didYouMean } from '../../base/model/nearest.ts'
import { isUnsupported } from '../../catalog/index.ts'
import { type OperationName, operations } from '../../catalog/operations/index.ts'
import { answers } from './catalog/answers.ts'
import { batches } from './catalog/batches.ts'
import { columns, indices } from './catalog/columns.ts'
import { listing } from './catalog/listing.ts'
import { names } from './catalog/names.ts'
import { namespaces } from './catalog/namespaces.ts'
import { openTransactions } from './catalog/open-transactions.ts'
import { queries } from './catalog/queries.ts'
import { rowChanges } from './catalog/row-changes.ts'
import { rowContent, rows } from './catalog/rows.ts'
import { renaming, tables } from './catalog/tables.ts'
import { branches, tags } from './catalog/tags-and-branches.ts'
import { transactions } from './catalog/transactions.ts'
import { type CatalogTrial, type CatalogUnderTest, unchanged, withVersions } from './catalog/trial.ts'
import { versions } from './catalog/versions.ts'
import { watching } from './catalog/watch.ts'
import { type Case, type Runner, register, rule, type Topic } from './suite.ts'

/** A valid request for any operation, so that only the missing operation can be the reason for a refusal. */
function requestFor(name: OperationName, table: string[], home: string[]): Record<string, unknown> {
  const everything = {
    id: table,
    data: [{ n: 1 }],
    predicate: 'true',
    new_columns: [{ name: 'm', expression: '1' }],
    alterations: [{ path: 'n', rename: 'm' }],
    columns: ['n'],
    updates: [{ path: 'n', metadata: { a: '1' } }],
    filter: 'true',
    version: 1,
    metadata: { a: '1' },
    tag: 'a',
    name: 'a',
    ranges: [{ start_version: 1, end_version: -1 }],
    new_table_name: 'renamed',
    location: 's3://bucket/elsewhere',
    entries: [{ id: table, version: 2, manifest_path: 'm2' }],
    operations: [{ deregister_table: { id: table } }],
    actions: [{ setPropertyAction: { key: 'a', value: '1' } }],
    index_name: 'a',
    on: 'n',
    when_matched_update_all: true,
    query: {},
    column: 'n',
    index_type: 'BTREE',
  }
  if (name === 'listAllTables' || name === 'listTransactions') return {}
  if (name === 'updateTable') return { ...everything, updates: [['n', '2']] }
  if (name === 'namespaceExists' || name === 'describeNamespace') return { id: home }
  if (['registerTable', 'createTable', 'cloneTable'].includes(name))
    return { ...everything, id: [...home, 'new'] }
  if (name.endsWith('Transaction')) return { ...everything, id: ['01ARZ3NDEKTSV4RRFFQ69G5FAV'] }
  return everything
}

/** One case for each missing operation. Its text names the cases that are left out without it. */
function lacking(
  lacks: ReadonlySet<OperationName>,
  left: readonly Case<CatalogTrial>[],
): Topic<CatalogTrial> {
  return { name: 'what is lacking', cases: [...lacks].map((name) => refusal(name, left)) }
}

function refusal(name: OperationName, left: readonly Case<CatalogTrial>[]): Case<CatalogTrial> {
  const unjudged = left.filter(({ needs }) => needs.includes(name)).map(({ id }) => id)
  const note = unjudged.length > 0 ? ` Not judged without it: ${unjudged.join(', ')}.` : ''
  return rule(
    `lacking.${name}`,
    'document 7, status 406',
    `${name} is refused as Unsupported, and nothing of it is done.${note}`,
    [],
    async (trial) => {
      const table = await withVersions(trial, 't', 1)
      const call = trial.catalog[name] as (request: unknown) => Promise<unknown>
      await unchanged(trial, 'Unsupported', [() => call(requestFor(name, table, trial.id()))])
    },
  )
}

export interface CatalogSuiteOptions {
  /** The name of the group of cases. Default: `the catalog`. */
  readonly name?: string
  /**
   * The operations that the catalog lacks, or groups of them: `rows`, `columns`, `tags`, `branches`, `versions` (except
   * creating and listing them), `transactions`, `openTransactions` (beginning and ending them), `registration`. The
   * catalog must refuse each of them as `Unsupported`. `watch` means that there is no change feed, which needs no
   * refusal.
   */
  readonly lacks?: readonly (OperationName | CatalogGroup | 'watch')[]
}

/** Groups of operations that a catalog usually has or lacks together. */
const catalogGroups = {
  rows: [
    'createTable',
    'cloneTable',
    'insertIntoTable',
    'deleteFromTable',
    'updateTable',
    'mergeInsertIntoTable',
    'countTableRows',
    'queryTable',
    'tableChanges',
    'explainTableQueryPlan',
    'analyzeTableQueryPlan',
    'getTableStats',
    'createTableIndex',
    'createTableScalarIndex',
    'listTableIndices',
    'describeTableIndexStats',
    'dropTableIndex',
    'restoreTable',
    'updateTableSchemaMetadata',
  ],
  columns: ['alterTableAddColumns', 'alterTableAlterColumns', 'alterTableDropColumns', 'updateFieldMetadata'],
  tags: ['createTableTag', 'updateTableTag', 'getTableTagVersion', 'listTableTags', 'deleteTableTag'],
  branches: ['createTableBranch', 'listTableBranches', 'deleteTableBranch'],
  versions: ['describeTableVersion', 'batchCreateTableVersions', 'batchDeleteTableVersions'],
  transactions: [
    'describeTransaction',
    'listTransactions',
    'alterTransaction',
    'beginTransaction',
    'commitTransaction',
    'rollbackTransaction',
  ],
  openTransactions: ['beginTransaction', 'commitTransaction', 'rollbackTransaction'],
  registration: ['registerTable', 'deregisterTable'],
} as const satisfies Record<string, readonly OperationName[]>

export type CatalogGroup = keyof typeof catalogGroups

/** The operations that the suite needs in every catalog. */
const indispensable: readonly OperationName[] = [
  'createNamespace',
  'listNamespaces',
  'dropNamespace',
  'declareTable',
  'describeTable',
  'listTables',
  'createTableVersion',
  'listTableVersions',
]

export const catalogTopics = [
  names,
  namespaces,
  tables,
  listing,
  renaming,
  versions,
  tags,
  branches,
  batches,
  transactions,
  openTransactions,
  rows,
  rowChanges,
  rowContent,
  queries,
  indices,
  columns,
  answers,
  watching,
] as const

/** The cases for a catalog: those that need no missing operation, and one case for each missing operation. */
function catalogCases(
  lacks: ReadonlySet<OperationName>,
  missing: ReadonlySet<string>,
): readonly Topic<CatalogTrial>[] {
  const judged = (needs: readonly string[]) => needs.every((name) => !missing.has(name))
  const left = catalogTopics.flatMap(({ cases }) => cases).filter(({ needs }) => !judged(needs))
  return [
    ...catalogTopics.map(({ name, cases }) => ({ name, cases: cases.filter(({ needs }) => judged(needs)) })),
    lacking(lacks, left),
  ]
}

/** The operations that the catalog lacks, and those that this release does not support. */
export function lackingOperations(lacks: CatalogSuiteOptions['lacks'] = []): Set<OperationName> {
  const operationsAndGroups = lacks.filter((name) => name !== 'watch')
  const named = operationsAndGroups.flatMap((name) =>
    name in catalogGroups ? catalogGroups[name as CatalogGroup] : name,
  )
  const lacking = new Set(named as OperationName[])
  for (const name of lacking) {
    if (!(name in operations)) {
      const hint = didYouMean(name, [...Object.keys(operations), ...Object.keys(catalogGroups)])
      throw new TypeError(`lacks: there is no operation or group ${name}. ${hint}`.trimEnd())
    }
    if (indispensable.includes(name)) throw new TypeError(`lacks: no catalog can be judged without ${name}.`)
  }
  for (const [name, { definition }] of Object.entries(operations)) {
    if (isUnsupported(definition)) lacking.add(name as OperationName)
  }
  return lacking
}

/** All features that cases may need and the catalog lacks: operations, and `watch`. */
export function missingFeatures(lacks: CatalogSuiteOptions['lacks'] = []): Set<string> {
  return new Set([...lackingOperations(lacks), ...(lacks.includes('watch') ? ['watch'] : [])])
}

/**
 * Registers the cases that every catalog must pass, whatever its transport. Each case works in its own namespace and
 * drops it at the end, so `open` may return the same catalog each time. The catalog is closed after the case.
 *
 * ```ts
 * import { describe, test } from 'vitest'
 * import { catalogSuite } from 'tabularium/testing'
 *
 * catalogSuite({ describe, test }, () => myCatalog(), { lacks: ['branches', 'queryTable'] })
 * ```
 */
export function catalogSuite(
  runner: Runner,
  open: () => CatalogUnderTest | Promise<CatalogUnderTest>,
  options: CatalogSuiteOptions = {},
): void {
  const { name = 'the catalog' } = options
  const lacks = lackingOperations(options.lacks)
  register<CatalogTrial>(runner, name, catalogCases(lacks, missingFeatures(options.lacks)), async (body) => {
    const catalog = await open()
    try {
      await inOwnNamespace(catalog, lacks, body)
    } finally {
      await catalog.close?.()
    }
  })
}

async function inOwnNamespace(
  catalog: CatalogUnderTest,
  lacks: ReadonlySet<OperationName>,
  body: (trial: CatalogTrial) => Promise<void>,
): Promise<void> {
  const home = [`suite-${randomBytes(6).toString('hex')}`]
  await catalog.createNamespace({ id: [...home] })
  try {
    await body({ catalog, home, id: (...names) => [...home, ...names], lacks })
  } finally {
    await catalog.dropNamespace({ id: [...home], mode: 'Skip', behavior: 'Cascade' }).catch(() => {})
  }
}
