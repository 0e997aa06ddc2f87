import { CatalogError } from '../../base/errors.ts'
import { ByteBudget } from '../../base/scheduling/byte-budget.ts'
import type { Limits } from '../options.ts'

/** Idle timeouts of transfers, in milliseconds. */
export interface Silences {
  /** For the body of a request. */
  readonly upload: number
  /** For a large answer that the client reads. */
  readonly download: number
}

/** Counts the requests in flight, and refuses those above the limits. */
export class AdmissionControl {
  readonly limits: Limits
  /** The memory budget of all requests: bodies, as received and decoded, and answers in flight. */
  readonly memory: ByteBudget
  readonly silences: Silences
  readonly #isLate: () => boolean
  #inFlight = 0
  #closing = false

  /** `isLate` returns whether the event loop is late. */
  constructor(limits: Limits, silences: Silences, isLate: () => boolean) {
    this.limits = limits
    this.silences = silences
    this.#isLate = isLate
    this.memory = new ByteBudget(limits.bodyBytes)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the server finishes the requests in flight and refuses new ones. */
  get closing(): boolean {
    return this.#closing
  }

  /** Admits a request. Fails with `Throttling` above a limit, and with `ServiceUnavailable` when closing. */
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

/** An error with status 503 "Slow down". */
export class Throttled extends CatalogError {
  /** The delay before a retry, in seconds, if it is known. */
  readonly seconds: number | undefined

  constructor(why: string, seconds?: number) {
    super('Throttling', `${why}. Wait as long as Retry-After says, and send less at a time.`)
    this.seconds = seconds
  }
}
