import { CatalogError } from '../../base/errors.ts'
import { ByteBudget } from '../../base/scheduling/byte-budget.ts'
import type { Limits } from '../options.ts'

/** Most milliseconds in which nothing moves. */
export interface Silences {
  /** Of a body that is still to come. */
  readonly upload: number
  /** Of a large answer that the client is still to read. */
  readonly download: number
}

/** Counts the requests under way, and refuses those that would be too many. */
export class AdmissionControl {
  readonly limits: Limits
  /** What all requests hold together: bodies, as they came and decoded, and answers under way. */
  readonly memory: ByteBudget
  readonly silences: Silences
  readonly #isLate: () => boolean
  #inFlight = 0
  #closing = false

  /** `isLate` tells whether the event loop is behind with its work. */
  constructor(limits: Limits, silences: Silences, isLate: () => boolean) {
    this.limits = limits
    this.silences = silences
    this.#isLate = isLate
    this.memory = new ByteBudget(limits.bodyBytes)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the server finishes the requests under way and takes no new ones. */
  get closing(): boolean {
    return this.#closing
  }

  /** Counts a request in. Fails with `Throttling`, or with `ServiceUnavailable` when closing. */
  enter(): void {
    if (this.#closing)
      throw new CatalogError('ServiceUnavailable', 'The server is shutting down. Try again in a moment.')
    if (this.#inFlight >= this.limits.inFlight)
      throw new Throttled('The server has as many requests as it takes at once')
    if (this.#isLate()) throw new Throttled('The server is behind with its work')
    this.#inFlight++
  }

  leave(): void {
    this.#inFlight--
  }

  close(): void {
    this.#closing = true
  }
}

/** The error that answers 503 "Slow down". */
export class Throttled extends CatalogError {
  /** The seconds after which to try again, where they are known. */
  readonly seconds: number | undefined

  constructor(why: string, seconds?: number) {
    super('Throttling', `${why}. Wait as long as Retry-After says, and send less at a time.`)
    this.seconds = seconds
  }
}
