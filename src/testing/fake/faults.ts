import { CatalogError, type ErrorCode, invalid } from '../../base/errors.ts'
import { inspected } from '../../base/inspected.ts'
import type { AnyOperation } from '../../catalog/index.ts'
import { errorStatuses, IcebergError, type IcebergErrorType } from '../../iceberg/errors.ts'
import { seededRandom } from '../suites/random.ts'
import { Waits } from './clock.ts'
import {
  type CallContext,
  checkFault,
  type EndpointCall,
  type Fault,
  type Matched,
  matches,
  matchesEndpoint,
} from './fault.ts'

/** A fault that is in force. */
export interface FaultHandle {
  /** `fault-1` and so on, in the order of `add`. */
  readonly id: string
  readonly fault: Fault
  /** How many calls it matched. Calls that its effect does not apply to are not counted. */
  readonly seen: number
  /** How many of them it affected. */
  readonly fired: number
  /** Resumes delayed calls, and makes the changes whose transactions stayed Running. Resolves when they are made. */
  release(): Promise<void>
  /** Removes the fault, and releases what it holds. */
  remove(): Promise<void>
}

/** The faults of a fake. */
export interface Faults {
  /**
   * Adds a fault for all later calls. Faults apply in the order of `add`, and their effects combine, until one fails
   * the call.
   *
   * ```ts
   * fake.faults.add({ operation: 'createTable', nth: 2, fail: 'ServiceUnavailable', when: 'after' })
   * ```
   */
  add(fault: Fault): FaultHandle
  /** Removes all faults, and releases what they hold. */
  clear(): Promise<void>
  /** The faults in force. */
  readonly all: readonly FaultHandle[]
  /** The faults that affected no call yet: `expect(fake.faults.unused()).toEqual([])`. */
  unused(): Fault[]
}

/** A change that was acknowledged but not yet made. */
export interface Held {
  /** Makes the change, unless it was canceled. */
  release(): Promise<void>
  /** Abandons the change. */
  drop(): void
}

const maxFaults = 1_000

export class ActiveFault implements FaultHandle {
  readonly id: string
  readonly fault: Fault
  seen = 0
  fired = 0
  /** How many calls it took, including those without an effect in the end. */
  #taken = 0
  readonly waits = new Waits()
  readonly held = new Set<Held>()
  /** The catalog when the fault was added, for `stale: 'state'`. */
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

  /** The members of the interface, for printing: `state` is a whole catalog. */
  toJSON(): Pick<FaultHandle, 'id' | 'fault' | 'seen' | 'fired'> {
    const { id, fault, seen, fired } = this
    return { id, fault, seen, fired }
  }

  [inspected](): unknown {
    return this.toJSON()
  }

  /** Counts a call if the fault matches it. Returns whether the fault takes it. */
  takes(call: Matched, operation: AnyOperation | undefined, context: CallContext): boolean {
    return matches(this.fault, call, operation, context) && this.#chooses()
  }

  /** As `takes`, for a request to an endpoint. */
  takesEndpoint(call: EndpointCall): boolean {
    return matchesEndpoint(this.fault, call) && this.#chooses()
  }

  /** Counts a matching call, and says whether the fault takes it. */
  #chooses(): boolean {
    const { fault } = this
    const { nth = 1, times = fault.nth === undefined ? Number.POSITIVE_INFINITY : 1, probability = 1 } = fault
    if (++this.seen < nth || this.#taken >= times) return false
    if (probability < 1 && this.#random() >= probability) return false
    this.#taken++
    return true
  }

  /** Uncounts a call that failed by itself, so that the fault had no effect. */
  uncount(): void {
    this.#taken--
  }

  /** The error to fail a call with. */
  error(operation: string): Error {
    const { fail, message, retryAfter } = this.fault
    if (fail instanceof Error) return fail
    const text =
      message ??
      `${operation} was failed by a fault of the fake catalog (${this.id}). Handle it as a server's ${fail}, or remove the fault.`
    return isIcebergType(fail!) ? new IcebergError(fail, text) : new FaultError(fail!, text, retryAfter)
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

function isIcebergType(fail: ErrorCode | IcebergErrorType): fail is IcebergErrorType {
  return Object.hasOwn(errorStatuses, fail)
}

/** The error of a fault. A server sends `seconds` as `Retry-After`. */
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

  [inspected](): unknown {
    return this.all
  }

  add(given: Fault): ActiveFault {
    const fault = checkFault(given)
    if (this.#active.length >= maxFaults)
      throw invalid(`There are ${maxFaults} faults already, which is the most. Remove some.`)
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

  /** Replaces all faults and restarts their numbering. Resumes delayed calls, and abandons held changes. */
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

  /** The faults that take a call, in the order of `add`, up to the first that fails it before it runs. */
  take(call: Matched, operation: AnyOperation | undefined, context: CallContext): ActiveFault[] {
    return this.#taken((active) => active.takes(call, operation, context))
  }

  /** As `take`, for a request to an endpoint of another protocol. */
  takeEndpoint(call: EndpointCall): ActiveFault[] {
    return this.#taken((active) => active.takesEndpoint(call))
  }

  #taken(takes: (active: ActiveFault) => boolean): ActiveFault[] {
    const found: ActiveFault[] = []
    for (const active of this.#active) {
      if (!takes(active)) continue
      found.push(active)
      if (active.fault.fail !== undefined && active.fault.when !== 'after') break
    }
    return found
  }
}
