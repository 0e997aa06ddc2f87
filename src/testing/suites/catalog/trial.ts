import assert from 'node:assert/strict'
import type { ErrorCode } from '../../../base/errors.ts'
import type { Catalog, OperationMethods } from '../../../catalog/index.ts'
import type { OperationName } from '../../../catalog/operations/index.ts'
import { refused } from '../checks.ts'

/** The object under test of the catalog suite: a handle, or any object with its methods. */
export type CatalogUnderTest = OperationMethods &
  Partial<Pick<Catalog, 'rows' | 'tables' | 'watch'>> & { close?(): Promise<void> }

/** The context of a case of the catalog suite. */
export interface CatalogTrial {
  readonly catalog: CatalogUnderTest
  /** The case's own namespace, empty at the start. The catalog may hold other namespaces. */
  readonly home: readonly string[]
  /** The identifier of a name, or of nested names, in that namespace. */
  readonly id: (...names: string[]) => string[]
  readonly lacks: ReadonlySet<OperationName>
}

/** The identifiers of all tables below the case's namespace, listed page by page. */
export async function tablesIn(
  { catalog, home }: CatalogTrial,
  request: { limit?: number; include_declared?: boolean } = {},
): Promise<string[][]> {
  const found = await pages((page_token) => catalog.listTables({ ...request, id: [...home], page_token }))
  return found.flatMap(({ tables }) => tables.map((name) => name.split('$').slice(home.length)))
}

interface Page {
  readonly page_token?: string | null | undefined
}

/** All pages of a listing. */
export async function pages<P extends Page>(page: (token: string | undefined) => Promise<P>): Promise<P[]> {
  const found: P[] = []
  const tokens = new Set<string>()
  for (let token: string | undefined; ; ) {
    const answer = await page(token)
    found.push(answer)
    token = answer.page_token ?? undefined
    if (!token) return found
    assert.ok(!tokens.has(token), `The page token ${token} comes again: the walk has no end.`)
    tokens.add(token)
  }
}

/** Declares a table and creates these versions of it. */
export async function withVersions(
  { catalog, id }: CatalogTrial,
  name: string,
  ...versions: number[]
): Promise<string[]> {
  const table = id(name)
  await catalog.declareTable({ id: table })
  for (const version of versions) await catalog.createTableVersion(versionOf(table, version))
  return table
}

/** The request that creates a version. */
export function versionOf(id: string[], version: number) {
  return { id, version, manifest_path: `m${version}`, manifest_size: version * 10 }
}

/** The numbers of a table's versions. */
export async function numbers(catalog: CatalogUnderTest, id: string[], branch?: string): Promise<number[]> {
  const { versions } = await catalog.listTableVersions({ id, branch })
  return versions.map(({ version }) => version)
}

/** Asserts that each attempt is refused with this code, and that nothing in the case's namespace changed. */
export async function unchanged(
  trial: CatalogTrial,
  code: ErrorCode | readonly ErrorCode[],
  attempts: readonly (() => Promise<unknown>)[],
  message?: RegExp,
): Promise<void> {
  const before = await inspect(trial)
  for (const attempt of attempts) await refused(attempt, code, message)
  assert.deepEqual(await inspect(trial), before)
}

/** All that the catalog reports about the content of the case's namespace. */
async function inspect(trial: CatalogTrial) {
  const { catalog, id, lacks } = trial
  const tables: Record<string, unknown> = {}
  for (const name of await tablesIn(trial)) {
    const table = id(...name)
    const told: unknown[] = [await catalog.describeTable({ id: table })]
    if (!lacks.has('listTableVersions'))
      told.push(withoutContexts((await catalog.listTableVersions({ id: table })).versions))
    if (!lacks.has('listTableTags')) told.push((await catalog.listTableTags({ id: table })).tags)
    if (!lacks.has('listTableBranches')) told.push((await catalog.listTableBranches({ id: table })).branches)
    tables[name.join('$')] = withoutContexts(told)
  }
  const { namespaces } = await catalog.listNamespaces({ id: id() })
  return { namespaces, tables }
}

/** A response without its contexts, which may differ between equal responses. */
export function withoutContexts(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, member) => (key === 'context' ? undefined : member)))
}

/** Modifies every part of a response: lists, objects and texts, but not bytes. */
export function changeAll(value: unknown): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  const members = value as Record<string, unknown>
  for (const [name, member] of Object.entries(value)) {
    changeAll(member)
    if (typeof member === 'string') members[name] = `${member}, changed`
  }
  if (Array.isArray(value)) value.push('changed')
  else members.changed = 'yes'
}

/** Test rows: `n` counts from `start`, `odd` is a flag, `text` is NULL in every third row. */
export function numbered(count: number, start = 0): Record<string, unknown>[] {
  return Array.from({ length: count }, (_, i) => {
    const n = start + i
    return { n, odd: n % 2 === 1, text: n % 3 === 0 ? null : `row ${n}` }
  })
}

/** How many rows a table has. */
export async function count(
  catalog: CatalogUnderTest,
  id: string[],
  request: { predicate?: string; version?: number; branch?: string } = {},
): Promise<number> {
  return (await catalog.countTableRows({ id, ...request })).count
}

/** A key of `order_by`. */
export type OrderKey = { column_name: string; ascending?: boolean; nulls_first?: boolean }

/** The rows of a response, with numbers for integers of any size. */
export async function answer(
  catalog: CatalogUnderTest,
  request: Parameters<CatalogUnderTest['queryTable']>[0],
): Promise<Record<string, unknown>[]> {
  const { tableFromIPC } = await import('@uwdata/flechette')
  const { data } = await catalog.queryTable(request)
  return tableFromIPC(data).toArray() as Record<string, unknown>[]
}

/** The operations that most cases of rows need. */
export const basic = ['createTable', 'countTableRows']
