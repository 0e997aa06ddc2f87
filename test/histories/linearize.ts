import { type Identifier, sameNames } from '../../src/base/model/identifier.ts'
import { Binding } from './binding.ts'
import { type Command, type ModelOperation, type Outcome, predict } from './model/index.ts'
import { branchName, emptyState, type ModelTable, type Rules, type State, walk } from './model/state.ts'
import type { Request } from './model/types.ts'
import { outlasting, type Removals, removalsAfter, removingSince } from './removals.ts'

/** A possible state of the catalog: concurrent calls may have taken effect in several orders. */
export interface World {
  readonly state: State
  readonly binding: Binding
  readonly removals: Removals
  readonly former: readonly Former[]
}

/** A name that a table had, or the latest version of a branch, until a call that ended at `until`. */
interface Former {
  readonly key: number
  readonly until: number
  readonly path?: Identifier
  readonly latest?: { readonly branch: string; readonly version: number }
}

/** A new catalog. */
export function emptyWorld(pairs?: ConstructorParameters<typeof Binding>[0], rules?: Rules): World {
  return { state: emptyState(rules), binding: new Binding(pairs), removals: new Map(), former: [] }
}

/** The time span of a call, by a clock that all callers share. */
interface Span {
  readonly start: number
  readonly end: number
}

/** A call and its outcome. */
export interface SingleCall extends Span {
  readonly command: Command
  readonly outcome: Outcome
}

/** Calls that are committed together, or rolled back together. */
export interface TransactionCommand {
  readonly calls: readonly Command[]
  readonly commits: boolean
}

/** The outcomes of the calls of a transaction in its last run; null for a call that only a transaction refuses. */
export type Outcomes = readonly (Outcome | null)[]

/** A transaction and its outcome. */
export interface TransactionCall extends Span {
  readonly transaction: TransactionCommand
  readonly outcomes: Outcomes
}

/** A call or transaction, which takes effect atomically. */
export type Call = SingleCall | TransactionCall

/**
 * The worlds in which some serial order of the calls explains the outcomes. Each call takes effect at one moment
 * between its start and its end. All of them end before any later call begins. There is no world if the history is not
 * linearizable. Equal worlds are followed once. Source of the method: Wing and Gong, Testing and Verifying Concurrent
 * Objects, 1993; skipping of known states: Lowe, Testing for linearizability, 2017.
 */
export function linearize(worlds: readonly World[], calls: readonly Call[]): World[] {
  let frontier = worlds.map((world) => ({ world, left: calls, now: Number.NEGATIVE_INFINITY }))
  for (let done = 0; done < calls.length; done++) {
    const next = new Map<string, (typeof frontier)[number]>()
    for (const { world, left, now } of frontier) {
      const earliestEnd = Math.min(...left.map(({ end }) => end))
      for (const call of left) {
        // Calls that ended before this one began come first.
        if (call.start > earliestEnd) continue
        // It takes effect after all preceding calls, and so after they have begun.
        const earliest = Math.max(now, call.start)
        for (const after of steps(world, call, earliest)) {
          const rest = left.filter((other) => other !== call)
          next.set(placeOf(after, rest, calls), { world: after, left: rest, now: earliest })
        }
      }
    }
    frontier = [...next.values()]
  }
  return frontier.map(({ world }) => ({ ...world, removals: outlasting(world.removals), former: [] }))
}

/** The worlds after a call that took effect at `earliest` or later; none if its outcome would be another one. */
function steps(world: World, call: Call, earliest: number): World[] {
  if ('transaction' in call) {
    const after = stepAll(world, call, earliest)
    return after === undefined ? [] : [after]
  }
  const former = world.former.filter(({ until }) => until >= call.start)
  const requests = [undefined, ...requestsFor(world, call.command, former)]
  return requests.flatMap((request) => step(world, call, request) ?? [])
}

/** What a call may ask for, as it found the catalog when it began. */
function requestsFor({ state, binding }: World, command: Command, former: readonly Former[]): object[] {
  const { operation, request } = binding.toSymbols(command)
  if (rebased.has(operation)) {
    // A change of rows is of the table that had the name when the call began. It goes on when that is renamed.
    const { id } = request as { readonly id: Identifier }
    const keys = former.filter(({ path }) => path && sameNames(path, id)).map(({ key }) => key)
    return [...tablesOf(state)].flatMap(([path, { key }]) =>
      keys.includes(key) ? { ...request, id: path } : [],
    )
  }
  if (operation !== 'cloneTable') return []
  // A clone without a version or tag is of the version that was the latest when the call began.
  const asked = request as Request<'cloneTable'>
  if (asked.source_version != null || asked.source_tag != null) return []
  const branch = branchName(asked.source_branch)
  const found = [...tablesOf(state)].find(([path, { location }]) =>
    asked.source ? sameNames(path, asked.source) : location === asked.source_location,
  )
  return former.flatMap(({ key, latest }) =>
    key === found?.[1].key && latest?.branch === branch ? { ...request, source_version: latest.version } : [],
  )
}

/** The world after a call, perhaps with another request. */
function step(
  world: World,
  { command, outcome: actual, end }: SingleCall,
  request?: object,
): World | undefined {
  const { binding: known } = world
  const asked = known.toSymbols(command)
  const done = request === undefined ? asked : ({ ...asked, request } as Command)
  const predicted = predict(world.state, done, known.toSymbols(actual))
  const binding = known.copy()
  if (!binding.matches(predicted.outcome, actual)) return undefined
  const state = request === undefined ? predicted.state : withSubjectOf(asked, predicted.state)
  return {
    state,
    binding,
    removals: removalsAfter(world.state, state, world.removals, end),
    former: [...world.former, ...formerIn(world.state, state, end)],
  }
}

/** The state after a change whose record has the name that the caller gave. */
function withSubjectOf({ request }: Command, state: State): State {
  const [id, last] = [...state.transactions].at(-1)!
  const { id: subject } = request as { readonly id: Identifier }
  return { ...state, transactions: new Map(state.transactions).set(id, { ...last, subject }) }
}

/** What a call changed of names and latest versions. */
function formerIn(before: State, after: State, until: number): Former[] {
  if (before === after) return []
  const now = new Map(Array.from(tablesOf(after), ([path, table]) => [table.key, { path, table }]))
  return [...tablesOf(before)].flatMap(([path, { key, branches }]) => {
    const left = now.get(key)
    if (left === undefined) return []
    const moved = sameNames(path, left.path) ? [] : [{ key, until, path }]
    const latest = [...branches].flatMap(([branch, { latest }]) =>
      latest === null || left.table.branches.get(branch)?.latest === latest
        ? []
        : { key, until, latest: { branch, version: latest } },
    )
    return [...moved, ...latest]
  })
}

/** The tables with their paths. */
function* tablesOf({ root }: State): Generator<readonly [Identifier, ModelTable]> {
  for (const [path, found] of walk(root, [])) if (found.kind === 'table') yield [path, found]
}

/** The world after a whole transaction. */
function stepAll(
  before: World,
  { transaction: { calls, commits }, outcomes, end }: TransactionCall,
  earliest: number,
): World | undefined {
  let { state, removals, former } = before
  const binding = before.binding.copy()
  // A single call waits for a removal. A call inside a transaction cannot, since it sees a fixed snapshot.
  const removing = removingSince(removals, earliest)
  const held: HeldInserts = new Map()
  for (const [i, command] of calls.entries()) {
    const actual = outcomes[i]
    if (!actual) {
      held.clear()
      continue
    }
    const asked = binding.toSymbols(command)
    const predicted = predict(state, asked, binding.toSymbols(actual), removing)
    if ('answer' in predicted.outcome) mergeInserts(state, predicted.state, asked, actual, held)
    else held.clear()
    if (!binding.matches(settled(command, predicted.outcome), settled(command, actual))) return undefined
    removals = removalsAfter(state, predicted.state, removals, end)
    former = [...former, ...formerIn(state, predicted.state, end)]
    state = predicted.state
  }
  // A rollback discards the changes and their ids.
  return commits ? { state, binding, removals, former } : before
}

/** The versions that inserts of this transaction named, by table and branch, as long as nothing else follows. */
type HeldInserts = Map<string, number>

/**
 * Puts the rows of an insert into the version of the insert before, if both named the same one, and nothing but inserts
 * came in between. Others may have created a declared table first, so the model cannot know which inserts are one.
 */
function mergeInserts(
  before: State,
  after: State,
  { operation, request }: Command,
  actual: Outcome,
  held: HeldInserts,
): void {
  const { id, branch: name } = request as Request<'insertIntoTable'>
  const table = operation === 'insertIntoTable' ? tableAt(after, id) : undefined
  if (!table || !('answer' in actual)) {
    held.clear()
    return
  }
  const key = `${table.key}/${branchName(name)}`
  const { version } = actual.answer as { version: number }
  const isMerged = held.get(key) === version
  held.set(key, version)
  const latest = tableAt(before, id)?.branches.get(branchName(name))?.latest
  if (!isMerged || latest == null) return
  const branch = table.branches.get(branchName(name))!
  branch.versions.set(latest, branch.versions.get(branch.latest!)!)
  branch.versions.delete(branch.latest!)
  branch.latest = latest
  branch.last = latest
}

function tableAt(state: State, id: Identifier): ModelTable | undefined {
  return [...tablesOf(state)].find(([path]) => sameNames(path, id))?.[1]
}

/** Operations that others may commit first. Then the version in the response is not the next one any more. */
const rebased: ReadonlySet<ModelOperation> = new Set([
  'createTable',
  'insertIntoTable',
  'deleteFromTable',
  'updateTable',
  'mergeInsertIntoTable',
  'alterTableAddColumns',
  'alterTableAlterColumns',
  'alterTableDropColumns',
  'updateFieldMetadata',
])

/** An outcome without the values that only the commit determines. */
function settled({ operation }: Command, outcome: Outcome): Outcome {
  if (!('answer' in outcome) || !rebased.has(operation)) return outcome
  const { version: _, ...answer } = outcome.answer as { version?: number }
  return { answer }
}

/** A key that is equal for equivalent states of the search. */
function placeOf(world: World, left: readonly Call[], calls: readonly Call[]): string {
  return `${left.map((call) => calls.indexOf(call))} ${contentOf(world)}`
}

/** The content of a world, with the strings of the real catalog. */
function contentOf({ state, binding, removals, former }: World): string {
  const { root, deregistered, transactions, shares, held, answers } = binding.toReal(plain(state)) as State
  return JSON.stringify([
    root,
    deregistered,
    transactions,
    shares,
    held,
    answers,
    binding.toReal(plain(removals)),
    former,
  ])
}

/** A value with its maps as lists of pairs. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Array.from(value, ([key, item]) => [key, plain(item)]).sort()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
