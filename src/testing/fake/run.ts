import type { AnyOperation, OperationOptions } from '../../catalog/operations/framework/operation.ts'
import { runOperation } from '../../catalog/operations/framework/run.ts'
import type { ManualClock } from './clock.ts'
import type { ActiveFault } from './faults.ts'
import type { InternalOptions, Internals } from './internals.ts'
import { acknowledge, type RunningChange } from './running.ts'
import type { InOrder } from './turns.ts'
import { after } from './wait.ts'

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
export interface FaultedCall extends FakeCall {
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
  for (const fault of later) await applyEffect(clock, fault, name, options)
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
