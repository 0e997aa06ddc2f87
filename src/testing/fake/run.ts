import type { AnyOperation, OperationOptions } from '../../operations/support/operation.ts'
import { runOperation } from '../../operations/support/run.ts'
import type { ManualClock } from './clock.ts'
import type { ActiveFault } from './faults.ts'
import type { InsideOptions, Insides } from './insides.ts'
import { acknowledge, type RunningChange } from './running.ts'
import { after } from './wait.ts'

/** What calls with faults run on. */
export interface FaultGround {
  readonly insides: Insides
  readonly options: InsideOptions
  readonly clock: ManualClock
  readonly describes: Describes
}

/** Transactions that are done once they were described so often. */
export type Describes = Map<string, { left: number; readonly release: () => Promise<void> }>

/** Runs a call that faults took: what comes before, the operation in one way or another, what comes after. */
export async function runWithFaults(
  ground: FaultGround,
  faults: readonly ActiveFault[],
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const [later, first] = partition(faults, ({ fault }) => fault.when === 'after')
  for (const fault of first) await strike(ground, fault, operation, options)
  let response: unknown
  try {
    response = await runSomehow(ground, faults, operation, request, options)
  } catch (error) {
    for (const fault of later) fault.giveBack()
    throw error
  }
  for (const fault of later) await strike(ground, fault, operation, options)
  return response
}

/** Waits and fails, as a fault says. */
async function strike(
  { clock }: FaultGround,
  active: ActiveFault,
  operation: AnyOperation,
  { signal }: OperationOptions,
): Promise<void> {
  const { delay, fail } = active.fault
  if (delay !== undefined || fail !== undefined) active.fired++
  if (delay !== undefined) await active.waits.wait(delay, clock, signal)
  if (fail !== undefined) throw active.error(operation.name)
}

async function runSomehow(
  ground: FaultGround,
  faults: readonly ActiveFault[],
  operation: AnyOperation,
  request: unknown,
  options: OperationOptions,
): Promise<unknown> {
  const special = faults.find(({ fault }) => fault.stale !== undefined || fault.running !== undefined)
  if (special === undefined) return runOperation(ground.insides.core, operation, request, options)
  const { stale, delay, fail } = special.fault
  if (delay === undefined && fail === undefined) special.fired++
  if (stale === 'token') {
    const strange = { ...(request as object), page_token: 'of-a-listing-that-is-gone' }
    return runOperation(ground.insides.core, operation, strange, options)
  }
  if (stale === 'state') {
    return runOperation((special.state as Insides).core, operation, request, options)
  }
  const change = await acknowledge(ground.insides, ground.options, operation, request, options)
  if ('release' in change) hold(ground, special, change)
  return change.response
}

/** Keeps a transaction Running for as long as its fault says. */
function hold({ clock, describes }: FaultGround, active: ActiveFault, change: RunningChange): void {
  const { running } = active.fault
  let off = () => {}
  const release = () => {
    off()
    active.held.delete(held)
    describes.delete(change.transactionId)
    return change.release()
  }
  const held = { release, drop: () => off() }
  active.held.add(held)
  if (running === true) return
  if (typeof running === 'object' && 'describes' in running) {
    describes.set(change.transactionId, { left: running.describes, release })
  } else {
    off = after(running!, clock, release)
  }
}

function partition<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [items.filter(test), items.filter((item) => !test(item))]
}
