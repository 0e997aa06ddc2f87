import { performance } from '../../base/time.ts'
import type { DiskSpace } from './disk-space.ts'
import type { StoreLock } from './store-lock.ts'

/** After this many milliseconds, a thread that keeps writing checks whether others wait for the lock. */
const sliceMillis = 2

/**
 * Shares the store's lock among all writes of a thread, so that many writes share a commit. A thread that writes
 * without a pause still admits other waiters.
 */
export class WriteLock {
  readonly #lock: StoreLock
  readonly #timeout: number
  readonly #space: DiskSpace
  /** The number of writes under way. While it is above zero, this thread holds the lock. */
  #underWay = 0
  #checkedAt = 0
  /** Whether other processes or threads wait. Then no further write begins until one of them had the lock. */
  #isYielding = false
  /** The number of waiting writes, and their common wait for the lock. */
  #waiting = 0
  #wait: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  /** Writes begin only where the disk has space. */
  constructor(lock: StoreLock, timeout: number, space: DiskSpace) {
    this.#lock = lock
    this.#timeout = timeout
    this.#space = space
  }

  /** The number of writes under way or waiting. */
  get writes(): number {
    return this.#underWay + this.#waiting
  }

  /** Begins a write: at once, or when the promise resolves. Each begun write must call {@link leave}. */
  enter(): Promise<void> | undefined {
    if (this.#wait === undefined && this.#beginAtOnce()) {
      this.#underWay++
      return undefined
    }
    this.#waiting++
    this.#wait ??= this.#waitForAll()
    return this.#wait
  }

  /**
   * Ends a write. The last one releases the lock at once, before its caller has the result. The caller may block the
   * thread now, and wait for another process that needs the lock.
   */
  leave(): void {
    if (--this.#underWay > 0) return
    this.#isYielding = false
    this.#lock.release()
    this.#onIdle?.()
  }

  #beginAtOnce(): boolean {
    if (this.#underWay > 0 && this.#isYielding) return false
    const now = performance.now()
    const isDue = now - this.#checkedAt > sliceMillis
    if (this.#underWay === 0) {
      // The thread released the lock only for its caller. Its turn goes on, or each write would hand over the lock.
      if (!(isDue ? this.#lock.tryAcquire() : this.#lock.tryRetake())) return false
      if (isDue) this.#checkedAt = now
      this.#check()
      return true
    }
    if (isDue) {
      this.#checkedAt = now
      this.#check()
      this.#isYielding = this.#lock.isWanted()
    }
    return !this.#isYielding
  }

  /** Runs before writes begin, once for all that share a commit, and may throw to refuse them. */
  #check(): void {
    try {
      this.#space.begin()
    } catch (error) {
      if (this.#underWay === 0) this.#lock.release()
      throw error
    }
  }

  /** Waits for the end of the writes under way and for the lock, and then begins all waiting writes. */
  async #waitForAll(): Promise<void> {
    try {
      if (this.#underWay > 0) {
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve
        })
        this.#onIdle = undefined
      }
      await this.#lock.acquire(this.#timeout)
      this.#checkedAt = performance.now()
      this.#check()
      this.#underWay = this.#waiting
    } finally {
      this.#waiting = 0
      this.#wait = undefined
    }
  }
}
