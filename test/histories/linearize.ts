import { Binding } from './binding.ts'
import { type Command, type ModelOperation, type Outcome, predict } from './model/index.ts'
import { emptyState, type State, walk } from './model/state.ts'
import { outlasting, type Removals, removalsAfter, removingSince } from './removals.ts'

/** A possible state of the catalog: concurrent calls may have taken effect in several orders. */
export interface World {
  readonly state: State
  readonly binding: Binding
  readonly removals: Removals
  readonly moves: readonly Move[]
}

/** A table that got another name. `until` is the end of the call. */
interface Move {
  readonly from: readonly string[]
  readonly key: number
  readonly until: number
}

/** A new catalog. */
export function emptyWorld(pairs?: ConstructorParameters<typeof Binding>[0]): World {
  return { state: emptyState(), binding: new Binding(pairs), removals: new Map(), moves: [] }
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
  return frontier.map(({ world }) => ({ ...world, removals: outlasting(world.removals), moves: [] }))
}

/** The worlds after a call that took effect at `earliest` or later; none if its outcome would be another one. */
function steps(world: World, call: Call, earliest: number): World[] {
  if ('transaction' in call) return [stepAll(world, call, earliest) ?? []].flat()
  const { command, start } = call
  if (!rebased.has(command.operation)) return [step(world, call) ?? []].flat()
  // A change of rows is of the table that had the name when the call began. It goes on when that is renamed.
  const { id } = command.request as { readonly id: readonly string[] }
  const paths = world.moves
    .filter(({ from, until }) => until >= start && isSame(from, id))
    .flatMap(({ key }) => [...pathsOf(world.state)].flatMap(([path, other]) => (other === key ? [path] : [])))
  return [undefined, ...paths].flatMap((path) => step(world, call, path) ?? [])
}

/** The world after a call, perhaps on a table that has another name now. */
function step(
  world: World,
  { command, outcome: actual, end }: SingleCall,
  path?: readonly string[],
): World | undefined {
  const { binding: known } = world
  const done = path === undefined ? command : { ...command, request: { ...command.request, id: path } }
  const predicted = predict(world.state, known.toSymbols(done as Command), known.toSymbols(actual))
  const binding = known.copy()
  if (!binding.matches(predicted.outcome, actual)) return undefined
  const state = path === undefined ? predicted.state : withSubjectOf(command, predicted.state)
  return {
    state,
    binding,
    removals: removalsAfter(world.state, state, world.removals, end),
    moves: [...world.moves, ...movesIn(command, world.state, state, end)],
  }
}

/** The state after a change whose record has the name that the caller gave. */
function withSubjectOf({ request }: Command, state: State): State {
  const [id, last] = [...state.transactions].at(-1)!
  const { id: subject } = request as { readonly id: readonly string[] }
  return { ...state, transactions: new Map(state.transactions).set(id, { ...last, subject }) }
}

function movesIn({ operation }: Command, before: State, after: State, until: number): Move[] {
  if (operation !== 'renameTable') return []
  const now = new Map(Array.from(pathsOf(after), ([path, key]) => [key, path]))
  return Array.from(pathsOf(before))
    .filter(([path, key]) => now.has(key) && !isSame(path, now.get(key)!))
    .map(([from, key]) => ({ from, key, until }))
}

/** The tables by their paths, with their keys. */
function* pathsOf({ root }: State): Generator<readonly [readonly string[], number]> {
  for (const [path, found] of walk(root, [])) if (found.kind === 'table') yield [path, found.key]
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((name, i) => name === other[i])
}

/** The world after a whole transaction. */
function stepAll(
  before: World,
  { transaction: { calls, commits }, outcomes, end }: TransactionCall,
  earliest: number,
): World | undefined {
  let { state, removals, moves } = before
  const binding = before.binding.copy()
  // A single call waits for a removal. A call inside a transaction cannot, since it sees a fixed snapshot.
  const removing = removingSince(removals, earliest)
  for (const [i, command] of calls.entries()) {
    const actual = outcomes[i]
    if (!actual) continue
    const predicted = predict(state, binding.toSymbols(command), binding.toSymbols(actual), removing)
    if (!binding.matches(settled(command, predicted.outcome), settled(command, actual))) return undefined
    removals = removalsAfter(state, predicted.state, removals, end)
    moves = [...moves, ...movesIn(command, state, predicted.state, end)]
    state = predicted.state
  }
  // A rollback discards the changes and their ids.
  return commits ? { state, binding, removals, moves } : before
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
function contentOf({ state, binding, removals, moves }: World): string {
  const { root, deregistered, transactions, shares } = binding.toReal(plain(state)) as State
  return JSON.stringify([root, deregistered, transactions, shares, binding.toReal(plain(removals)), moves])
}

/** A value with its maps as lists of pairs. */
function plain(value: unknown): unknown {
  if (value instanceof Map) return Array.from(value, ([key, item]) => [key, plain(item)]).sort()
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
