import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { runTurn } from '../../base/scheduling/run-turn.ts'
import { performance, sleep } from '../../base/time.ts'
import { awaitTurn, probe, tryTurn, undo } from './statements.ts'
import type { StoreContext } from './store-context.ts'

/** Connections that may wait for turns at once, or hold them, and those that are left for reads and commits. */
const mostTurns = 2
const spared = 2

/** Behind a pooler, a statement is sent so often during a turn, and must be answered within this time. */
const probePauseMillis = 250
const mostProbeMillis = 500

/** The database ends the turn of a process that sends nothing for two seconds. */
const aliveMillis = 700

/** After turns have used up the connections of a pooler, there are none for so long; twice as long each time. */
const leastRestMillis = 30_000
const mostRestMillis = 3_600_000

/**
 * Turns that processes take at what they name, in the order in which they asked. The database holds each by a lock of
 * a transaction: so a pooler may stand between, and the turn of a process that dies ends with its connection. Whoever
 * gets no turn goes on without one, since nothing but time depends on it.
 *
 * Those who hold a turn or wait for it keep a connection of the pooler each. Where these are all that it has, the work
 * of the holder would wait for those who wait for the holder. So statements are seen to get through meanwhile.
 */
export class ProcessTurns {
  readonly #context: StoreContext
  #turns = 0
  #restsUntil = Number.NEGATIVE_INFINITY
  #restMillis = leastRestMillis

  constructor(context: StoreContext) {
    this.#context = context
  }

  async run<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const { engine, pool } = this.#context
    const isResting = performance.now() < this.#restsUntil
    if (!engine.hasTurns || isResting || this.#turns >= Math.min(mostTurns, pool.available - spared))
      return work()
    const over = new AbortController()
    const starved = this.#starved(over.signal).then(() => over.abort())
    await Promise.race([this.#take(names, over.signal), starved])
    return runTurn(work, () => over.abort())
  }

  async isTaken(name: string): Promise<boolean> {
    const { address, engine, pool } = this.#context
    if (!engine.hasTurns) return false
    const lock = lockOf(address.schema, name)
    const [row] = await pool.shared((connection) => connection.send(tryTurn(lock)))
    const [isFree] = row as unknown as [boolean]
    return !isFree
  }

  /** Waits for a turn, which lasts until it is over. Resolves when it has begun, or when there is none to be had. */
  #take(names: readonly string[], over: AbortSignal): Promise<void> {
    const { address, pool } = this.#context
    this.#turns++
    return new Promise((resolve) => {
      const held = pool.alone(async (connection) => {
        // Its work may have begun without it.
        if (over.aborted) return
        try {
          await connection.send(awaitTurn(names.map((name) => lockOf(address.schema, name))))
          resolve()
          const ended = once(over, 'abort')
          while (!over.aborted) {
            await Promise.race([ended, sleep(aliveMillis, { ref: false })])
            if (!over.aborted) await connection.send(probe)
          }
        } finally {
          // What is sent next on this connection comes after it.
          connection.sendEnd(undo).catch(() => {})
        }
      })
      held
        .catch(() => resolve())
        .finally(() => {
          this.#turns--
        })
    })
  }

  /** Resolves when statements get no connection of a pooler any more. There are no turns for a while then. */
  async #starved(over: AbortSignal): Promise<void> {
    const { engine, pool } = this.#context
    while (engine.isPooled && !over.aborted) {
      const answered = pool
        .shared((connection) => connection.send(probe))
        .then(
          () => true,
          () => true,
        )
      const late = sleep(mostProbeMillis, { ref: false })
      if (!(await Promise.race([answered, late])) && !over.aborted) {
        this.#restsUntil = performance.now() + this.#restMillis
        this.#restMillis = Math.min(2 * this.#restMillis, mostRestMillis)
        return
      }
      await sleep(probePauseMillis, { ref: false })
    }
    return new Promise(() => {})
  }
}

/** The number of a lock. Two names may share one: their turns are each other's then. */
function lockOf(schema: string, name: string): bigint {
  return createHash('sha256').update(`${schema}\0${name}`).digest().readBigInt64BE()
}
