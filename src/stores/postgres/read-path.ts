import { setImmediate } from '../../base/time.ts'
import { Attempt } from './attempt.ts'
import { cannotWrite } from './failure.ts'
import { type Ground, type Job, readInto, runReader } from './ground.ts'
import { Patience } from './patience.ts'
import { beginNumbering, beginReading, beginReadingSerially, end, type Statement } from './statements.ts'
import { type Reads, rowsIn, View } from './view.ts'

/** More records than these are not read twice. */
const mostRowsAtOnce = 1_000

/** After so many statements that left something open, what was read is held fast. */
const mostStatements = 4

/** How often a long walk numbers records before it begins, where others append all the time. */
const mostNumberings = 20

/** Connections that are left for others while reads hold theirs. */
const spared = 2

/** Reads that may find more records than this share no statement: those of the others would wait for theirs. */
const mostShared = 256

/** A read whose caller waits. */
interface Waiting {
  readonly reads: Reads
  readonly resolve: (view: View) => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs bodies that read. The first run is a guess: it tells what to read. One statement reads all of it at one moment,
 * and when the next run reads nothing else, its result counts.
 */
export class ReadPath {
  readonly #ground: Ground
  #waiting: Waiting[] = []

  constructor(ground: Ground) {
    this.#ground = ground
  }

  async run(job: Job): Promise<void> {
    const patience = new Patience()
    for (;;) {
      try {
        return await this.#attempt(job)
      } catch (error) {
        await patience.after(error)
      }
    }
  }

  /** What an attempt read, as it is at one moment now. Small reads that begin in one turn share a statement. */
  readAtOnce(reads: Reads): Promise<View> {
    if (mostFound(reads) > mostShared) return this.#read(reads)
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
    const ground = this.#ground
    const view = ground.engine.hasTurns
      ? await ground.pool.shared((connection) => readInto(ground, connection, reads))
      : // Where writers take no turns, a moment may show a change without another one that comes before it.
        await this.#readWithin(beginReadingSerially, reads)
    if (!view.isUnnumbered) return view
    return this.#numbering((begin) => this.#readWithin(begin, reads)).then((numbered) => numbered ?? view)
  }

  #readWithin(begin: Statement, reads: Reads): Promise<View> {
    const ground = this.#ground
    return ground.pool.alone(async (connection) => {
      const [begun, view, ended] = await Promise.allSettled([
        connection.send(begin),
        readInto(ground, connection, reads),
        connection.sendEnd(end),
      ])
      for (const part of [begun, view, ended]) if (part.status === 'rejected') throw part.reason
      return (view as PromiseFulfilledResult<View>).value
    })
  }

  /**
   * Reads in a transaction that numbers records first. Resolves to nothing where nobody can write now: the user sees those
   * records that were numbered before.
   */
  async #numbering<T>(read: (begin: Statement) => Promise<T>): Promise<T | undefined> {
    const { address, engine } = this.#ground
    try {
      return await read(beginNumbering(address.schema, engine.hasTurns))
    } catch (error) {
      if (cannotWrite(error)) return undefined
      throw error
    }
  }

  async #attempt(job: Job): Promise<void> {
    const ground = this.#ground
    let attempt = new Attempt(new View(), ground.known)
    runReader(ground, job, attempt)
    if (attempt.isCertain) return
    for (let n = 0; n < mostStatements && rowsIn(attempt) <= mostRowsAtOnce; n++) {
      const view = await this.readAtOnce(attempt)
      attempt = new Attempt(view, ground.known)
      runReader(ground, job, attempt)
      if (attempt.isCertain) return
    }
    await this.#heldFast(job, attempt)
  }

  /** Reads in a transaction that keeps seeing one moment, so that each record is read once. */
  async #heldFast(job: Job, first: Reads): Promise<void> {
    const { address, engine } = this.#ground
    const begin = engine.hasTurns ? beginReading : beginReadingSerially
    for (let n = 0; n < mostNumberings; n++) {
      if (await this.#walk(job, first, begin, false)) return
      // A long walk that holds locks would keep others waiting. So it begins again at a moment at which all have numbers.
      const isNumbered = await this.#numbering((numbering) => this.#readWithin(numbering, new View()))
      if (!isNumbered) {
        await this.#walk(job, first, begin, true)
        return
      }
    }
    await this.#walk(job, first, beginNumbering(address.schema, engine.hasTurns, true), true)
  }

  /** Resolves to whether it read all. Unless `isFinal`, it stops at records that have no number yet. */
  #walk(job: Job, first: Reads, begin: Statement, isFinal: boolean): Promise<boolean> {
    const ground = this.#ground
    return ground.pool.alone(async (connection) => {
      const begun = connection.send(begin)
      const view = new View()
      try {
        for (let reads = first; ; ) {
          await Promise.all([begun, readInto(ground, connection, reads, view)])
          if (view.isUnnumbered && !isFinal) return false
          const attempt = new Attempt(view, ground.known)
          runReader(ground, job, attempt)
          if (attempt.isCertain) return true
          reads = attempt
        }
      } finally {
        const ended = connection.sendEnd(end)
        if (ground.engine.hasTurns && begin === beginReading) ended.catch(() => {})
        else await ended
      }
    }, spared)
  }
}

/** The most records that reads may find. */
function mostFound({ points, pieces }: Reads): number {
  let most = points.size
  for (const { piece } of pieces.values()) most += piece.limit
  return most
}
