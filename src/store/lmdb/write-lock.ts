import type { StoreLock } from './store-lock.ts'

/** After this many milliseconds, a thread that keeps writing checks whether others wait for the lock. */
const sliceMillis = 2

/**
 * Shares the store's lock among all writes of a thread, so that many writes share a commit. A thread that writes
 * without a pause still lets other waiters in.
 */
export class WriteLock {
  readonly #lock: StoreLock
  readonly #timeout: number
  readonly #check: () => void
  /** The number of writes under way. While it is above zero, this thread holds the lock. */
  #underWay = 0
  #checkedAt = 0
  /** Whether other processes or threads wait: no further write begins before one of them had the lock. */
  #isYielding = false
  /** The number of waiting writes, and their common wait for the lock. */
  #waiting = 0
  #wait: Promise<void> | undefined
  #onIdle: (() => void) | undefined
  /** Set while no write is under way and the lock is kept for the next one. */
  #releasing: NodeJS.Immediate | undefined

  /** `check` runs before writes begin, once for all that share a commit, and may refuse them by an error. */
  constructor(lock: StoreLock, timeout: number, check: () => void = () => {}) {
    this.#lock = lock
    this.#timeout = timeout
    this.#check = check
  }

  /** The number of writes under way or waiting. */
  get writes(): number {
    return this.#underWay + this.#waiting
  }

  /** Begins a write: at once, or when the promise resolves. Each write that began must call {@link leave}. */
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
   * Ends a write. The thread keeps the lock until the end of this turn of the event loop. A caller that writes again
   * at once then needs no call of the kernel.
   */
  leave(): void {
    if (--this.#underWay > 0) return
    if (this.#isYielding) this.release()
    else this.#releasing = setImmediate(() => this.release())
    this.#isYielding = false
    this.#onIdle?.()
  }

  /** Releases the lock if it is kept for the next write. */
  release(): void {
    if (this.#underWay > 0 || (this.#releasing === undefined && !this.#isYielding)) return
    clearImmediate(this.#releasing)
    this.#releasing = undefined
    this.#lock.release()
  }

  #beginAtOnce(): boolean {
    if (this.#underWay > 0 && this.#isYielding) return false
    const now = performance.now()
    const isHeld = this.#underWay > 0 || this.#releasing !== undefined
    if (!isHeld) {
      if (!this.#lock.tryAcquire()) return false
      this.#checkedAt = now
      this.#checkOrRelease()
      return true
    }
    if (now - this.#checkedAt > sliceMillis) {
      this.#checkedAt = now
      this.#check()
      if (this.#lock.isWanted()) {
        if (this.#underWay > 0) this.#isYielding = true
        else this.release()
        return false
      }
    }
    clearImmediate(this.#releasing)
    this.#releasing = undefined
    return true
  }

  #checkOrRelease(): void {
    try {
      this.#check()
    } catch (error) {
      this.#lock.release()
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
      this.#checkOrRelease()
      this.#underWay = this.#waiting
    } finally {
      this.#waiting = 0
      this.#wait = undefined
    }
  }
}
