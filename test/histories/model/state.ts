import type { ErrorCode } from '../../../src/base/errors.ts'
import type { Identifier } from '../../../src/base/model/identifier.ts'

/*
 * A catalog as a simple, slow program: nested maps, copied before every change. Values that only the real catalog knows
 * are symbols that begin with `#`: `#L3` a location that it chose, `#T5` a transaction's id, `#any` any value.
 */

export interface Row {
  readonly id: number
  readonly note: string | null
  /** Present if the table has the column. A row without it has null there. */
  readonly size?: number | null
}

/** A version of a table. `rows` is present if the catalog itself wrote it. */
export interface ModelVersion {
  readonly manifest: string
  readonly size?: number | undefined
  readonly etag?: string | undefined
  readonly metadata: Readonly<Record<string, string>>
  readonly rows?: readonly Row[]
  /** Whether it has the column `size`. */
  readonly sized?: boolean
  readonly schemaMetadata?: Readonly<Record<string, string>>
  /** When it was made. */
  readonly at: number
}

export interface ModelBranch {
  latest: number | null
  last: number | null
  readonly versions: Map<number, ModelVersion>
  readonly parent: { readonly branch: string; readonly version: number } | null
}

/** The state of a table besides its name and location. */
export interface Registration {
  properties: Readonly<Record<string, string>>
  /** The main branch is `''`. */
  readonly branches: Map<string, ModelBranch>
  readonly tags: Map<string, { readonly branch: string; readonly version: number }>
}

export interface ModelTable extends Registration {
  readonly kind: 'table'
  /** Distinguishes it from later tables with its name. */
  readonly key: number
  readonly location: string
  readonly registered: boolean
}

export interface ModelNamespace {
  readonly kind: 'namespace'
  readonly key: number
  properties: Readonly<Record<string, string>>
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

/** A dropped table that is held. */
export interface HeldTable {
  readonly id: Identifier
  readonly table: ModelTable
  readonly at: number
  readonly until: number
}

/** The first answer to a request with an idempotency key. */
interface KeptAnswer {
  readonly request: string
  readonly answer: unknown
  readonly at: number
}

/** The options of the catalog that the model knows. */
export interface Rules {
  readonly retainDropped?: number
  readonly retention?: RetentionRule
}

export interface RetentionRule {
  readonly versions?: number
  readonly age?: number
}

export interface State {
  readonly rules: Rules
  /** When the change is committed. Histories without a manual clock leave it at 0. */
  now: number
  /** When the operation runs: earlier than `now` within a transaction. */
  called: number
  held: HeldTable[]
  readonly answers: Map<string, KeptAnswer>
  readonly root: ModelNamespace
  /** The content of deregistered tables, by location. */
  readonly deregistered: Map<string, Registration>
  readonly transactions: Map<string, ModelTransaction>
  /** The locations whose files a clone may refer to, by its own location. */
  readonly shares: Map<string, readonly string[]>
  /** How many symbols were allocated. */
  symbols: number
  /** How many tables and namespaces were ever created. */
  keys: number
}

/** The actual outcome of a call, for decisions that only the catalog can make. */
export interface Actual<Answer = unknown> {
  readonly answer?: Answer
  readonly error?: ErrorCode
  /** The item of a batch that failed. */
  readonly at?: string
  /** The locations where content of dropped tables may still be in removal, if the call cannot wait for that. */
  readonly removing: readonly string[]
}

/** A failure of an operation in the model. `at` is the failed item of a batch. */
export class Refused extends Error {
  readonly code: ErrorCode
  readonly at: string | undefined
  constructor(code: ErrorCode, at?: string) {
    super(code)
    this.code = code
    this.at = at
  }
}

/** Runs the items of a batch in sequence. The batch fails with the first failed item. */
export function doEach<Item, Result>(
  list: string,
  items: readonly Item[],
  { error, at: failed, ...actual }: Actual,
  run: (item: Item, actual: Actual) => Result,
): Result[] {
  return items.map((item, index) => {
    const at = `${list}[${index}]`
    try {
      return run(item, { ...actual, ...(error && failed === at && { error }) })
    } catch (refusal) {
      if (!(refusal instanceof Refused)) throw refusal
      throw new Refused(refusal.code, at)
    }
  })
}

export function emptyState(rules: Rules = {}): State {
  return {
    rules,
    now: 0,
    called: 0,
    held: [],
    answers: new Map(),
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
 * Records a change like the catalog, and returns its id as in responses. The changed object is the one that has the
 * subject's name now, unless it is passed because it is gone.
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
  // States consist of lists and maps only.
  const batchKeys = changedByBatch && [...changedByBatch]
  state.transactions.set(transaction_id, { operation, subject, subjectKey, batchKeys, properties: {} })
  return { transaction_id }
}

/** Sets and removes properties of a table or namespace. */
export function changeProperties(
  state: State,
  { operation, id }: { readonly operation: string; readonly id: Identifier },
  subject: ModelNamespace | ModelTable,
  { updates, removals }: PropertiesRequest,
) {
  const set = Object.entries(updates ?? {})
  const names = [...new Set(removals)]
  if (set.some(([name]) => names.includes(name))) throw new Refused('InvalidInput')
  const before = new Map(Object.entries(subject.properties))
  const after = new Map([...before, ...set])
  for (const name of names) after.delete(name)
  if (subject.kind === 'table' && before.get('table_type') !== after.get('table_type'))
    throw new Refused('InvalidInput')
  const answer = {
    properties: Object.fromEntries(after),
    missing: names.filter((name) => !before.has(name)),
  }
  const isSame = before.size === after.size && [...after].every(([name, value]) => before.get(name) === value)
  if (isSame) return answer
  subject.properties = answer.properties
  return { ...answer, ...recorded(state, operation, id, subject) }
}

interface PropertiesRequest {
  readonly updates?: Readonly<Record<string, string>> | null | undefined
  readonly removals?: readonly string[] | null | undefined
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

/** Refuses a name that is taken, by a table or by a namespace. */
export function requireFree(
  state: State,
  id: Identifier,
  code: 'TableAlreadyExists' | 'NamespaceAlreadyExists',
): void {
  if (lookUp(state, id) !== undefined) throw new Refused(code)
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

/** What a request names a version by. */
interface Wanted {
  readonly branch?: string | null | undefined
  readonly version?: number | null | undefined
  readonly tag?: string | null | undefined
  readonly at?: string | Date | null | undefined
}

/** The branch and number of the version that a request means; no number for the latest. */
export function wantedVersion(
  state: State,
  table: Registration,
  asked: Wanted,
): { readonly branch: string; readonly version: number | null } {
  const branch = branchName(asked.branch)
  const version = asked.version ?? null
  if (asked.at != null) {
    if (version !== null || asked.tag != null) throw new Refused('InvalidInput')
    return { branch, version: versionAt(state, findBranch(table, branch), String(asked.at)) }
  }
  if (asked.tag == null) return { branch, version }
  if (version !== null || branch !== '') throw new Refused('InvalidInput')
  return findTag(table, asked.tag)
}

/** The newest version that was made until a time. A version that is gone is not answered by its neighbour. */
function versionAt({ called }: State, { latest, versions }: ModelBranch, at: string): number | null {
  if (latest === null) return null
  const time = Date.parse(at)
  if (time > called) throw new Refused('InvalidInput')
  const until = [...versions.keys()].filter((number) => versions.get(number)!.at <= time)
  const found = Math.max(...until)
  if (found === latest) return latest
  if (until.length === 0 || !versions.has(found + 1)) throw new Refused('TableVersionNotFound')
  return found
}

export function findTag(table: Registration, tag: string) {
  const found = table.tags.get(tag)
  if (found === undefined) throw new Refused('TableTagNotFound')
  return found
}

export function nextVersion(branch: ModelBranch): number {
  return branch.last === null ? 1 : branch.last + 1
}

/** Adds a version, which is no earlier than the one before it. */
export function putVersion(
  { now }: State,
  branch: ModelBranch,
  number: number,
  version: Omit<ModelVersion, 'at'>,
): void {
  const before = branch.latest === null ? undefined : branch.versions.get(branch.latest)
  branch.versions.set(number, { ...version, at: Math.max(before?.at ?? now, now) })
  branch.latest = number
  branch.last = number
}

export function newBranch(parent: ModelBranch['parent'] = null): ModelBranch {
  return { latest: null, last: null, versions: new Map(), parent }
}

/** `main`, `''`, null and undefined mean the main branch. */
export function branchName(given: string | null | undefined): string {
  return given === undefined || given === null || given === 'main' ? '' : given
}

/** A declared table without content. */
export function isDeclared(table: ModelTable): boolean {
  return table.branches.get('')!.latest === null && !table.registered
}

/** Lists everything in and below a namespace, in the order of the names' UTF-8 bytes. */
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

/** Whether two locations are equal, or one contains the other. */
export function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
