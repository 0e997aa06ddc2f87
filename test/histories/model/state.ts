import type { ErrorCode } from '../../../src/base/errors.ts'
import type { Identifier } from '../../../src/base/model/identifier.ts'

/*
 * A catalog as an obvious, slow program would keep it: nested maps, copied before every change. What only the
 * real catalog knows is written as a symbol that begins with `#`: `#L3` a location it chose, `#T5` a
 * transaction's id, `#any` whatever it says.
 */

export interface Row {
  readonly id: number
  readonly note: string | null
  /** There when the table has the column. A row without it is null there. */
  readonly size?: number | null
}

/** A version of a table; `rows` are there when the catalog itself wrote it. */
export interface ModelVersion {
  readonly manifest: string
  readonly size?: number | undefined
  readonly etag?: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly rows?: readonly Row[]
  /** Whether it has the column `size`. */
  readonly sized?: boolean
  readonly schemaMetadata?: Readonly<Record<string, string>>
}

export interface ModelBranch {
  latest: number | null
  last: number | null
  readonly versions: Map<number, ModelVersion>
  readonly parent: { readonly branch: string; readonly version: number } | null
}

/** What is known of a table besides its name and location. */
export interface Registration {
  readonly properties: Readonly<Record<string, string>>
  /** The main branch is `''`. */
  readonly branches: Map<string, ModelBranch>
  readonly tags: Map<string, { readonly branch: string; readonly version: number }>
}

export interface ModelTable extends Registration {
  readonly kind: 'table'
  /** Tells it from others that come to have its name. */
  readonly key: number
  readonly location: string
  readonly registered: boolean
}

export interface ModelNamespace {
  readonly kind: 'namespace'
  readonly key: number
  readonly properties: Readonly<Record<string, string>>
  readonly children: Map<string, ModelNamespace | ModelTable>
}

export interface ModelTransaction {
  readonly operation: string
  readonly subject: Identifier
  /** The key of the table or namespace changed. */
  readonly subjectKey?: number | undefined
  /** The keys of the tables that a batch changed. */
  readonly batchKeys?: readonly (number | undefined)[] | undefined
  properties: Readonly<Record<string, string>>
}

export interface State {
  readonly root: ModelNamespace
  /** What deregistered tables left at their locations. */
  readonly deregistered: Map<string, Registration>
  readonly transactions: Map<string, ModelTransaction>
  /** The locations whose files a clone may name, by its own location. */
  readonly shares: Map<string, readonly string[]>
  /** How many symbols were given out. */
  symbols: number
  /** How many tables and namespaces there ever were. */
  keys: number
}

/** What a call came to, for what the catalog alone decides. */
export interface Told<Answer = unknown> {
  readonly answer?: Answer
  readonly error?: ErrorCode
  /** The item of a batch that failed. */
  readonly at?: string
  /** Where the content of dropped tables may be under way to be removed, as far as the call cannot wait for that. */
  readonly removing: readonly string[]
}

/** How the model says that an operation fails; `at` is the item of a batch that does. */
export class Refused extends Error {
  readonly code: ErrorCode
  readonly at: string | undefined
  constructor(code: ErrorCode, at?: string) {
    super(code)
    this.code = code
    this.at = at
  }
}

/** Does the items of a batch one by one. The first that fails is the one that the batch fails with. */
export function doEach<Item, Result>(
  list: string,
  items: readonly Item[],
  { error, at: failed, ...told }: Told,
  run: (item: Item, told: Told) => Result,
): Result[] {
  return items.map((item, index) => {
    const at = `${list}[${index}]`
    try {
      return run(item, { ...told, ...(error && failed === at && { error }) })
    } catch (refusal) {
      if (!(refusal instanceof Refused)) throw refusal
      throw new Refused(refusal.code, at)
    }
  })
}

export function emptyState(): State {
  return {
    root: { kind: 'namespace', key: 0, properties: {}, children: new Map() },
    deregistered: new Map(),
    transactions: new Map(),
    shares: new Map(),
    symbols: 0,
    keys: 0,
  }
}

export function symbol(state: State, kind: 'L' | 'T'): string {
  return `#${kind}${state.symbols++}`
}

export function newKey(state: State): number {
  return ++state.keys
}

/**
 * Records a change as the catalog does, and answers with its id as responses hold it. What was changed is what
 * has the subject's name now, unless it is given because it has left.
 */
export function recorded(
  state: State,
  operation: string,
  subject: Identifier,
  changed: { readonly key: number } | undefined = lookUp(state, subject),
  changedByBatch?: ReadonlySet<number | undefined>,
) {
  const transaction_id = symbol(state, 'T')
  const subjectKey = changed?.key
  // States hold lists and maps alone: these are copied.
  const batchKeys = changedByBatch && [...changedByBatch]
  state.transactions.set(transaction_id, { operation, subject, subjectKey, batchKeys, properties: {} })
  return { transaction_id }
}

export function lookUp(state: State, id: Identifier): ModelNamespace | ModelTable | undefined {
  let current: ModelNamespace | ModelTable | undefined = state.root
  for (const name of id) current = current?.kind === 'namespace' ? current.children.get(name) : undefined
  return current
}

export function findNamespace(state: State, id: Identifier): ModelNamespace {
  const found = lookUp(state, id)
  if (found?.kind !== 'namespace') throw new Refused('NamespaceNotFound')
  return found
}

export function findTable(state: State, id: Identifier): ModelTable {
  const found = lookUp(state, id)
  if (found?.kind !== 'table') throw new Refused('TableNotFound')
  return found
}

export function findBranch(table: Registration, branch: string): ModelBranch {
  const found = table.branches.get(branch)
  if (found === undefined) throw new Refused('TableBranchNotFound')
  return found
}

export function findVersion(table: Registration, branch: string, version?: number | null) {
  const { latest, versions } = findBranch(table, branch)
  const number = version ?? latest
  const found = number === null ? undefined : versions.get(number)
  if (number === null || found === undefined) throw new Refused('TableVersionNotFound')
  return { number, found }
}

export function findTag(table: Registration, tag: string) {
  const found = table.tags.get(tag)
  if (found === undefined) throw new Refused('TableTagNotFound')
  return found
}

export function nextVersion(branch: ModelBranch): number {
  return branch.last === null ? 1 : branch.last + 1
}

export function putVersion(branch: ModelBranch, number: number, version: ModelVersion): void {
  branch.versions.set(number, version)
  branch.latest = number
  branch.last = number
}

export function newBranch(parent: ModelBranch['parent'] = null): ModelBranch {
  return { latest: null, last: null, versions: new Map(), parent }
}

/** `main`, `''`, null and nothing at all mean the main branch. */
export function branchName(given: string | null | undefined): string {
  return given === undefined || given === null || given === 'main' ? '' : given
}

/** A table that has a name only. */
export function isDeclared(table: ModelTable): boolean {
  return table.branches.get('')!.latest === null && !table.registered
}

/** Lists what lies in and below a namespace, in the order of the names' UTF-8 bytes. */
export function* walk(
  namespace: ModelNamespace,
  path: Identifier,
): Generator<[Identifier, ModelNamespace | ModelTable]> {
  for (const name of [...namespace.children.keys()].sort(byBytes)) {
    const child = namespace.children.get(name)!
    yield [[...path, name], child]
    if (child.kind === 'namespace') yield* walk(child, [...path, name])
  }
}

/** Whether two locations are the same, or one lies within the other. */
export function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
