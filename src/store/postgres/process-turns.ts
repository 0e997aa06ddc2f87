import { createHash } from 'node:crypto'
import { runWithin } from '../../scheduling/run-within.ts'
import type { Ground } from './ground.ts'
import { awaitTurn, tryTurn, undo } from './statements.ts'

/** Connections that may wait for turns at once, or hold them, and those that are left for reads and commits. */
const mostTurns = 2
const spared = 2

/** A turn ends after so many milliseconds. Its work goes on without it then. */
const mostMillis = 5_000

/**
 * Turns that processes take at what they name, in the order in which they asked. The database holds each by a lock of
 * a transaction: so a pooler may stand between, and the turn of a process that dies ends with its connection. Whoever
 * gets no turn goes on without one, since nothing but time depends on it.
 */
export class ProcessTurns {
  readonly #ground: Ground
  #turns = 0

  constructor(ground: Ground) {
    this.#ground = ground
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { engine, pool } = this.#ground
    if (!engine.hasTurns || this.#turns >= Math.min(mostTurns, pool.had - spared)) return work()
    const end = await this.#take(name)
    return runWithin(work, mostMillis, () => end?.())
  }

  async isTaken(name: string): Promise<boolean> {
    const { address, engine, pool } = this.#ground
    if (!engine.hasTurns) return false
    const lock = lockOf(address.schema, name)
    const [row] = await pool.shared((connection) => connection.send(tryTurn(lock)))
    const [isFree] = row as unknown as [boolean]
    return !isFree
  }

  /** Waits for a turn. Resolves to what ends it, or to nothing where there is none to be had. */
  #take(name: string): Promise<(() => void) | undefined> {
    const { address, pool } = this.#ground
    this.#turns++
    return new Promise((resolve) => {
      const held = pool.alone(async (connection) => {
        try {
          await connection.send(awaitTurn(lockOf(address.schema, name)))
          await new Promise<void>((end) => resolve(end))
        } finally {
          // What is sent next on this connection comes after it.
          connection.sendEnd(undo).catch(() => {})
        }
      })
      held
        .catch(() => resolve(undefined))
        .finally(() => {
          this.#turns--
        })
    })
  }
}

/** The number of a lock. Two names may share one: their turns are each other's then. */
function lockOf(schema: string, name: string): bigint {
  return createHash('sha256').update(`${schema}\0${name}`).digest().readBigInt64BE()
}
