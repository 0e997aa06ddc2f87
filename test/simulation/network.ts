import { CatalogError } from '../../src/base/errors.ts'
import type { Actor, Machine, Scheduler } from './scheduler.ts'

/** How often something goes wrong with a request or its answer, as shares. */
export interface Weather {
  /** The request never comes, and the one who asks hears that the connection was lost, sooner or later. */
  readonly lost: number
  /** The request is done, and its answer never comes. */
  readonly unanswered: number
  /** Either of them takes up to `lateMillis`. */
  readonly late: number
  readonly lateMillis: number
  /** The request comes a second time, at another moment. */
  readonly twice: number
}

export const fair: Weather = { lost: 0.001, unanswered: 0.001, late: 0.004, lateMillis: 3_000, twice: 0.002 }
export const foul: Weather = { lost: 0.06, unanswered: 0.06, late: 0.1, lateMillis: 100_000, twice: 0.05 }
export const storm: Weather = { lost: 0.9, unanswered: 0.05, late: 0.2, lateMillis: 100_000, twice: 0.05 }
export const calm: Weather = { lost: 0, unanswered: 0, late: 0, lateMillis: 0, twice: 0 }

/** A connection that ended before its answer came. Whether the request was done is not known. */
export class ConnectionLost extends Error {}

/** Carries requests to services and answers back, each on its own: an order is not kept. */
export class Network {
  weather: Weather = fair
  /** Machines that stand still with what they have just sent, once they send a commit, and for how long. */
  readonly stalls = new Map<Machine, number>()
  readonly #scheduler: Scheduler

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** Asks a service, which does `work`. With a request that comes twice, it does so twice. */
  ask<T>(from: Actor, to: Actor, label: string, work: () => T | Promise<T>): Promise<T> {
    const { draw } = this.#scheduler
    // Whoever has ended sends nothing more.
    if (!from.isAlive) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const { lost, unanswered, twice } = this.weather
      const stalled = this.#stall(from, label)
      const isLost = draw.chance(lost)
      const isUnanswered = draw.chance(unanswered)
      if (isLost || isUnanswered) {
        const told = draw.chance(0.5) ? this.#latency() * 4 : draw.next() * 30_000
        this.#scheduler.after(from, told, `${label} cut`, () => reject(new ConnectionLost(label)))
      }
      if (isLost) return
      const deliver = () => {
        this.#scheduler.after(to, stalled + this.#latency(), label, async () => {
          const done = await settled(work)
          if (isUnanswered) return
          this.#scheduler.after(from, this.#latency(), `${label} answered`, () => {
            if (done.status === 'fulfilled') resolve(done.value)
            else reject(done.reason)
          })
        })
      }
      deliver()
      if (draw.chance(twice)) deliver()
    })
  }

  /** Asks until there is an answer, and gives up after so many milliseconds. */
  async persist<T>(
    from: Actor,
    to: Actor,
    label: string,
    work: () => T | Promise<T>,
    { millis = 20_000, failure = `There is no answer to ${label}.` } = {},
  ): Promise<T> {
    const end = this.#scheduler.now + millis
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.ask(from, to, label, work)
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        if (this.#scheduler.now > end) throw new CatalogError('ServiceUnavailable', failure)
      }
      await this.#scheduler.sleep(from, this.#scheduler.draw.next() * Math.min(2 ** attempt, 500))
    }
  }

  /** How much longer a request takes because its machine stands still. */
  #stall(from: Actor, label: string): number {
    const millis = label === 'database commit' ? this.stalls.get(from.machine) : undefined
    if (millis === undefined) return 0
    this.stalls.delete(from.machine)
    from.pausedUntil = this.#scheduler.now + millis
    return millis * this.#scheduler.draw.next()
  }

  #latency(): number {
    const { draw } = this.#scheduler
    const { late, lateMillis } = this.weather
    return 0.2 + draw.next() * 2 + (draw.chance(late) ? draw.next() * lateMillis : 0)
  }
}

async function settled<T>(work: () => T | Promise<T>): Promise<PromiseSettledResult<T>> {
  try {
    return { status: 'fulfilled', value: await work() }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}
