import { randomInt } from 'node:crypto'
import { CatalogError } from '../../errors.ts'
import { type Changes, isAppended } from './access.ts'
import type { Attempt } from './attempt.ts'
import type { Connection } from './connection.ts'
import { stateOf } from './failure.ts'
import { type Ground, learnTime } from './ground.ts'
import { Patience } from './patience.ts'
import {
  addRows,
  beginChange,
  commitStatement,
  end,
  forgetCommits,
  type Row,
  tombstone,
} from './statements.ts'
import { View } from './view.ts'

/** Why a commit changed nothing: the records and pieces that differ, and all that was read as it is now. */
export interface Refusal {
  readonly points: readonly string[]
  readonly pieces: readonly string[]
  readonly view: View
}

/** The number of a commit begins with the hour. So old ones are found, and removed, by their number. */
const hourMillis = 3_600_000
const firstHour = Date.UTC(2020, 0, 1) / hourMillis
const randomBits = 44n

/** The numbers of commits are kept for two hours at least, and removed after every so many commits. */
const keptHours = 2
const cleaning = 1_000

/** How long the outcome of a commit is asked for, once its answer was lost. */
const outcomeMillis = 60_000

/** Commits changes, and finds out what became of a commit whose answer was lost. */
export class Committer {
  readonly #ground: Ground
  /** Begins anywhere, so that many short-lived processes clean as often as they should. */
  #commits = randomInt(cleaning)

  constructor(ground: Ground) {
    this.#ground = ground
  }

  /** Commits in one round trip; resolves to nothing when it is done. */
  commit(attempt: Attempt, changes: Changes): Promise<Refusal | undefined> {
    return this.#ground.pool.alone((connection) => {
      const begun = this.begin(connection)
      return this.finish(connection, attempt, changes, begun)
    })
  }

  begin(connection: Connection): Promise<unknown> {
    const { address, engine } = this.#ground
    const begun = connection.send(beginChange(address.schema, engine.hasTurns))
    // Those who come after it look at the outcome, too.
    begun.catch(() => {})
    return begun
  }

  /** Makes the changes in a transaction that was begun, and ends it. */
  async finish(
    connection: Connection,
    attempt: Attempt,
    changes: Changes,
    begun?: Promise<unknown>,
  ): Promise<Refusal | undefined> {
    const { address, clock, known } = this.#ground
    const id = this.#newId()
    const sent = clock.sent()
    const [beginning, answer, ending] = await Promise.allSettled([
      begun,
      connection.send(commitStatement(address.schema, id, attempt, changes.entries())),
      connection.sendEnd(end),
    ])
    const reported = [beginning, answer].find(
      (part) => part.status === 'rejected' && stateOf(part.reason) !== undefined,
    ) as PromiseRejectedResult | undefined
    // What the server itself reported undid the transaction. A pooler reports that it lost the server, too late or not.
    if (reported && !/^08/.test(stateOf(reported.reason)!)) throw reported.reason
    if (answer.status === 'fulfilled') {
      learnTime(clock, answer.value, sent)
      if (answer.value.length > 1) return this.#refusal(attempt, answer.value)
    }
    const isDone = ending.status === 'fulfilled' && answer.status === 'fulfilled' && ending.value
    if (!isDone && !(await this.#happened(id, ending))) {
      throw (
        reported?.reason ??
        Object.assign(new Error('Connection terminated before the commit.'), { code: 'ECONNRESET' })
      )
    }
    for (const [bytes, change] of changes.entries()) {
      if (isAppended(bytes)) continue
      if (change === null) known.forget(bytes)
      else known.keep(bytes, id, change.text, change.value)
    }
    if (++this.#commits % cleaning === 0) void this.#clean()
    return undefined
  }

  #refusal(attempt: Attempt, rows: readonly Row[]): Refusal {
    const pieces = [...attempt.pieces.values()]
    const view = new View()
    for (const [key, found] of attempt.points) view.points.set(key, found)
    for (const [id, read] of attempt.pieces) view.pieces.set(id, read)
    addRows(rows, pieces, this.#ground.known, view)
    return {
      points: rows.flatMap(([part, key]) => (part === 0 ? [key!.toString('latin1')] : [])),
      pieces: rows.flatMap(([part, key]) => (part > 0 && key === null ? [pieces[part - 1]!.piece.id] : [])),
      view,
    }
  }

  /**
   * Whether a commit happened whose end nobody heard of. If not, it never will. The new row waits for a commit that is
   * under way. When the answer to this question is lost as well, the row that is there still tells.
   */
  async #happened(id: string, ending: PromiseSettledResult<boolean>): Promise<boolean> {
    const { pool, address } = this.#ground
    if (ending.status === 'rejected' && /^40/.test(stateOf(ending.reason) ?? '')) throw ending.reason
    const patience = new Patience(outcomeMillis)
    for (;;) {
      try {
        const [row] = await pool.shared((connection) => connection.send(tombstone(address.schema, id)))
        return row![0] === 1
      } catch (error) {
        await patience.after(error).catch((cause) => {
          throw new CatalogError(
            'ServiceUnavailable',
            `The connection to ${address.label} was lost during a commit, and nobody there could be asked. The change may have been made or not: look before you make it again.`,
            { cause },
          )
        })
      }
    }
  }

  #hour(): number {
    return Math.floor(this.#ground.clock.now() / hourMillis) - firstHour
  }

  #newId(): string {
    return String((BigInt(this.#hour()) << randomBits) | BigInt(randomInt(2 ** Number(randomBits))))
  }

  async #clean(): Promise<void> {
    const { pool, address } = this.#ground
    const before = BigInt(this.#hour() - keptHours) << randomBits
    try {
      await pool.shared((connection) => connection.send(forgetCommits(address.schema, String(before))))
    } catch {
      // The next one to clean does it.
    }
  }
}
