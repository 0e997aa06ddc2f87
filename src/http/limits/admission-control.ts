import { CatalogError } from '../../errors.ts'
import type { Limits } from '../options.ts'

/** Counts the requests under way, and refuses those that would be too many. */
export class AdmissionControl {
  readonly limits: Limits
  readonly bodies: ByteBudget
  readonly #isLate: () => boolean
  #inFlight = 0
  #closing = false

  /** `isLate` tells whether the event loop is behind with its work. */
  constructor(limits: Limits, isLate: () => boolean = () => false) {
    this.limits = limits
    this.#isLate = isLate
    this.bodies = new ByteBudget(limits.bodyBytes)
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

/** Most milliseconds to wait for room. */
const mostWait = 30_000

/** Bytes that may be held at once. Requests get them in the order in which they ask. */
class ByteBudget {
  readonly #total: number
  #used = 0
  readonly #waiting: { readonly bytes: number; readonly grant: () => void }[] = []

  constructor(total: number) {
    this.#total = total
  }

  get used(): number {
    return this.#used
  }

  /** Takes that many bytes as soon as there is room. Fails with `Throttling` when that takes too long. */
  take(bytes: number): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.tryTake(bytes)) return undefined
    return new Promise((resolve, reject) => {
      const waiter = {
        bytes,
        grant: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        this.#serve()
        reject(new Throttled('The server holds as much data as it takes at once'))
      }, mostWait)
      this.#waiting.push(waiter)
    })
  }

  /** Takes that many bytes if there is room now. */
  tryTake(bytes: number): boolean {
    if (this.#used + bytes > this.#total) return false
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
    this.#serve()
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.tryTake(this.#waiting[0]!.bytes)) this.#waiting.shift()!.grant()
  }
}
