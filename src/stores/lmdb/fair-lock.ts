import { nextTurn, performance, sleep } from '../../base/time.ts'
import type { Area, FileLock } from './file-lock.ts'

/** The first waiter polls this often at every turn of the event loop, and every `firstMillis` later. */
const fastPolls = 10
export const firstMillis = 1
/** Other waiters poll less often, so that many waiters leave the processors to the holder of the lock. */
const othersMillis = 5

/**
 * When a waiter finds the lock free in more consecutive polls, it takes the lock before the waiters ahead. Polls are
 * counted, not time: where the event loop is late, the waiters ahead are late, too.
 */
const overtakePolls = 6

/** The bytes of a lock in its file. */
export interface FairLockLayout {
  /** Its holder locks this byte. */
  readonly lock: Area
  /** Each waiter locks one of these bytes, in the order of arrival. */
  readonly queue: Area
  readonly queueBytes: number
}

/**
 * A mutex for all processes and threads that have a file open. The kernel holds the lock, so it never outlives its
 * holder. Waiters get the lock in the order of arrival (on macOS in any order), or fail at their timeout.
 *
 * Locks of one open file never exclude each other, and testing a lock drops it. So a thread must not wait twice at the
 * same time on one instance. It must not test the queue while it waits, nor the lock while it holds it.
 */
export class FairLock {
  readonly #file: FileLock
  readonly #layout: FairLockLayout

  constructor(file: FileLock, layout: FairLockLayout) {
    this.#file = file
    this.#layout = layout
  }

  /** Takes the lock, unless it is held or another waiter wants it. */
  tryAcquire(): boolean {
    return !this.isWanted() && this.#tryLock()
  }

  /** Takes the lock before all waiters, unless it is held. */
  tryRetake(): boolean {
    return this.#tryLock()
  }

  /** Waits for the lock. False after `timeout` milliseconds. */
  async acquire(timeout: number): Promise<boolean> {
    if (this.tryAcquire()) return true
    const begun = performance.now()
    const ticket = await this.#join(timeout)
    if (ticket === undefined) return false
    let free = 0
    try {
      // Without a queue, a pause gives earlier waiters the first chance.
      if (!this.#file.hasRanges) await this.#pause(0)
      for (let poll = 0; ; poll++) {
        // A waiter ahead may be a stopped process, which must not block the others.
        const isNext = this.#isFirst(ticket) || free > overtakePolls
        if (isNext && this.#tryLock()) return true
        free = this.#file.isLocked(this.#layout.lock, 0, 1) ? 0 : free + 1
        if (performance.now() - begun > timeout) return false
        await this.#pause(isNext ? poll : undefined)
      }
    } finally {
      this.#file.unlock(this.#layout.queue, ticket, 1)
    }
  }

  /** Takes the lock before all waiters, and blocks the thread meanwhile. False after `timeout` milliseconds. */
  acquireBlocking(timeout: number): boolean {
    const sleeper = new Int32Array(new SharedArrayBuffer(4))
    const end = performance.now() + timeout
    while (!this.#tryLock()) {
      if (performance.now() > end) return false
      Atomics.wait(sleeper, 0, 0, 1)
    }
    return true
  }

  release(): void {
    this.#file.unlock(this.#layout.lock, 0, 1)
  }

  /** Whether another process or thread waits for the lock. */
  isWanted(): boolean {
    const { queue, queueBytes } = this.#layout
    return this.#file.isLocked(queue, 0, queueBytes, { shared: this.#file.hasRanges })
  }

  /** Whether another process or thread has the lock. */
  isHeld(): boolean {
    return this.#file.isLocked(this.#layout.lock, 0, 1)
  }

  #tryLock(): boolean {
    return this.#file.tryLock(this.#layout.lock, 0, 1)
  }

  /** Joins the queue's end. The ticket is the monotonic clock, which all processes of a machine share. */
  async #join(timeout: number): Promise<number | undefined> {
    const { queue, queueBytes } = this.#layout
    const begun = performance.now()
    let ticket = Number(process.hrtime.bigint() / 1000n) % (queueBytes / 2)
    // A process that tests for waiters locks the whole queue for a moment, and may be stopped in this moment.
    for (
      let poll = 0;
      !this.#file.tryLock(queue, ticket, 1, { shared: !this.#file.hasRanges });
      poll++, ticket++
    ) {
      if (performance.now() - begun > timeout) return undefined
      if (poll >= fastPolls) await sleep(firstMillis)
    }
    return ticket
  }

  #isFirst(ticket: number): boolean {
    return !this.#file.hasRanges || ticket === 0 || !this.#file.isLocked(this.#layout.queue, 0, ticket)
  }

  #pause(poll: number | undefined): Promise<unknown> {
    if (poll === undefined) return sleep(othersMillis)
    if (!this.#file.hasRanges) return sleep(firstMillis + Math.random() * othersMillis)
    return poll < fastPolls ? nextTurn() : sleep(firstMillis)
  }
}
