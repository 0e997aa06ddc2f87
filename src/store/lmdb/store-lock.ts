import { setTimeout as sleep } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { CatalogError } from '../../errors.ts'
import type { Area, FileLock } from './file-lock.ts'
import { lockHolder } from './lock-holder.ts'

/** The lock that opening, closing and committing need. */
const lock: Area = { name: '', start: 0 }

/** Each thread with an open store locks a byte of `users`, and also one of `writers` when it may write. */
const users: Area = { name: '-users', start: 2 ** 44 }
const writers: Area = { name: '-writers', start: 2 ** 45 }
const usersBytes = 2 ** 44
const threadsPerProcess = 2 ** 20

/** Each waiter locks a byte, in the order of arrival. */
const queue: Area = { name: '-queue', start: 2 ** 46 }
const queueBytes = 2 ** 52

/** The first waiter polls this often at every turn of the event loop, and every `firstMillis` later. */
const fastPolls = 10
const firstMillis = 1
/** Other waiters poll less often, so that many waiters leave the processors to the holder of the lock. */
const othersMillis = 5

/**
 * When a waiter finds the lock free this often in a row, it takes the lock before the waiters ahead. Looks are counted,
 * and not time: where the event loop is late, the waiters ahead were late, too.
 */
const overtakeLooks = 6

/**
 * A mutex for all processes and threads that have a store open. The kernel holds the lock, so it never outlives its
 * holder. Waiters get the lock in the order of arrival (on macOS in any order), and wait no longer than their timeout.
 *
 * A thread must not wait twice at the same time on one instance: locks of one open file never exclude each other.
 */
export class StoreLock {
  readonly #file: FileLock

  constructor(file: FileLock) {
    this.#file = file
  }

  /** Takes the lock, unless it is held or another waiter wants it. */
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
    let free = 0
    try {
      // Without an order, a pause gives earlier waiters the first chance.
      if (!this.#file.hasRanges) await this.#pause(0)
      for (let poll = 0; ; poll++) {
        // A waiter ahead may be a stopped process, which must not block the others.
        const isNext = this.#isFirst(place) || free > overtakeLooks
        if (isNext && this.#file.tryLock(lock, 0, 1)) return
        free = this.#file.isLocked(lock, 0, 1) ? 0 : free + 1
        if (performance.now() - begun > timeout) throw await this.#busy(timeout)
        await this.#pause(isNext ? poll : undefined)
      }
    } finally {
      this.#file.unlock(queue, place, 1)
    }
  }

  /** Takes the lock before all waiters, and blocks the thread meanwhile. False after `timeout` milliseconds. */
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

  /** Whether another process or thread waits for the lock. */
  isWanted(): boolean {
    return this.#file.isLocked(queue, 0, queueBytes, { shared: this.#file.hasRanges })
  }

  /**
   * Registers this thread as a user of the store, until the lock is closed. Fails with `ServiceUnavailable` when a
   * process with the same id is registered: it runs in another container, and LMDB cannot tell the two apart.
   */
  register(): void {
    if (!this.#file.hasRanges || this.#file.tryLock(users, thisThread(), 1)) return
    throw new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${this.#file.path}: another process with the id ${process.pid} has the catalog open, in another container, and LMDB tells processes apart by their ids. Let the containers share one process namespace, or reach the catalog over HTTP.`,
    )
  }

  /**
   * Registers this thread as a writer, until the lock is closed. Fails with `ServiceUnavailable` after `timeout`
   * milliseconds.
   */
  async registerWriter(timeout: number): Promise<void> {
    if (!this.#file.hasRanges) return
    const begun = performance.now()
    // A reader on a read-only medium locks the bytes of all writers during a read.
    while (!this.#file.tryLock(writers, thisThread(), 1)) {
      if (performance.now() - begun > timeout) throw await this.#busy(timeout)
      await sleep(firstMillis)
    }
  }

  /** Keeps writers from opening the store. False when a writer has the store open. */
  tryExcludeWriters(): boolean {
    return this.#file.tryLock(writers, 0, usersBytes, { shared: true })
  }

  /** Ends what {@link tryExcludeWriters} began. */
  admitWriters(): void {
    this.#file.unlock(writers, 0, usersBytes)
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

  /** Takes a place at the end of the queue, by the monotonic clock, which all processes of a machine share. */
  async #join(timeout: number): Promise<number> {
    const begun = performance.now()
    let place = Number(process.hrtime.bigint() / 1000n) % (queueBytes / 2)
    // A process that looks for waiters locks the whole queue for a moment, and may be stopped in this moment.
    for (
      let poll = 0;
      !this.#file.tryLock(queue, place, 1, { shared: !this.#file.hasRanges });
      poll++, place++
    ) {
      if (performance.now() - begun > timeout) throw await this.#busy(timeout)
      if (poll >= fastPolls) await sleep(firstMillis)
    }
    return place
  }

  #isFirst(place: number): boolean {
    return !this.#file.hasRanges || place === 0 || !this.#file.isLocked(queue, 0, place)
  }

  #pause(poll: number | undefined): Promise<unknown> {
    if (poll === undefined) return sleep(othersMillis)
    if (!this.#file.hasRanges) return sleep(firstMillis + Math.random() * othersMillis)
    return poll < fastPolls ? new Promise((resolve) => setImmediate(resolve)) : sleep(firstMillis)
  }

  async #busy(timeout: number): Promise<CatalogError> {
    const { path } = this.#file
    const holder =
      (await lockHolder(path)) ??
      `an unknown process of another user or in another container (\`lsof ${path}\` may name it)`
    return new CatalogError(
      'ServiceUnavailable',
      `Cannot use ${path}: waited ${timeout / 1000} s for the lock, which ${holder} has. Continue or end that process, and try again.`,
    )
  }
}

/** The byte of this thread among all threads of all processes. */
function thisThread(): number {
  return (process.pid * threadsPerProcess + (threadId % threadsPerProcess)) % usersBytes
}
