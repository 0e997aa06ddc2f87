import { CatalogError } from '../../base/errors.ts'
import { keys, type TransactionRecord } from '../../base/store/records.ts'
import type { AnyOperation, OperationOptions } from '../../catalog/index.ts'
import { isAboutTransactions } from '../../catalog/index.ts'
import { runOperation } from '../../catalog/local.ts'
import { after, type ManualClock } from './clock.ts'
import type { ActiveFault } from './faults.ts'
import { forkInternals, type InternalOptions, type Internals } from './internals.ts'

/** A call of an operation. */
export interface FakeCall {
  readonly operation: AnyOperation
  readonly request: unknown
  readonly options: OperationOptions
  /** Runs the operation where it was called: on the catalog, or in a transaction. */
  readonly perform: (operation: AnyOperation, request: unknown, options: OperationOptions) => Promise<unknown>
  /** The transaction of `beginTransaction` that the call is part of, or ends. */
  readonly open: string | undefined
}

/** A call with faults, and what they work on. */
interface FaultedCall extends FakeCall {
  readonly inOrder: InOrder
  readonly internals: Internals
  readonly forkOptions: InternalOptions
  readonly clock: ManualClock
  readonly acknowledged: Acknowledged
}

/** The changes that were acknowledged but not yet made. */
export class Acknowledged {
  /** Changes that wait for a number of `describeTransaction` calls, by transaction. */
  readonly #described = new Map<string, { left: number; readonly release: () => Promise<void> }>()
  /** Changes that are being made. */
  readonly #ending = new Set<Promise<void>>()

  /** Whether no call has to wait for a change or count a describe. */
  get isEmpty(): boolean {
    return this.#described.size === 0 && this.#ending.size === 0
  }

  get isEnding(): boolean {
    return this.#ending.size > 0
  }

  /** Makes a change. Later calls see it. */
  end(change: RunningChange): Promise<void> {
    this.#described.delete(change.transactionId)
    const ending = change.release().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
    return ending
  }

  endAfterDescribes(id: string, left: number, release: () => Promise<void>): void {
    this.#described.set(id, { left, release })
  }

  /** Counts a `describeTransaction`. */
  countDescribe(id: unknown): void {
    const counted = Array.isArray(id) ? this.#described.get(id.at(-1)) : undefined
    // Not awaited: later calls wait until the change is made.
    if (counted && counted.left-- <= 0) void counted.release()
  }

  /** Resolves when no change is being made. */
  async settled(): Promise<void> {
    while (this.#ending.size > 0) await Promise.all(this.#ending)
  }

  clear(): void {
    this.#described.clear()
  }
}

/** Runs a call that faults took: effects before, the operation, effects after. */
export function runWithFaults(call: FaultedCall, faults: readonly ActiveFault[]): Promise<unknown> {
  const { clock, operation, options } = call
  return withEffects(clock, faults, operation.name, options, () => runOrReplace(call, faults))
}

/** Runs work between the `before` and the `after` effects of faults. */
export async function withEffects<T>(
  clock: ManualClock,
  faults: readonly ActiveFault[],
  name: string,
  options: OperationOptions,
  work: () => Promise<T>,
): Promise<T> {
  const [later, first] = partition(faults, ({ fault }) => fault.when === 'after')
  for (const fault of first) await applyEffect(clock, fault, name, options)
  let response: T
  try {
    response = await work()
  } catch (error) {
    for (const fault of later) fault.uncount()
    throw error
  }
  try {
    for (const fault of later) await applyEffect(clock, fault, name, options)
  } catch (error) {
    // The work is done, and its caller cannot know.
    if (error instanceof CatalogError && Object.isExtensible(error)) Object.assign(error, { mayBeDone: true })
    throw error
  }
  return response
}

/** Applies the delay and the failure of a fault. */
async function applyEffect(
  clock: ManualClock,
  active: ActiveFault,
  name: string,
  { signal }: OperationOptions,
): Promise<void> {
  const { delay, fail } = active.fault
  if (delay !== undefined || fail !== undefined) active.fired++
  if (delay !== undefined) await active.waits.wait(delay, clock, signal)
  if (fail !== undefined) throw active.error(name)
}

async function runOrReplace(call: FaultedCall, faults: readonly ActiveFault[]): Promise<unknown> {
  const { operation, request, options, perform, open, inOrder, internals } = call
  const expiring = faults.find(({ fault }) => fault.expired !== undefined)
  if (expiring && open !== undefined) {
    const { delay, fail } = expiring.fault
    if (delay === undefined && fail === undefined) expiring.fired++
    const { core } = internals
    await (await core.sessions.of(core)).expire(open)
  }
  const special = faults.find(({ fault }) => fault.stale !== undefined || fault.running !== undefined)
  if (special === undefined) return inOrder(operation.name, () => perform(operation, request, options))
  const { stale, delay, fail } = special.fault
  if (delay === undefined && fail === undefined) special.fired++
  if (stale === 'token') {
    const withExpiredToken = { ...(request as object), page_token: 'of-a-listing-that-is-gone' }
    return inOrder(operation.name, () => perform(operation, withExpiredToken, options))
  }
  if (stale === 'state') {
    const { core } = special.state as Internals
    return inOrder(operation.name, () => runOperation(core, operation, request, options))
  }
  const change = await acknowledge(call)
  if ('release' in change) hold(call, special, change)
  return change.response
}

/** Keeps a transaction Running until its fault's condition holds. */
function hold({ clock, acknowledged }: FaultedCall, active: ActiveFault, change: RunningChange): void {
  const { running } = active.fault
  let off = () => {}
  const release = () => {
    off()
    active.held.delete(held)
    return acknowledged.end(change)
  }
  const held = { release, drop: () => off() }
  active.held.add(held)
  if (running === true) return
  if (typeof running === 'object' && 'describes' in running) {
    acknowledged.endAfterDescribes(change.transactionId, running.describes, release)
  } else {
    off = after(running!, clock, release)
  }
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}

/** A change whose transaction stays Running. */
interface RunningChange {
  /** The response for the caller. */
  readonly response: unknown
  readonly transactionId: string
  /** Makes the change, unless it was canceled. */
  release(): Promise<void>
}

/**
 * Acknowledges a change without making it. A fork makes the change and yields the response. Here only its transaction
 * is visible, as Running. `release` makes the change with the same ids on the state at that time. If that fails, the
 * transaction is Failed.
 */
export async function acknowledge({
  operation,
  request,
  options,
  inOrder,
  internals,
  forkOptions,
}: FaultedCall): Promise<RunningChange | { readonly response: unknown }> {
  const given: string[] = []
  const newId = () => {
    const id = forkOptions.newId()
    given.push(id)
    return id
  }
  const copy = forkInternals(internals, { ...forkOptions, newId })
  const response = await inOrder(operation.name, () => runOperation(copy.core, operation, request, options))
  const { transaction_id: transactionId } = response as { transaction_id?: string }
  // Nothing had to change, so there is no transaction.
  if (transactionId === undefined) return { response }
  const key = keys.transaction(transactionId)
  const done = await copy.store.read((reader) => reader.get<TransactionRecord>(key))
  const { finished_at: _, lease_until: __, ...record } = done!
  await internals.store.write((writer) => writer.put(key, { ...record, status: 'Running' }))
  const { core } = internals
  let released: Promise<void> | undefined
  const make = async () => {
    const now = await core.store.read((reader) => reader.get<TransactionRecord>(key))
    if (now?.status !== 'Running') return
    const newId = () => given.shift() ?? forkOptions.newId()
    const replayed = { ...core, newId, newTableId: newId }
    const failure = await inOrder(operation.name, () => runOperation(replayed, operation, request, {})).then(
      () => undefined,
      failureOf,
    )
    await core.store.write((writer) => {
      const current = writer.get<TransactionRecord>(key)
      if (current?.status === 'Running') writer.put(key, finished(current, failure, core.now()))
    })
  }
  return {
    response,
    transactionId,
    release: () => {
      released ??= make()
      return released
    },
  }
}

function finished(
  { lease_until: _, ...record }: TransactionRecord,
  failure: TransactionRecord['failure'],
  now: number,
): TransactionRecord {
  return failure
    ? { ...record, status: 'Failed', finished_at: now, failure }
    : { ...record, status: 'Succeeded', finished_at: now }
}

function failureOf(error: unknown): NonNullable<TransactionRecord['failure']> {
  return error instanceof CatalogError
    ? { code: error.code, message: error.message.slice(0, 2_000) }
    : { code: 'Internal', message: 'An unexpected error.' }
}

/** Runs an operation of that name after those that were called before it. */
type InOrder = <T>(operation: string, run: () => Promise<T>) => Promise<T>

/**
 * Runs operations one at a time, in the order of their calls. Otherwise an operation yields after some milliseconds, so
 * the load of the machine would decide the order. Operations on transactions do not wait, since they may concern the
 * running operation.
 */
export function inOrder(): InOrder {
  let last: Promise<unknown> | undefined
  return (operation, run) => {
    if (isAboutTransactions(operation)) return run()
    const result = last === undefined ? run() : last.then(run, run)
    last = result
    const forget = () => {
      if (last === result) last = undefined
    }
    result.then(forget, forget)
    return result
  }
}
