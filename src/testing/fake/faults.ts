import { CatalogError, invalid } from '../../base/errors.ts'
import type { AnyOperation } from '../../catalog/operations/framework/operation.ts'
import { seededRandom } from '../suites/random.ts'
import { checkFault, type Fault, isFor, type Matched, type Place } from './fault.ts'
import { Waits } from './wait.ts'

/** A fault that is in force. */
export interface FaultHandle {
  /** `fault-1` and so on, in the order they were added. */
  readonly id: string
  readonly fault: Fault
  /** How many calls it is for have come. Calls that its effect cannot happen to are not counted. */
  readonly seen: number
  /** How many of them it touched. */
  readonly fired: number
  /** Lets go what it holds: delayed calls go on, and transactions that stayed Running are done when this resolves. */
  release(): Promise<void>
  /** Takes it away, and releases what it holds. */
  remove(): Promise<void>
}

/** What goes wrong in a fake, on demand. */
export interface Faults {
  /**
   * Adds a fault; it is in force for calls from now on. Faults are asked in the order they were added, and
   * their effects add up, until one fails the call.
   *
   * ```ts
   * fake.faults.add({ operation: 'createTable', nth: 2, fail: 'ServiceUnavailable', when: 'after' })
   * ```
   */
  add(fault: Fault): FaultHandle
  /** Takes all faults away, and releases what they hold. */
  clear(): Promise<void>
  /** The faults in force. */
  readonly all: readonly FaultHandle[]
  /** The faults that touched no call yet: `expect(fake.faults.unused()).toEqual([])`. */
  unused(): Fault[]
}

/** A change that was acknowledged and is not made yet. */
export interface Held {
  /** Makes it, unless it was canceled. */
  release(): Promise<void>
  /** Gives it up. */
  drop(): void
}

const mostFaults = 1_000

export class ActiveFault implements FaultHandle {
  readonly id: string
  readonly fault: Fault
  seen = 0
  fired = 0
  /** How many calls it took, those included that it had no effect on in the end. */
  #taken = 0
  readonly waits = new Waits()
  readonly held = new Set<Held>()
  /** What the catalog held when the fault was added, for those that answer from it. */
  readonly state: unknown
  readonly #random: () => number
  readonly #remove: (fault: ActiveFault) => void

  constructor(n: number, fault: Fault, seed: number, state: unknown, remove: (fault: ActiveFault) => void) {
    this.id = `fault-${n}`
    this.fault = fault
    this.state = state
    this.#random = seededRandom(seed + n * 0x9e3779b9)
    this.#remove = remove
  }

  /** Whether it takes this call; counts it. */
  takes(call: Matched, operation: AnyOperation | undefined, place: Place): boolean {
    const { fault } = this
    if (!isFor(fault, call, operation, place)) return false
    const { nth = 1, times = fault.nth === undefined ? Number.POSITIVE_INFINITY : 1, probability = 1 } = fault
    if (++this.seen < nth || this.#taken >= times) return false
    if (probability < 1 && this.#random() >= probability) return false
    this.#taken++
    return true
  }

  /** Gives a call back that it had no effect on, since it failed by itself. */
  giveBack(): void {
    this.#taken--
  }

  /** What `fail` is. */
  error(operation: string): Error {
    const { fail, message, retryAfter } = this.fault
    if (fail instanceof Error) return fail
    return new FaultError(
      fail!,
      message ??
        `${operation} was failed by a fault of the fake catalog (${this.id}). Handle it as a server's ${fail}, or remove the fault.`,
      retryAfter,
    )
  }

  async release(): Promise<void> {
    this.waits.release()
    await Promise.all(Array.from(this.held, (held) => held.release()))
  }

  remove(): Promise<void> {
    this.#remove(this)
    return this.release()
  }
}

/** The error of a fault; a server tells its seconds as `Retry-After`. */
class FaultError extends CatalogError {
  readonly seconds: number | undefined

  constructor(code: CatalogError['code'], message: string, seconds: number | undefined) {
    super(code, message)
    this.seconds = seconds
  }
}

export class FaultSet implements Faults {
  #active: ActiveFault[] = []
  #added = 0
  readonly #seed: number
  readonly #freeze: () => unknown

  constructor(seed: number, freeze: () => unknown) {
    this.#seed = seed
    this.#freeze = freeze
  }

  get isEmpty(): boolean {
    return this.#active.length === 0
  }

  get all(): readonly ActiveFault[] {
    return [...this.#active]
  }

  add(given: Fault): ActiveFault {
    const fault = checkFault(given)
    if (this.#active.length >= mostFaults)
      throw invalid(`There are ${mostFaults} faults already, which is the most. Remove some.`)
    const state = fault.stale === 'state' ? this.#freeze() : undefined
    const active = new ActiveFault(++this.#added, fault, this.#seed, state, (gone) => {
      this.#active = this.#active.filter((other) => other !== gone)
    })
    this.#active.push(active)
    return active
  }

  async clear(): Promise<void> {
    const gone = this.#active
    this.#active = []
    await Promise.all(gone.map((fault) => fault.release()))
  }

  /** Takes all faults away and puts these in their place, as if they were the first. What is held is given up. */
  reset(faults: readonly Fault[]): void {
    for (const { waits, held } of this.#active) {
      waits.release()
      for (const change of held) change.drop()
    }
    this.#active = []
    this.#added = 0
    for (const fault of faults) this.add(fault)
  }

  unused(): Fault[] {
    return this.#active.filter(({ fired }) => fired === 0).map(({ fault }) => fault)
  }

  /** The faults that take a call, in the order they were added, up to the one that fails it at once. */
  taking(call: Matched, operation: AnyOperation | undefined, place: Place): ActiveFault[] {
    const found: ActiveFault[] = []
    for (const active of this.#active) {
      if (!active.takes(call, operation, place)) continue
      found.push(active)
      if (active.fault.fail !== undefined && active.fault.when !== 'after') break
    }
    return found
  }
}
