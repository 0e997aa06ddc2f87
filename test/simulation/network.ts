import { CatalogError } from '../../src/base/errors.ts'
import type { Actor, Machine, Scheduler } from './scheduler.ts'

/** Probabilities of faults for each request or response. */
export interface FaultRates {
  /** The request is lost, and the client gets a connection error sooner or later. */
  readonly lost: number
  /** The request is executed, but its response is lost. */
  readonly unanswered: number
  /** The request or the response is delayed up to `lateMillis`. */
  readonly late: number
  readonly lateMillis: number
  /** The request is delivered twice. */
  readonly twice: number
}

export const usualRates: FaultRates = {
  lost: 0.001,
  unanswered: 0.001,
  late: 0.004,
  lateMillis: 3_000,
  twice: 0.002,
}
export const degradedRates: FaultRates = {
  lost: 0.06,
  unanswered: 0.06,
  late: 0.1,
  lateMillis: 100_000,
  twice: 0.05,
}
export const outageRates: FaultRates = {
  lost: 0.9,
  unanswered: 0.05,
  late: 0.2,
  lateMillis: 100_000,
  twice: 0.05,
}
export const noFaults: FaultRates = { lost: 0, unanswered: 0, late: 0, lateMillis: 0, twice: 0 }

/** A connection lost before the response. Whether the request was executed is unknown. */
export class ConnectionLost extends Error {}

/** Delivers requests and responses independently, without any order. */
export class Network {
  rates: FaultRates = usualRates
  /** Machines that pause right after their next commit request, and for how long. */
  readonly stalls = new Map<Machine, number>()
  readonly #scheduler: Scheduler

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** Sends a request to a service, which runs `work`, twice for a duplicated request. */
  ask<T>(from: Actor, to: Actor, label: string, work: () => T | Promise<T>): Promise<T> {
    const { draw } = this.#scheduler
    // An ended process sends nothing.
    if (!from.isAlive) return new Promise(() => {})
    return new Promise((resolve, reject) => {
      const { lost, unanswered, twice } = this.rates
      const stalled = this.#stall(from, label)
      const isLost = draw.chance(lost)
      const isUnanswered = draw.chance(unanswered)
      if (isLost || isUnanswered) {
        const delay = draw.chance(0.5) ? this.#latency() * 4 : draw.next() * 30_000
        this.#scheduler.after(from, delay, `${label} cut`, () => reject(new ConnectionLost(label)))
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

  /** Retries until there is a response, or the timeout in milliseconds. */
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

  /** The extra delay of a request while its machine is paused. */
  #stall(from: Actor, label: string): number {
    const millis = label === 'database commit' ? this.stalls.get(from.machine) : undefined
    if (millis === undefined) return 0
    this.stalls.delete(from.machine)
    from.pausedUntil = this.#scheduler.now + millis
    return millis * this.#scheduler.draw.next()
  }

  #latency(): number {
    const { draw } = this.#scheduler
    const { late, lateMillis } = this.rates
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
