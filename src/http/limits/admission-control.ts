import { CatalogError } from '../../errors.ts'
import type { Limits } from '../options.ts'

/** Keeps count of what is under way, and refuses what would be too much. */
export class Gate {
  readonly limits: Limits
  readonly bodies: ByteBudget
  #inFlight = 0
  #closing = false

  readonly #late: () => boolean

  /** `late` tells whether the event loop is behind with its work. */
  constructor(limits: Limits, late: () => boolean = () => false) {
    this.limits = limits
    this.#late = late
    this.bodies = new ByteBudget(limits.bodyBytes)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Whether the server finishes what runs and takes nothing new. */
  get closing(): boolean {
    return this.#closing
  }

  /** Lets a request in, or fails with `Throttling`, or `ServiceUnavailable` when closing. */
  enter(): void {
    if (this.#closing)
      throw new CatalogError('ServiceUnavailable', 'The server is shutting down. Try again in a moment.')
    if (this.#inFlight >= this.limits.inFlight)
      throw new TooMuch('The server has as many requests as it takes at once')
    if (this.#late()) throw new TooMuch('The server is behind with its work')
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
export class TooMuch extends CatalogError {
  /** The seconds after which to try again, where they are known. */
  readonly seconds: number | undefined

  constructor(why: string, seconds?: number) {
    super('Throttling', `${why}. Wait as long as Retry-After says, and send less at a time.`)
    this.seconds = seconds
  }
}

const patience = 30_000

/** Bytes that may be held at once; whoever asks first is served first. */
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

  /** Takes so many bytes as soon as there is room; fails with `Throttling` when that takes too long. */
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
        reject(new TooMuch('The server holds as much data as it takes at once'))
      }, patience)
      this.#waiting.push(waiter)
    })
  }

  /** Takes so many bytes if there is room for them now. */
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
