import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import { withAnyKey } from '../../base/model/fields.ts'
import { maxDepth } from '../../base/model/identifier.ts'
import type { Catalog } from '../../catalog/index.ts'
import type { operations } from '../../catalog/operations/index.ts'

/**
 * The initial content of a catalog, by name. A list of rows (or Arrow data) is a table, an object is a namespace. Names
 * never contain a `$`, so keys that begin with one are options of the object that holds them.
 *
 * ```ts
 * const seed = {
 *   prod: {
 *     $properties: { owner: 'ops' },
 *     flights: [{ origin: 'SFO', delay: 75 }],
 *     inbox: [],                                   // declared: no rows or columns yet
 *     orders: { $rows: [{ id: 1 }], $changes: [{ insert: [{ id: 2 }] }], $tags: { audited: 1 } },
 *     eu: {},                                      // an empty namespace
 *   },
 * }
 * ```
 */
export interface Seed {
  readonly $properties?: Readonly<Record<string, string>> | undefined
  readonly [name: string]: SeedNode | undefined
}

/** Creates the namespaces and tables of a seed, in order. */
export async function applySeed(catalog: Catalog, seed: Seed): Promise<void> {
  for (const node of readSeed(seed)) await createNode(catalog, node)
}

async function createNode(catalog: Catalog, node: Node): Promise<void> {
  const at = async <T>(field: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      const where = pathOf(node.id) + field
      if (error instanceof CatalogError)
        throw new CatalogError(error.code, `${where}: ${error.message}`, { cause: error })
      throw invalid(`${where} cannot be made. See the cause.`, { cause: error })
    }
  }
  const { id } = node
  if (node.kind === 'namespace') {
    const { properties } = node
    await at('', () =>
      catalog.createNamespace({ id, mode: 'ExistOk', ...(properties ? { properties } : {}) }),
    )
    return
  }
  const { rows, schema, properties, location, changes, versions, tags, branches } = node
  const more = properties ? { properties } : {}
  if (rows === undefined) {
    await at('', () => catalog.declareTable({ id, ...more, ...(location === undefined ? {} : { location }) }))
  } else {
    await at('', () => catalog.createTable({ id, data: rows, ...more, ...(schema ? { schema } : {}) }))
  }
  for (const [i, change] of changes.entries()) {
    await at(`.$changes[${i}]`, async () => {
      if ('insert' in change) await catalog.insertIntoTable({ id, data: change.insert })
      else if ('delete' in change) await catalog.deleteFromTable({ id, predicate: change.delete })
      else await catalog.updateTableSchemaMetadata({ id, metadata: change.metadata })
    })
  }
  for (const [i, version] of versions.entries()) {
    await at(`.$versions[${i}]`, () => catalog.createTableVersion({ version: i + 1, ...version, id }))
  }
  for (const [tag, version] of tags) {
    await at(`.$tags.${tag}`, () => catalog.createTableTag({ id, tag, version }))
  }
  for (const [name, from_version] of branches) {
    await at(`.$branches.${name}`, () => catalog.createTableBranch({ id, name, from_version }))
  }
}

/** Rows as operations take them: an array of objects, Arrow IPC bytes, or an Arrow table. */
export type SeedRows = Parameters<(typeof operations)['createTable']>[1]['data']

/** A table with options beside its rows. */
export interface SeedTable {
  /** Without rows, or with an empty list and no `$schema`, the table is only declared. */
  readonly $rows?: SeedRows | undefined
  /** Rows as Arrow IPC in base64, for seeds in JSON; instead of `$rows`. */
  readonly $arrow?: string | undefined
  /** The columns of row objects: an Arrow schema, or the protocol's JSON form of one. */
  readonly $schema?: Parameters<(typeof operations)['createTable']>[1]['schema']
  readonly $properties?: Readonly<Record<string, string>> | undefined
  /** The location of a declared table. */
  readonly $location?: string | undefined
  /** Each change makes the next version. The rows are version 1. */
  readonly $changes?: readonly SeedChange[] | undefined
  /** Versions that another engine wrote, for tables without rows. Numbered from 1 by default. */
  readonly $versions?: readonly SeedVersion[] | undefined
  /** Names of versions. */
  readonly $tags?: Readonly<Record<string, number>> | undefined
  /** Branches, each with the version of the main branch that it begins with. */
  readonly $branches?: Readonly<Record<string, number>> | undefined
}

export type SeedChange =
  | { readonly insert: SeedRows | { readonly $arrow: string } }
  | { readonly delete: string }
  | { readonly metadata: Readonly<Record<string, string>> }

export interface SeedVersion {
  readonly manifest_path: string
  readonly version?: number
  readonly manifest_size?: number
  readonly e_tag?: string
  readonly metadata?: Readonly<Record<string, string>>
}

/** The value of a name in a seed. */
export type SeedNode = SeedRows | SeedTable | { readonly [name: string]: SeedNode | undefined } | SeedText

/** The values of `$properties`. */
type SeedText = Readonly<Record<string, string>>

/** One namespace or table to create, after everything that it needs. */
export type Node = NamespaceNode | TableNode

interface NamespaceNode {
  readonly kind: 'namespace'
  readonly id: string[]
  readonly properties: Readonly<Record<string, string>> | undefined
}

interface TableNode {
  readonly kind: 'table'
  readonly id: string[]
  readonly rows: SeedRows | undefined
  readonly schema: SeedTable['$schema']
  readonly properties: Readonly<Record<string, string>> | undefined
  readonly location: string | undefined
  readonly changes: readonly (Exclude<SeedChange, { insert: unknown }> | { readonly insert: SeedRows })[]
  readonly versions: readonly SeedVersion[]
  readonly tags: readonly (readonly [string, number])[]
  readonly branches: readonly (readonly [string, number])[]
}

const record = v.custom<Readonly<Record<string, string>>>(
  isPlain,
  'must be an object whose values are strings',
)
const rows = v.custom<SeedRows>(isRows, 'must be a list of row objects, Arrow IPC bytes or an Arrow table')
const arrow = v.pipe(
  v.string('must be Arrow IPC in base64'),
  v.base64('must be Arrow IPC in base64'),
  v.transform((text): SeedRows => new Uint8Array(Buffer.from(text, 'base64'))),
)
const inserted = v.union(
  [
    rows,
    v.pipe(
      v.strictObject({ $arrow: arrow }),
      v.transform(({ $arrow }) => $arrow),
    ),
  ],
  'must be rows, or { $arrow: base64 }',
)
const numbers = withAnyKey(
  v.record(v.string(), v.number('must be the number of a version'), 'must be an object of version numbers'),
)

const tableEntries = {
  $rows: v.optional(rows),
  $arrow: v.optional(arrow),
  $schema: v.optional(
    v.custom<NonNullable<SeedTable['$schema']>>(
      (given) => typeof given === 'object' && given !== null,
      'must be a schema',
    ),
  ),
  $properties: v.optional(record),
  $location: v.optional(v.string('must be a string')),
  $changes: v.optional(
    v.array(
      v.union(
        [
          v.strictObject({ insert: inserted }),
          v.strictObject({ delete: v.string() }),
          v.strictObject({ metadata: record }),
        ],
        'must be { insert: rows }, { delete: predicate } or { metadata: … }',
      ),
      'must be a list of changes',
    ),
  ),
  $versions: v.optional(
    v.array(
      v.looseObject({ manifest_path: v.string('must be a string') }, 'must be an object with manifest_path'),
      'must be a list of versions',
    ),
  ),
  $tags: v.optional(numbers),
  $branches: v.optional(numbers),
}
const tableSchema = v.strictObject(tableEntries)

/** The nodes of a seed, in order. Throws `InvalidInput` with the path of an invalid part. */
export function* readSeed(seed: unknown): Generator<Node> {
  if (!isPlain(seed))
    throw invalid('seed must be an object of names, such as { prod: { flights: [{ delay: 75 }] } }.')
  if (isTable(seed))
    throw invalid('seed: the root is a namespace and holds no rows itself. Give the table a name.')
  if (seed.$properties !== undefined)
    throw invalid('seed.$properties: the root namespace has none. Leave them out.')
  yield* children(seed, [])
}

function* children(given: Readonly<Record<string, unknown>>, id: string[]): Generator<Node> {
  for (const [name, child] of Object.entries(given)) {
    if (name === '$properties' || child === undefined) continue
    yield* node(child, [...id, name])
  }
}

function* node(given: unknown, id: string[]): Generator<Node> {
  if (id.length > maxDepth)
    throw invalid(`${pathOf(id.slice(0, 4))}…: is deeper than ${maxDepth} levels, which are the most.`)
  if (isRows(given)) {
    yield tableNode({ $rows: given }, id)
  } else if (!isPlain(given)) {
    throw invalid(
      `${pathOf(id)} is ${describe(given)}. Give a list of rows or Arrow data for a table, an object for a namespace.`,
    )
  } else if (isTable(given)) {
    yield tableNode(given, id)
  } else {
    const properties = given.$properties as NamespaceNode['properties']
    if (properties !== undefined && !isPlain(properties))
      throw invalid(`${pathOf(id)}.$properties must be an object whose values are strings.`)
    yield { kind: 'namespace', id, properties }
    yield* children(given, id)
  }
}

function tableNode(given: object, id: string[]): TableNode {
  const result = v.safeParse(tableSchema, given)
  if (!result.success) throw invalid(`${pathOf(id)}${problem(result.issues[0])}.`)
  const table = result.output
  if (table.$rows !== undefined && table.$arrow !== undefined)
    throw invalid(`${pathOf(id)} has both $rows and $arrow. Leave out one of them.`)
  const rows = table.$arrow ?? table.$rows
  const isDeclared =
    rows === undefined || (Array.isArray(rows) && rows.length === 0 && table.$schema === undefined)
  if (!isDeclared && (table.$location !== undefined || table.$versions !== undefined)) {
    throw invalid(
      `${pathOf(id)} has rows, so the catalog keeps its location and versions. Leave out ${table.$location === undefined ? '$versions' : '$location'}, or $rows.`,
    )
  }
  return {
    kind: 'table',
    id,
    rows: isDeclared ? undefined : rows,
    schema: table.$schema,
    properties: table.$properties,
    location: table.$location,
    changes: (table.$changes ?? []) as TableNode['changes'],
    versions: table.$versions ?? [],
    tags: Object.entries(table.$tags ?? {}),
    branches: Object.entries(table.$branches ?? {}),
  }
}

function problem(issue: v.BaseIssue<unknown>): string {
  const path = (issue.path ?? [])
    .map(({ key }) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    return path.startsWith('.$')
      ? `${path} is not known. A table may have ${Object.keys(tableEntries).join(', ')}`
      : `${path}: a table holds no other names. Give either rows or names`
  }
  return `${path} ${issue.message}`
}

/** The path of a node in a seed as a JavaScript expression. */
export function pathOf(id: readonly string[]): string {
  return id.reduce(
    (path, name) => path + (/^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`),
    'seed',
  )
}

/** Whether an object describes a table: it has a `$` key other than `$properties`, which namespaces have too. */
function isTable(given: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(given).some((key) => key.startsWith('$') && key !== '$properties')
}

function isRows(given: unknown): given is SeedRows {
  if (Array.isArray(given)) return true
  return typeof given === 'object' && given !== null && !isPlain(given)
}

function isPlain(given: unknown): given is Readonly<Record<string, unknown>> {
  if (typeof given !== 'object' || given === null) return false
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === null || prototype === Object.prototype
}

function describe(given: unknown): string {
  if (given === null) return 'null'
  return typeof given === 'string' ? 'a string' : `a ${typeof given}`
}
