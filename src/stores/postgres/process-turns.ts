import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { runTurn } from '../../base/scheduling/run-turn.ts'
import { performance, sleep } from '../../base/time.ts'
import { awaitTurn, probe, tryTurn, undo } from './statements.ts'
import type { StoreContext } from './store-context.ts'

/** The most connections that hold or wait for turns, and the connections that stay free for reads and commits. */
const maxTurns = 2
const spared = 2

/** Behind a pooler, the interval of the probes during a turn, and the time for their answer. */
const probePauseMillis = 250
const maxProbeMillis = 500

/** The database ends the turn of a process that sends nothing for two seconds. */
const aliveMillis = 700

/** After turns have exhausted a pooler, the pause without turns; it doubles each time. */
const minRestMillis = 30_000
const maxRestMillis = 3_600_000

/**
 * Turns of processes by name, in the order of the requests. The database holds each as a lock of a transaction. So
 * turns work through a pooler, and the turn of a dead process ends with its connection. A process without a turn goes
 * on, since turns only save time.
 *
 * Each holder and each waiter occupies a connection of the pooler. When these are all, the work of the holder waits for
 * the waiters, and they for the holder. So probes check meanwhile that statements still get a connection.
 */
export class ProcessTurns {
  readonly #context: StoreContext
  #turns = 0
  #restsUntil = Number.NEGATIVE_INFINITY
  #restMillis = minRestMillis

  constructor(context: StoreContext) {
    this.#context = context
  }

  async run<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const { engine, pool } = this.#context
    const isResting = performance.now() < this.#restsUntil
    if (!engine.hasTurns || isResting || this.#turns >= Math.min(maxTurns, pool.available - spared))
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

  /** Waits for a turn, which lasts until `over` aborts. Resolves when it has begun, or cannot begin. */
  #take(names: readonly string[], over: AbortSignal): Promise<void> {
    const { address, pool } = this.#context
    this.#turns++
    return new Promise((resolve) => {
      const held = pool.alone(async (connection) => {
        // The work may have begun without the turn.
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
          // Later statements on this connection come after it.
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

  /** Resolves when a pooler has no connection left for statements. Then turns pause for a while. */
  async #starved(over: AbortSignal): Promise<void> {
    const { engine, pool } = this.#context
    while (engine.isPooled && !over.aborted) {
      const answered = pool
        .shared((connection) => connection.send(probe))
        .then(
          () => true,
          () => true,
        )
      const late = sleep(maxProbeMillis, { ref: false })
      if (!(await Promise.race([answered, late])) && !over.aborted) {
        this.#restsUntil = performance.now() + this.#restMillis
        this.#restMillis = Math.min(2 * this.#restMillis, maxRestMillis)
        return
      }
      await sleep(probePauseMillis, { ref: false })
    }
    return new Promise(() => {})
  }
}

/** The id of a lock. Two names with the same id share their turns. */
function lockOf(schema: string, name: string): bigint {
  return createHash('sha256').update(`${schema}\0${name}`).digest().readBigInt64BE()
}
