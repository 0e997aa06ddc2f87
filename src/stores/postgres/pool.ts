import type { StoreMetrics } from '../../base/store/store.ts'
import { clearTimeout, performance, setTimeout, type Timer } from '../../base/time.ts'
import type { Address } from './address.ts'
import { Connection } from './connection.ts'
import { stateOf } from './failure.ts'

/** The most connections that one store opens. Statements share them, so few serve many. */
const mostConnections = 4

/** After a refusal, another connection is asked for so many milliseconds later. */
const pauseMillis = 10_000

/** After a failure, the next connection is asked for so many milliseconds later: many who try again make few logins. */
const failurePauseMillis = 100

/** Someone who waits for a connection. */
interface Waiting {
  /** How many connections had been asked for when this one came. */
  readonly requestsBefore: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The connections of one store, made as they are needed. */
export class Pool {
  readonly #address: Address
  readonly #check: (connection: Connection) => Promise<void>
  readonly #open = new Set<Connection>()
  readonly #held = new Set<Connection>()
  readonly #checking = new Set<Connection>()
  #opening = 0
  readonly #waiting: Waiting[] = []
  #isClosed = false
  #available = mostConnections
  #refusedAt = Number.NEGATIVE_INFINITY
  #requests = 0
  #failedAt = Number.NEGATIVE_INFINITY
  #retryTimer: Timer | undefined

  /** `check` judges each new connection, since the server behind a name may have changed. */
  constructor(address: Address, check: (connection: Connection) => Promise<void>) {
    this.#address = address
    this.#check = check
  }

  /** How many connections there are to be had. A server, a pooler or the limit of a user may give fewer. */
  get available(): number {
    return this.#available
  }

  /** Connections with statements under way or held for some, those without, the most, and the work that waits. */
  get use(): Required<StoreMetrics>['connections'] {
    let used = 0
    for (const connection of this.#open) if (connection.waiting > 0 || this.#held.has(connection)) used++
    return { used, idle: this.#open.size - used, most: this.#most, waiting: this.#waiting.length }
  }

  /**
   * Runs work that sends all of its statements at once, before it waits for anything. Others may use the same
   * connection before and after.
   */
  async shared<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      // Nothing runs between the choice of a connection and the statements.
      const connection = this.#choose()
      if (connection) return work(connection)
      await this.#waitForChange()
    }
  }

  /**
   * Runs work on a connection that nobody else uses meanwhile. It waits while fewer than `spared` connections would be
   * left for others, as far as there are so many.
   */
  async alone<T>(work: (connection: Connection) => Promise<T>, spared = 0): Promise<T> {
    for (;;) {
      const left = Math.min(spared, this.#available - 1)
      const connection = this.#held.size + left < this.#available ? this.#choose() : undefined
      if (connection) {
        // Statements that were sent before are answered before.
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

  /** Ends all others at once. Those who wait for their answers learn that they are lost. */
  keepOnly(connection: Connection): void {
    for (const other of [...this.#open, ...this.#checking]) {
      if (other === connection) continue
      this.#open.delete(other)
      other.drop()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    await Promise.all(Array.from(this.#open, (connection) => connection.close()))
    this.#open.clear()
  }

  get #isFull(): boolean {
    return this.#open.size + this.#opening >= this.#most
  }

  /** A server that gave no further connection is not asked again at once. */
  get #most(): number {
    const isRefused = performance.now() < this.#refusedAt + pauseMillis
    return isRefused ? this.#available : mostConnections
  }

  /** The connection with the least to do. Undefined when one more should be opened, or when all are held. */
  #choose(): Connection | undefined {
    let best: Connection | undefined
    for (const connection of this.#open) {
      if (this.#held.has(connection) || connection.isLost) continue
      if (best === undefined || connection.waiting < best.waiting) best = connection
    }
    return best?.waiting === 0 || this.#isFull ? best : undefined
  }

  /** Waits until something changed about the connections there are. Opens one more meanwhile, unless there are enough. */
  #waitForChange(): Promise<void> {
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
    // Behind a pooler, one that is free again may come first.
    this.#add().then(
      () => this.#changed(),
      (error) => this.#failed(error, request),
    )
  }

  /** Opens one more connection. Where the server gives no more, those there are have to do. */
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

  /** A pooler greets all, and lets those wait with their first statement for whom it has no connection. */
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

  /** Tells those who waited before the connection was asked for. To who came later, the server may have another answer. */
  #failed(error: unknown, request: number): void {
    this.#failedAt = performance.now()
    for (const waiter of this.#waiting.splice(0)) {
      if (waiter.requestsBefore < request) waiter.reject(error)
      else this.#waiting.push(waiter)
    }
    if (this.#waiting.length > 0) this.#request()
  }
}

/** A new connection had no answer to its first statement. */
class Unanswered extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('The first statement of a connection had no answer: timeout expired.')
  }
}
