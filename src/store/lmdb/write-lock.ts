import type { StoreLock } from './store-lock.ts'

/** After so many milliseconds, whoever goes on writing looks whether others wait. */
const sliceMillis = 2

/**
 * One hold of the store's lock for all writes under way in a thread, so that many share a commit. Writes that go
 * on without a gap let others in between.
 */
export class WriteLock {
  readonly #lock: StoreLock
  readonly #timeout: number
  /** How many writes are under way. The lock is held while there are any. */
  #underWay = 0
  #lookedAt = 0
  /** Others wait: no further write begins before they had their turn. */
  #isYielding = false
  /** Writes that wait, and their common wait for the lock. */
  #waiting = 0
  #wait: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(lock: StoreLock, timeout: number) {
    this.#lock = lock
    this.#timeout = timeout
  }

  /** How many writes are under way or wait. */
  get writes(): number {
    return this.#underWay + this.#waiting
  }

  /** Begins a write: at once, or when the promise resolves. Each one that began must {@link leave}. */
  enter(): Promise<void> | undefined {
    if (this.#wait === undefined && this.#beginAtOnce()) {
      this.#underWay++
      return undefined
    }
    this.#waiting++
    this.#wait ??= this.#waitForAll()
    return this.#wait
  }

  leave(): void {
    if (--this.#underWay > 0) return
    this.#lock.release()
    this.#isYielding = false
    this.#onIdle?.()
  }

  #beginAtOnce(): boolean {
    if (this.#underWay > 0 && this.#isYielding) return false
    const now = performance.now()
    if (this.#underWay === 0) {
      if (!this.#lock.tryAcquire()) return false
      this.#lookedAt = now
    } else if (now - this.#lookedAt > sliceMillis) {
      this.#lookedAt = now
      this.#isYielding = this.#lock.isWanted()
    }
    return !this.#isYielding
  }

  /** Waits until the writes under way have ended and the lock is free, and begins all writes that came meanwhile. */
  async #waitForAll(): Promise<void> {
    try {
      if (this.#underWay > 0) {
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve
        })
        this.#onIdle = undefined
      }
      await this.#lock.acquire(this.#timeout)
      this.#lookedAt = performance.now()
      this.#underWay = this.#waiting
    } finally {
      this.#waiting = 0
      this.#wait = undefined
    }
  }
}
