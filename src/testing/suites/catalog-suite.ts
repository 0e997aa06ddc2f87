import { randomBytes } from 'node:crypto'
import { type OperationName, operations } from '../../operations/index.ts'
import { batches } from './catalog/batches.ts'
import { branches } from './catalog/branches.ts'
import { lacking } from './catalog/lacking.ts'
import { listing } from './catalog/listing.ts'
import { names } from './catalog/names.ts'
import { namespaces } from './catalog/namespaces.ts'
import { renaming } from './catalog/renaming.ts'
import { rows } from './catalog/rows.ts'
import { tables } from './catalog/tables.ts'
import { tags } from './catalog/tags.ts'
import { transactions } from './catalog/transactions.ts'
import type { CatalogTrial, CatalogUnderTest } from './catalog/trial.ts'
import { versions } from './catalog/versions.ts'
import { type Runner, register, type Topic } from './suite.ts'

export interface CatalogSuiteOptions {
  /** What the group of cases is called. Default: `the catalog`. */
  readonly name?: string
  /**
   * The operations it does not have, or groups of them: `rows`, `tags`, `branches`, `versions` (but for
   * creating and listing them), `transactions`, `registration`. Each must be refused as `Unsupported`.
   */
  readonly lacks?: readonly (OperationName | CatalogGroup)[]
}

/** Operations that are rarely there alone. */
const catalogGroups = {
  rows: [
    'createTable',
    'insertIntoTable',
    'deleteFromTable',
    'countTableRows',
    'queryTable',
    'restoreTable',
    'updateTableSchemaMetadata',
  ],
  tags: ['createTableTag', 'updateTableTag', 'getTableTagVersion', 'listTableTags', 'deleteTableTag'],
  branches: ['createTableBranch', 'listTableBranches', 'deleteTableBranch'],
  versions: ['describeTableVersion', 'batchCreateTableVersions', 'batchDeleteTableVersions'],
  transactions: ['describeTransaction', 'alterTransaction'],
  registration: ['registerTable', 'deregisterTable'],
} as const satisfies Record<string, readonly OperationName[]>

export type CatalogGroup = keyof typeof catalogGroups

/** What no catalog can be judged without. */
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
  rows,
] as const

/** The cases for a catalog: without those that need what it lacks, with one for each thing it lacks. */
function catalogCases(lacks: ReadonlySet<OperationName>): readonly Topic<CatalogTrial>[] {
  const judged = (needs: readonly string[]) => needs.every((name) => !lacks.has(name as OperationName))
  const left = catalogTopics.flatMap(({ cases }) => cases).filter(({ needs }) => !judged(needs))
  return [
    ...catalogTopics.map(({ name, cases }) => ({ name, cases: cases.filter(({ needs }) => judged(needs)) })),
    lacking(lacks, left),
  ]
}

/** The operations that are lacking, and those this release offers to nobody. */
export function lackingOperations(lacks: CatalogSuiteOptions['lacks'] = []): Set<OperationName> {
  const named = lacks.flatMap((name) => (name in catalogGroups ? catalogGroups[name as CatalogGroup] : name))
  const lacking = new Set(named as OperationName[])
  for (const name of lacking) {
    if (!(name in operations)) throw new TypeError(`lacks: there is no operation or group ${name}.`)
    if (indispensable.includes(name)) throw new TypeError(`lacks: no catalog can be judged without ${name}.`)
  }
  for (const [name, { definition }] of Object.entries(operations)) {
    const { errors } = definition as { errors: readonly string[] }
    if (!definition.changes && errors.length === 1 && errors[0] === 'Unsupported') {
      lacking.add(name as OperationName)
    }
  }
  return lacking
}

/**
 * Registers the cases that every catalog must pass, whatever carries its operations. Each works in a namespace
 * of its own, which it drops at the end, so `open` may give the same catalog each time. What it gives is closed
 * after the case.
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
  register<CatalogTrial>(runner, name, catalogCases(lacks), async (body) => {
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
