import { closedError } from '../../base/store/body.ts'
import type { StoreMetrics } from '../../base/store/store.ts'
import { clearTimeout, performance, setTimeout, type Timer } from '../../base/time.ts'
import type { Address } from './address.ts'
import { Connection } from './connection.ts'
import { stateOf } from './failure.ts'

/** The most connections of one store. Statements share them, so few are enough. */
const maxConnections = 4

/** The pause before another connection is requested after a refusal, in milliseconds. */
const pauseMillis = 10_000

/** The pause before the next connection after a failure, in milliseconds: many retries make few logins. */
const failurePauseMillis = 100

/** A waiter for a connection. */
interface Waiting {
  /** How many connections had been requested when this waiter came. */
  readonly requestsBefore: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The connections of one store, opened on demand. */
export class Pool {
  readonly #address: Address
  readonly #check: (connection: Connection) => Promise<void>
  readonly #open = new Set<Connection>()
  readonly #held = new Set<Connection>()
  readonly #checking = new Set<Connection>()
  #opening = 0
  readonly #waiting: Waiting[] = []
  #isClosed = false
  #available = maxConnections
  #refusedAt = Number.NEGATIVE_INFINITY
  #requests = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #retryTimer: Timer | undefined

  /** `check` runs on each new connection, since the server behind a name may have changed. */
  constructor(address: Address, check: (connection: Connection) => Promise<void>) {
    this.#address = address
    this.#check = check
  }

  /** How many connections can be opened. A server, a pooler or the limit of a user may allow fewer. */
  get available(): number {
    return this.#available
  }

  /** Busy or reserved connections, idle ones, the limit, and the number of waiters. */
  get use(): Required<StoreMetrics>['connections'] {
    let used = 0
    for (const connection of this.#open) if (connection.waiting > 0 || this.#held.has(connection)) used++
    return { used, idle: this.#open.size - used, most: this.#most, waiting: this.#waiting.length }
  }

  /**
   * Runs work that sends all of its statements at once, before it waits for anything. Other work may use the same
   * connection before and after.
   */
  async shared<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      // The work must send its statements synchronously after the choice of a connection.
      const connection = this.#choose()
      if (connection) return work(connection)
      await this.#waitForChange()
    }
  }

  /**
   * Runs work on a connection that no other work uses meanwhile. Waits while fewer than `spared` connections would be
   * left for other work, as far as there are so many.
   */
  async alone<T>(work: (connection: Connection) => Promise<T>, spared = 0): Promise<T> {
    for (;;) {
      const left = Math.min(spared, this.#available - 1)
      const connection = this.#held.size + left < this.#available ? this.#choose() : undefined
      if (connection) {
        // Earlier statements are answered first.
        this.#held.add(connection)
        try {
          return await work(connection)
        } finally {
          this.#held.delete(connection)
          this.#changed()
        }
      }
      await this.#waitForChange()
    }
  }

  /** Destroys all other connections. Their outstanding statements fail. */
  keepOnly(connection: Connection): void {
    for (const other of [...this.#open, ...this.#checking]) {
      if (other === connection) continue
      this.#open.delete(other)
      other.drop()
    }
  }

  /** Closes the connections. Work that waits for one is refused, and so is later work. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    for (const { reject } of this.#waiting.splice(0)) reject(closedError())
    await Promise.all(Array.from(this.#open, (connection) => connection.close()))
    this.#open.clear()
  }

  get #isFull(): boolean {
    return this.#open.size + this.#opening >= this.#most
  }

  /** A server that refused a connection is not asked again at once. */
  get #most(): number {
    const isRefused = performance.now() < this.#refusedAt + pauseMillis
    return isRefused ? this.#available : maxConnections
  }

  /** The connection with the fewest outstanding statements. Undefined when one should open, or all are reserved. */
  #choose(): Connection | undefined {
    let best: Connection | undefined
    for (const connection of this.#open) {
      if (this.#held.has(connection) || connection.isLost) continue
      if (best === undefined || connection.waiting < best.waiting) best = connection
    }
    return best?.waiting === 0 || this.#isFull ? best : undefined
  }

  /** Waits for a change of the connections. Opens one more meanwhile, unless the limit is reached. */
  #waitForChange(): Promise<void> {
    if (this.#isClosed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ requestsBefore: this.#requests, resolve, reject })
      this.#request()
    })
  }

  #request(): void {
    if (this.#isFull || this.#retryTimer !== undefined) return
    const pause = this.#failedAt + failurePauseMillis - performance.now()
    if (pause > 0) {
      this.#retryTimer = setTimeout(() => {
        this.#retryTimer = undefined
        if (this.#waiting.length > 0) this.#request()
      }, pause)
      return
    }
    const request = ++this.#requests
    // Behind a pooler, another connection may become free first.
    this.#add().then(
      () => this.#changed(),
      (error) => this.#failed(error, request),
    )
  }

  /** Opens one more connection. Where the server refuses, the existing ones have to suffice. */
  async #add(): Promise<void> {
    this.#opening++
    try {
      const connection = await Connection.open(this.#address, (changed) => {
        if (!this.#open.has(changed)) return
        if (changed.isLost) this.#open.delete(changed)
        this.#changed()
      })
      this.#checking.add(connection)
      try {
        await this.#checkInTime(connection)
        if (this.#isClosed) await connection.close()
      } catch (error) {
        if (error instanceof Unanswered) connection.drop()
        else await connection.close()
        throw error
      } finally {
        this.#checking.delete(connection)
      }
      this.#failedAt = Number.NEGATIVE_INFINITY
      if (!connection.isLost) this.#open.add(connection)
      this.#available = Math.max(this.#available, this.#open.size)
    } catch (error) {
      if (this.#open.size === 0 || (stateOf(error) === undefined && !(error instanceof Unanswered)))
        throw error
      this.#available = this.#open.size
      this.#refusedAt = performance.now()
    } finally {
      this.#opening--
    }
  }

  /** A pooler accepts connections and queues their first statement, so the check has a timeout. */
  async #checkInTime(connection: Connection): Promise<void> {
    const { connectMillis } = this.#address
    let timer: Timer | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Unanswered()), connectMillis)
    })
    await Promise.race([this.#check(connection), late]).finally(() => clearTimeout(timer))
  }

  #changed(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  /** Rejects the waiters from before the request. For later ones, the server may have another answer. */
  #failed(error: unknown, request: number): void {
    this.#failedAt = performance.now()
    for (const waiter of this.#waiting.splice(0)) {
      if (waiter.requestsBefore < request) waiter.reject(error)
      else this.#waiting.push(waiter)
    }
    if (this.#waiting.length > 0) this.#request()
  }
}

/** A new connection got no answer to its first statement. */
class Unanswered extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('The first statement of a connection had no answer: timeout expired.')
  }
}
