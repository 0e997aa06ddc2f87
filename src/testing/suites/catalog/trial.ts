import assert from 'node:assert/strict'
import type { OperationMethods } from '../../../catalog/handle.ts'
import type { ErrorCode } from '../../../errors.ts'
import type { OperationName } from '../../../operations/index.ts'
import { refused } from '../checks.ts'

/** What the catalog suite judges: a handle, or anything that has its methods. */
export type CatalogUnderTest = OperationMethods & { close?(): Promise<void> }

/** What a case of the catalog suite works on. */
export interface CatalogTrial {
  readonly catalog: CatalogUnderTest
  /** A namespace of the case's own, empty when it begins, so that a catalog may hold other things too. */
  readonly home: readonly string[]
  /** The identifier of a name, or of several below each other, in that namespace. */
  readonly id: (...names: string[]) => string[]
  readonly lacks: ReadonlySet<OperationName>
}

/** The identifiers of all tables in the case's namespace, below it, walked page by page. */
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

/** All pages of a listing, to its end. */
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

/** A declared table that got these versions. */
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

/** All that a catalog tells of what is in the case's namespace. */
async function inspect(trial: CatalogTrial) {
  const { catalog, id, lacks } = trial
  const tables: Record<string, unknown> = {}
  for (const name of await tablesIn(trial)) {
    const table = id(...name)
    const told: unknown[] = [await catalog.describeTable({ id: table })]
    if (!lacks.has('listTableVersions'))
      told.push(plain((await catalog.listTableVersions({ id: table })).versions))
    if (!lacks.has('listTableTags')) told.push((await catalog.listTableTags({ id: table })).tags)
    if (!lacks.has('listTableBranches')) told.push((await catalog.listTableBranches({ id: table })).branches)
    tables[name.join('$')] = plain(told)
  }
  const { namespaces } = await catalog.listNamespaces({ id: id() })
  return { namespaces, tables }
}

/** Without the contexts, which may differ from answer to answer. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, member) => (key === 'context' ? undefined : member)))
}
