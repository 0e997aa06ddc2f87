import { CatalogError } from '../../base/errors.ts'
import { performance, queueMicrotask, sleep } from '../../base/time.ts'
import { type Changes, noChanges } from './access.ts'
import { Attempt } from './attempt.ts'
import { Backoff } from './backoff.ts'
import { Committer, type Refusal } from './committer.ts'
import { isConflict, isLost, lacksLocks } from './failure.ts'
import { areEnough, type Locks, locksOf } from './locks.ts'
import type { ReadPath } from './read-path.ts'
import { undo } from './statements.ts'
import { type Job, readInto, runWriter, type StoreContext } from './store-context.ts'
import { View } from './view.ts'

/** The most bodies that share a commit. No more bodies join after so many changed records. */
const maxJobs = 256
const maxChanges = 4_096

/** No more bodies join after so many read and changed records: hardly more could be locked one by one. */
const maxTouched = 640

/** After so many lost races, the bodies run under the locks of their expected records. */
const maxLosses = 2

/** A job whose caller waits. */
interface Waiting {
  readonly job: Job
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs bodies that write. Bodies that wait meanwhile share the next commit, in their order. A commit is one statement:
 * it compares all reads of the bodies, and makes the changes if nothing differs. Otherwise it returns the current
 * records. So a change takes one round trip when the cache is current, or when the records do not exist.
 */
export class WritePath {
  readonly #context: StoreContext
  readonly #reads: ReadPath
  readonly #committer: Committer
  readonly #delay = new GroupDelay()
  /** How often bodies ran again, since other commits came first. */
  lostRaces = 0
  #queue: Waiting[] = []
  #isWorking = false
  /** Whether others change the same records now: then the optimistic attempts would be lost. */
  #isContended = false

  constructor(context: StoreContext, reads: ReadPath) {
    this.#context = context
    this.#reads = reads
    this.#committer = new Committer(context)
  }

  close(): void {
    this.#committer.close()
  }

  run(job: Job): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ job, resolve, reject })
      if (this.#isWorking) return
      this.#isWorking = true
      queueMicrotask(() => void this.#work())
    })
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#delay.run(
        () => Math.min(this.#queue.length, maxJobs),
        () => this.#settle(this.#queue.splice(0, maxJobs)),
      )
    }
    this.#isWorking = false
  }

  /** Settles all bodies. When they fail together, each is tried alone, so that none fails because of another. */
  async #settle(batch: Waiting[]): Promise<void> {
    try {
      await this.#commit(batch)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      if (batch.length === 1 || isConflict(error) || isLost(error) || error instanceof CatalogError) {
        for (const { reject } of batch) reject(error)
      } else {
        for (const one of batch) await this.#settle([one])
      }
    }
  }

  async #commit(batch: Waiting[]): Promise<void> {
    const { address, engine } = this.#context
    const backoff = new Backoff()
    let view = new View()
    let losses = 0
    let hasRoom = true
    for (;;) {
      try {
        if (engine.hasTurns && (this.#isContended || losses >= maxLosses)) {
          this.#isContended = true
          return await this.#underLocks(batch, hasRoom)
        }
        const attempt = new Attempt(view, this.#context.cache)
        const changes = this.#runAll(batch, attempt)
        if (changes.size === 0) {
          if (attempt.isCertain) return
          view = await this.#reads.readAtOnce(attempt)
          continue
        }
        const locks = hasRoom ? locksOf(address.schema, attempt, changes) : undefined
        const refused = await this.#committer.commit({ reads: attempt, changes, locks })
        if (refused === undefined) return
        if (isLoss(refused, attempt, view)) {
          losses++
          this.lostRaces++
          if (!engine.hasTurns) await backoff.waitOrThrow(conflict())
        }
        view = refused.view
      } catch (error) {
        if (hasRoom && lacksLocks(error)) hasRoom = false
        else await backoff.waitOrThrow(error)
        if (isConflict(error)) this.lostRaces++
        // The view may be outdated now.
        view = new View()
        losses++
      }
    }
  }

  /** Commits under the locks of the expected records, or exclusively if the bodies need others. */
  async #underLocks(batch: Waiting[], hasRoom: boolean): Promise<void> {
    const guess = new Attempt(new View(), this.#context.cache)
    const changes = this.#runAll(batch, guess)
    const locks = hasRoom ? locksOf(this.#context.address.schema, guess, changes) : undefined
    if (locks && (await this.#commitUnderLocks(batch, guess, locks))) return
    await this.#commitUnderLocks(batch, guess, undefined)
  }

  /**
   * Reads, runs the bodies and commits while all changes that need the same locks wait. So no conflict is possible.
   * Resolves to whether the locks sufficed; without locks, all other changes wait.
   */
  #commitUnderLocks(batch: Waiting[], guess: Attempt, locks: Locks | undefined): Promise<boolean> {
    const { pool, cache } = this.#context
    return pool.alone(async (connection) => {
      const begun = this.#committer.begin(connection, locks)
      const view = new View()
      let isOpen = true
      try {
        let attempt = guess
        let changes = noChanges
        do {
          await Promise.all([begun, readInto(this.#context, connection, attempt, view)])
          if (attempt === guess) this.#isContended = !isSame(guess, view)
          attempt = new Attempt(view, cache)
          changes = this.#runAll(batch, attempt)
          if (locks && !areEnough(locks, attempt, changes)) return false
        } while (!attempt.isCertain)
        if (changes.size === 0) return true
        isOpen = false
        if (await this.#committer.finish(connection, { reads: attempt, changes, locks })) throw conflict()
        return true
      } finally {
        if (isOpen) connection.sendEnd(undo).catch(() => {})
      }
    })
  }

  /** Runs bodies in order, each on the changes of those before it. Bodies that do not fit wait for the next commit. */
  #runAll(batch: Waiting[], attempt: Attempt): Changes {
    let changes = noChanges
    for (let i = 0; i < batch.length; i++) {
      changes = runWriter(this.#context, batch[i]!.job, attempt, changes)
      if (changes.size >= maxChanges || changes.size + attempt.points.size >= maxTouched)
        this.#queue.unshift(...batch.splice(i + 1))
    }
    return changes
  }
}

/** Whether others changed known records. Learning unknown records is no loss. */
function isLoss({ points, pieces }: Refusal, attempt: Attempt, view: View): boolean {
  for (const point of points) if (attempt.points.get(point) !== null || view.points.has(point)) return true
  for (const piece of pieces) if (view.pieces.has(piece)) return true
  return false
}

/** Whether the guesses are the current records. */
function isSame(guess: Attempt, view: View): boolean {
  for (const [key, found] of guess.points) {
    if (view.points.get(key)?.version !== found?.version) return false
  }
  return true
}

function conflict(): Error {
  return Object.assign(new Error('Other changes came first.'), { code: '40001', severity: 'ERROR' })
}

/** A commit waits for others half as long as the last commit took, within these bounds, in milliseconds. */
const minMillis = 1
const maxMillis = 5

/** The factor by which the expected group size shrinks after a smaller group. */
const shrinking = 0.75

/** The most commits without a delay, after delays that did not enlarge the group. */
const maxWithout = 64

/**
 * Delays a commit so that more bodies share it (group commit). A commit costs the database nearly the same for one body
 * as for many. But bodies that were committed together return one by one, because their files take different times. So
 * a commit waits a moment if its group is smaller than usual. A single caller never waits. Where delays do not enlarge
 * the group, most commits skip them. `commit_delay` of PostgreSQL is the same idea.
 */
export class GroupDelay {
  #expected = 1
  #millis = minMillis
  #without = 0
  #useless = 0

  /** Runs a commit of `count()` bodies, after a delay if that is useful. */
  async run(count: () => number, commit: () => Promise<void>): Promise<void> {
    const before = count()
    if (before < this.#expected && this.#without-- <= 0) {
      await sleep(this.#millis)
      this.#useless = count() > before ? 0 : Math.min(this.#useless * 2 + 1, maxWithout)
      this.#without = this.#useless
    }
    this.#expected = Math.max(count(), Math.floor(this.#expected * shrinking))
    const begun = performance.now()
    await commit()
    this.#millis = Math.min(Math.max((performance.now() - begun) / 2, minMillis), maxMillis)
  }
}
