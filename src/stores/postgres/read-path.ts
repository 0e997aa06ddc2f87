import { setImmediate } from '../../base/time.ts'
import { Attempt } from './attempt.ts'
import { Backoff } from './backoff.ts'
import { cannotWrite } from './failure.ts'
import {
  beginNumbering,
  beginSerializableRead,
  beginSnapshotRead,
  end,
  type Statement,
} from './statements.ts'
import { type Job, readInto, runReader, type StoreContext } from './store-context.ts'
import { type Reads, rowsIn, View } from './view.ts'

/** The most records that may be read twice. */
const maxRowsAtOnce = 1_000

/** After so many statements with guesses left, the body reads in one transaction. */
const maxStatements = 4

/** How often a long walk numbers records and restarts, where others append all the time. */
const maxNumberings = 20

/** The connections that stay free while reads reserve theirs. */
const spared = 2

/** Reads that may find more records share no statement: small reads would wait for them. */
const maxShared = 256

/** A read whose caller waits. */
interface Waiting {
  readonly reads: Reads
  readonly resolve: (view: View) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs bodies that read. The first run is a guess that finds the needed reads. One statement makes all of them in one
 * snapshot. When the next run needs no other reads, its result counts.
 */
export class ReadPath {
  readonly #context: StoreContext
  #waiting: Waiting[] = []

  constructor(context: StoreContext) {
    this.#context = context
  }

  async run(job: Job): Promise<void> {
    const backoff = new Backoff()
    for (;;) {
      try {
        return await this.#attempt(job)
      } catch (error) {
        await backoff.waitOrThrow(error)
      }
    }
  }

  /** Repeats an attempt's reads in one current snapshot. Small reads of one event-loop turn share a statement. */
  readAtOnce(reads: Reads): Promise<View> {
    if (maxFound(reads) > maxShared) return this.#read(reads)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ reads, resolve, reject })
      if (this.#waiting.length === 1) setImmediate(() => this.#readTogether())
    })
  }

  #readTogether(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const points = new Map(waiting.flatMap(({ reads }) => [...reads.points]))
    const pieces = new Map(waiting.flatMap(({ reads }) => [...reads.pieces]))
    this.#read({ points, pieces }).then(
      (view) => {
        for (const { resolve } of waiting) resolve(view)
      },
      (error) => {
        for (const { reject } of waiting) reject(error)
      },
    )
  }

  async #read(reads: Reads): Promise<View> {
    const context = this.#context
    const view = context.engine.hasTurns
      ? await context.pool.shared((connection) => readInto(context, connection, reads))
      : // Without locks of writers, a snapshot may have a change without an earlier one.
        await this.#readWithin(beginSerializableRead, reads)
    if (!view.isUnnumbered) return view
    return this.#numbering((begin) => this.#readWithin(begin, reads)).then((numbered) => numbered ?? view)
  }

  #readWithin(begin: Statement, reads: Reads): Promise<View> {
    const context = this.#context
    return context.pool.alone(async (connection) => {
      const [begun, view, ended] = await Promise.allSettled([
        connection.send(begin),
        readInto(context, connection, reads),
        connection.sendEnd(end),
      ])
      for (const part of [begun, view, ended]) if (part.status === 'rejected') throw part.reason
      return (view as PromiseFulfilledResult<View>).value
    })
  }

  /**
   * Reads in a transaction that numbers records first. Resolves to undefined where the user cannot write now: then only
   * numbered records are visible.
   */
  async #numbering<T>(read: (begin: Statement) => Promise<T>): Promise<T | undefined> {
    const { address, engine } = this.#context
    try {
      return await read(beginNumbering(address.schema, engine.hasTurns))
    } catch (error) {
      if (cannotWrite(error)) return undefined
      throw error
    }
  }

  async #attempt(job: Job): Promise<void> {
    const context = this.#context
    let attempt = new Attempt(new View(), context.cache)
    runReader(context, job, attempt)
    if (attempt.isCertain) return
    for (let n = 0; n < maxStatements && rowsIn(attempt) <= maxRowsAtOnce; n++) {
      const view = await this.readAtOnce(attempt)
      attempt = new Attempt(view, context.cache)
      runReader(context, job, attempt)
      if (attempt.isCertain) return
    }
    await this.#readInTransaction(job, attempt)
  }

  /** Reads in a transaction with one snapshot, so that each record is read once. */
  async #readInTransaction(job: Job, first: Reads): Promise<void> {
    const { address, engine } = this.#context
    const begin = engine.hasTurns ? beginSnapshotRead : beginSerializableRead
    for (let n = 0; n < maxNumberings; n++) {
      if (await this.#walk(job, first, begin, false)) return
      // A long walk with locks would block others. So it restarts on a snapshot in which all records have numbers.
      const isNumbered = await this.#numbering((numbering) => this.#readWithin(numbering, new View()))
      if (!isNumbered) {
        await this.#walk(job, first, begin, true)
        return
      }
    }
    await this.#walk(job, first, beginNumbering(address.schema, engine.hasTurns, true), true)
  }

  /** Resolves to whether it read everything. Unless `isFinal`, it stops at records without a number. */
  #walk(job: Job, first: Reads, begin: Statement, isFinal: boolean): Promise<boolean> {
    const context = this.#context
    return context.pool.alone(async (connection) => {
      const begun = connection.send(begin)
      const view = new View()
      try {
        for (let reads = first; ; ) {
          await Promise.all([begun, readInto(context, connection, reads, view)])
          if (view.isUnnumbered && !isFinal) return false
          const attempt = new Attempt(view, context.cache)
          runReader(context, job, attempt)
          if (attempt.isCertain) return true
          reads = attempt
        }
      } finally {
        const ended = connection.sendEnd(end)
        if (context.engine.hasTurns && begin === beginSnapshotRead) ended.catch(() => {})
        else await ended
      }
    }, spared)
  }
}

/** The most records that reads may find. */
function maxFound({ points, pieces }: Reads): number {
  let most = points.size
  for (const { piece } of pieces.values()) most += piece.limit
  return most
}
