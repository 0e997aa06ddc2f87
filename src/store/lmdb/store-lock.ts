import { setTimeout as sleep } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { CatalogError } from '../../errors.ts'
import type { Area, FileLock } from './file-lock.ts'
import { lockHolder } from './lock-holder.ts'

/** The one lock that opening, closing and committing need. */
const lock: Area = { name: '', start: 0 }

/** A byte for each process and thread that has the store open, and one more when it may write. */
const users: Area = { name: '-users', start: 2 ** 44 }
const writers: Area = { name: '-writers', start: 2 ** 45 }
const usersBytes = 2 ** 44
const threadsEach = 2 ** 20

/** A byte for everybody who waits, in the order of their coming. */
const queue: Area = { name: '-queue', start: 2 ** 46 }
const queueBytes = 2 ** 52

/** How many looks follow each other as fast as the event loop allows, before looks are milliseconds apart. */
const quickLooks = 10
const nextMillis = 1
/** Those who are not next look more seldom, so that a crowd leaves the processors to the one who is at work. */
const othersMillis = 5

/** A lock that lies free so long, in milliseconds, while somebody ahead does not take it, is taken past them. */
const patience = 30

/**
 * Mutual exclusion of all processes and threads that have a store open. The kernel holds the lock, so that it never
 * outlives its holder. Those who wait are served in the order of their coming (on macOS in any order), and no
 * longer than they say.
 */
export class StoreLock {
  readonly #file: FileLock

  constructor(file: FileLock) {
    this.#file = file
  }

  /** Takes the lock if nobody has it and nobody waits for it. */
  tryAcquire(): boolean {
    return !this.isWanted() && this.#file.tryLock(lock, 0, 1)
  }

  /**
   * Waits for the lock. Fails with `ServiceUnavailable`, naming the process that has the lock, after `timeout`
   * milliseconds.
   */
  async acquire(timeout: number): Promise<void> {
    if (this.tryAcquire()) return
    const begun = performance.now()
    const place = await this.#join(timeout)
    let freeSince: number | undefined
    try {
      // Where there is no order, those who wait already look first.
      if (!this.#file.hasRanges) await this.#pause(0)
      for (let look = 0; ; look++) {
        const now = performance.now()
        // Somebody ahead who was stopped while waiting must not hold up the others.
        const isNext = this.#isFirst(place) || now - (freeSince ?? now) > patience
        if (isNext && this.#file.tryLock(lock, 0, 1)) return
        if (this.#file.isLocked(lock, 0, 1)) freeSince = undefined
        else freeSince ??= now
        if (now - begun > timeout) throw await this.#busy(timeout)
        await this.#pause(isNext ? look : undefined)
      }
    } finally {
      this.#file.unlock(queue, place, 1)
    }
  }

  /** Takes the lock without giving way to those who wait, blocking the thread. False after `timeout` milliseconds. */
  acquireBlocking(timeout: number): boolean {
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    const end = performance.now() + timeout
    while (!this.#file.tryLock(lock, 0, 1)) {
      if (performance.now() > end) return false
      Atomics.wait(sleeper, 0, 0, 1)
    }
    return true
  }

  release(): void {
    this.#file.unlock(lock, 0, 1)
  }

  /** Whether somebody waits for the lock. */
  isWanted(): boolean {
    return this.#file.isLocked(queue, 0, queueBytes, { shared: this.#file.hasRanges })
  }

  /**
   * Announces, until the lock is closed, that this thread has the store open. Fails with `ServiceUnavailable` when
   * a process of the same id has announced it: one in another container, which LMDB cannot tell from this one.
   */
  announce(): void {
    if (!this.#file.hasRanges || this.#file.tryLock(users, thisThread(), 1)) return
    throw new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${this.#file.path}: another process with the id ${process.pid} has the catalog open, in another container, and LMDB tells processes apart by their ids. Let the containers share one process namespace, or reach the catalog over HTTP.`,
    )
  }

  /** Announces, until the lock is closed, that this thread may write. */
  async announceWriter(): Promise<void> {
    if (!this.#file.hasRanges) return
    // Somebody who reads from a medium that cannot be written keeps writers away for the time of a read.
    while (!this.#file.tryLock(writers, thisThread(), 1)) await sleep(nextMillis)
  }

  /** Keeps writers from opening while `body` runs; undefined when one has the store open. */
  withoutWriters<T>(body: () => T): { readonly result: T } | undefined {
    if (!this.#file.tryLock(writers, 0, usersBytes, { shared: true })) return undefined
    try {
      return { result: body() }
    } finally {
      this.#file.unlock(writers, 0, usersBytes)
    }
  }

  /** Whether the file of the lock is new. Told and changed by the one who has the lock. */
  get isNew(): boolean {
    return this.#file.isEmpty
  }

  markUsed(): void {
    this.#file.write(
      'Processes lock this file to take turns at catalog.mdb. Leave it while the catalog is in use.\n',
    )
  }

  close(): void {
    this.#file.close()
  }

  /** Takes a place at the end of the queue. Monotonic time is the same for all processes of a machine. */
  async #join(timeout: number): Promise<number> {
    const begun = performance.now()
    let place = Number(process.hrtime.bigint() / 1000n) % (queueBytes / 2)
    // Others lock all of the queue for the moment in which they look at it, and may be stopped in this moment.
    for (
      let look = 0;
      !this.#file.tryLock(queue, place, 1, { shared: !this.#file.hasRanges });
      look++, place++
    ) {
      if (performance.now() - begun > timeout) throw await this.#busy(timeout)
      if (look >= quickLooks) await sleep(nextMillis)
    }
    return place
  }

  #isFirst(place: number): boolean {
    return !this.#file.hasRanges || place === 0 || !this.#file.isLocked(queue, 0, place)
  }

  #pause(look: number | undefined): Promise<unknown> {
    if (look === undefined) return sleep(othersMillis)
    if (!this.#file.hasRanges) return sleep(nextMillis + Math.random() * othersMillis)
    return look < quickLooks ? new Promise((resolve) => setImmediate(resolve)) : sleep(nextMillis)
  }

  async #busy(timeout: number): Promise<CatalogError> {
    const { path } = this.#file
    const holder =
      (await lockHolder(path)) ??
      `a process that cannot be seen from here: another user's, or one in another container (\`lsof ${path}\` may name it)`
    return new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${path}: waited ${timeout / 1000} s for the lock, which ${holder} has. Continue or end that process, and try again.`,
    )
  }
}

/** The byte of this thread among all threads of all processes. */
function thisThread(): number {
  return (process.pid * threadsEach + (threadId % threadsEach)) % usersBytes
}
