import { randomInt } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { clearTimeout, setTimeout, type Timer } from '../../base/time.ts'
import { isAppended } from './access.ts'
import { Backoff } from './backoff.ts'
import type { Connection } from './connection.ts'
import { explain, isTransient, stateOf } from './failure.ts'
import type { Locks } from './locks.ts'
import {
  addRows,
  beginLocked,
  beginNumbering,
  type CommitPlan,
  changeStatement,
  commitStatement,
  end,
  forgetCommits,
  probe,
  type Row,
  tombstone,
} from './statements.ts'
import { learnTime, type StoreContext } from './store-context.ts'
import { type Reads, View } from './view.ts'

/** Why a commit changed nothing: the records and pieces that differ, and the current values of all reads. */
export interface Refusal {
  readonly points: readonly string[]
  readonly pieces: readonly string[]
  readonly view: View
}

/** The id of a commit begins with the hour, so that old ones can be found and removed by their id. */
const hourMillis = 3_600_000
const firstHour = Date.UTC(2020, 0, 1) / hourMillis
const randomBits = 44n

/** Ids of commits are kept for at least two hours. Old ones are removed after every so many commits. */
const keptHours = 2
const cleaning = 1_000

/** The delay before appended records are numbered. */
const numberingMillis = 1_000

/** How long the outcome of a commit is queried after its answer was lost. */
const outcomeMillis = 60_000

/** Errors after which the server may stop: its disk or memory is full or broken. */
const mayEndServer = /^(?:53|58|XX)/

/** Commits changes, and determines the outcome of a commit whose answer was lost. */
export class Committer {
  readonly #context: StoreContext
  /** Begins at random, so that short-lived processes also clean up as often as they should. */
  #commits = randomInt(cleaning)

  #numbering: Timer | undefined

  constructor(context: StoreContext) {
    this.#context = context
  }

  close(): void {
    clearTimeout(this.#numbering)
  }

  /**
   * Commits in one round trip; resolves to undefined after success. With locks, commits that lock other records run in
   * parallel.
   */
  commit(plan: CommitPlan): Promise<Refusal | undefined> {
    const { address, engine, pool } = this.#context
    return pool.alone((connection) =>
      this.#commitBy(connection, plan, async (id) => {
        const statement = commitStatement(address.schema, id, plan, engine.hasTurns)
        const [answer] = await Promise.allSettled([connection.send(statement)])
        return [answer, answer]
      }),
    )
  }

  /** Begins a transaction that holds its locks: on some records, or exclusively. */
  async begin(connection: Connection, locks: Locks | undefined): Promise<void> {
    await connection.send(beginLocked(this.#context.address.schema, locks))
  }

  /** Makes the changes in a transaction that holds the locks of the plan, and commits it. */
  finish(connection: Connection, plan: CommitPlan): Promise<Refusal | undefined> {
    return this.#commitBy(connection, plan, async (id) => {
      const statement = changeStatement(this.#context.address.schema, id, plan)
      return Promise.allSettled([connection.send(statement), connection.sendEnd(end)])
    })
  }

  /** Sends changes, and determines their outcome: from the answers to the statement and to its commit. */
  async #commitBy(
    connection: Connection,
    { reads, changes }: CommitPlan,
    send: (
      id: string,
    ) => Promise<readonly [PromiseSettledResult<readonly Row[]>, PromiseSettledResult<unknown>]>,
  ): Promise<Refusal | undefined> {
    const { clock, cache } = this.#context
    const id = this.#newId()
    const sent = clock.sent()
    const [answer, ending] = await send(id)
    const state = answer.status === 'rejected' ? stateOf(answer.reason) : undefined
    // A reported error means that the transaction was rolled back, except when the server ended the connection: then it
    // may have committed before. A pooler reports a lost server even after the commit.
    if (answer.status === 'rejected' && state !== undefined && !/^(?:08|57P)/.test(state)) {
      if (!mayEndServer.test(state) || (await isAlive(connection))) throw answer.reason
    }
    if (answer.status === 'fulfilled') {
      learnTime(clock, answer.value, sent)
      if (answer.value.length > 1) return this.#refusal(reads, answer.value)
    }
    const isDone = answer.status === 'fulfilled' && ending.status === 'fulfilled' && ending.value !== false
    if (!isDone && !(await this.#hasCommitted(id, ending))) {
      if (state !== undefined) throw (answer as PromiseRejectedResult).reason
      throw Object.assign(new Error('Connection terminated before the commit.'), { code: 'ECONNRESET' })
    }
    for (const [bytes, change] of changes.entries()) {
      if (isAppended(bytes)) {
        this.#numberSoon()
        continue
      }
      if (change === null) cache.keepAbsent(bytes)
      else cache.keep(bytes, id, change.text, change.value)
    }
    if (++this.#commits % cleaning === 0) void this.#clean()
    return undefined
  }

  #refusal(reads: Reads, rows: readonly Row[]): Refusal {
    const pieces = [...reads.pieces.values()]
    const view = new View()
    for (const [key, found] of reads.points) view.points.set(key, found)
    for (const [id, read] of reads.pieces) view.pieces.set(id, read)
    addRows(rows, pieces, this.#context.cache, view)
    return {
      points: rows.flatMap(([part, key]) => (part === 0 ? [key!.toString('latin1')] : [])),
      pieces: rows.flatMap(([part, key]) => (part > 0 && key === null ? [pieces[part - 1]!.piece.id] : [])),
      view,
    }
  }

  /**
   * Whether a commit whose answer was lost happened. If not, it never will. Inserting a row with its id waits for a
   * running commit. When this answer is lost as well, the row gives the same answer to the next query.
   */
  async #hasCommitted(id: string, ending: PromiseSettledResult<unknown>): Promise<boolean> {
    const { pool, address } = this.#context
    if (ending.status === 'rejected' && /^40/.test(stateOf(ending.reason) ?? '')) throw ending.reason
    const backoff = new Backoff(outcomeMillis, (error) => isTransient(explain(error, address.label)))
    for (;;) {
      try {
        const [row] = await pool.shared((connection) => connection.send(tombstone(address.schema, id)))
        return row![0] === 1
      } catch (error) {
        await backoff.waitOrThrow(error).catch((cause) => {
          throw new CatalogError(
            'ServiceUnavailable',
            `The connection to ${address.label} was lost during a commit, and nobody there could be asked. The change may have been made or not: look before you make it again.`,
            { cause, mayBeDone: true },
          )
        })
      }
    }
  }

  /** Numbers appended records. A reader with the permission may do so sooner; read-only users depend on this. */
  #numberSoon(): void {
    const { address, engine, pool } = this.#context
    this.#numbering ??= setTimeout(() => {
      this.#numbering = undefined
      const numbered = pool.alone(async (connection) => {
        const statement = beginNumbering(address.schema, engine.hasTurns)
        await Promise.all([connection.send(statement), connection.sendEnd(end)])
      })
      // The next reader or timer does it.
      numbered.catch(() => {})
    }, numberingMillis)
    this.#numbering.unref?.()
  }

  #hour(): number {
    return Math.floor(this.#context.clock.now() / hourMillis) - firstHour
  }

  #newId(): string {
    return String((BigInt(this.#hour()) << randomBits) | BigInt(randomInt(2 ** Number(randomBits))))
  }

  async #clean(): Promise<void> {
    const { pool, address } = this.#context
    const before = BigInt(this.#hour() - keptHours) << randomBits
    try {
      await pool.shared((connection) => connection.send(forgetCommits(address.schema, String(before))))
    } catch {
      // The next cleanup does it.
    }
  }
}

/** Whether a connection still works after an error. */
function isAlive(connection: Connection): Promise<boolean> {
  return connection.send(probe).then(
    () => true,
    () => false,
  )
}
