import { CatalogError, invalid } from '../errors.ts'
import { clearTimeout, setTimeout } from '../time.ts'

/** Most milliseconds to wait for room, unless a budget says otherwise. */
const defaultWait = 30_000

interface Waiter {
  readonly hold: Hold
  readonly bytes: number
  readonly grant: () => void
  readonly refuse: (error: unknown) => void
}

/**
 * A budget of bytes in memory, shared by all pieces of work. Each piece has a hold, which takes bytes as they are
 * needed. A stated need alone reserves nothing.
 *
 * Bytes are granted only if every hold can still get the rest of its need. Otherwise all could have a part and wait for
 * each other. Work that needs more than it stated may still cause such a deadlock. Then the last waiter is refused.
 */
export class ByteBudget {
  readonly total: number
  readonly #maxWait: number
  readonly #holds = new Set<Hold>()
  #waiting: Waiter[] = []
  #used = 0
  /** The sum of the needs of all holds. */
  #needed = 0

  /** `maxWait` is the longest wait for room in milliseconds, or infinity. */
  constructor(total: number, maxWait = defaultWait) {
    this.total = total
    this.#maxWait = maxWait
  }

  get used(): number {
    return this.#used
  }

  /** A hold without bytes. `need` is the most that it will take, where that is known. */
  hold(need = 0): Hold {
    return new Hold(this, need)
  }

  /** For holds: takes bytes as soon as there is room, in the order of the calls. */
  take(hold: Hold, bytes: number, signal: AbortSignal | undefined): Promise<void> | undefined {
    if (bytes > this.total - hold.held) throw exceedsBudget(hold.held + bytes, this.total)
    this.#join(hold, bytes)
    // A hold with bytes goes before holds without any, since these wait for its bytes.
    if ((this.#waiting.length === 0 || hold.held > 0) && this.#mayTake(hold, bytes)) {
      this.#used += bytes
      return undefined
    }
    return this.#wait(hold, bytes, signal)
  }

  /** For holds: takes bytes if there is room now. */
  tryTake(hold: Hold, bytes: number): boolean {
    if (this.#used + bytes > this.total) return false
    this.#join(hold, bytes)
    this.#used += bytes
    return true
  }

  /** For holds: gives bytes back and, when the work is done, its need. */
  give(hold: Hold, bytes: number, isDone: boolean): void {
    this.#used -= bytes
    if (isDone) {
      if (this.#holds.delete(hold)) this.#needed -= hold.need
      // The work has ended, so its pending request must not be granted.
      this.#waiting.find((waiter) => waiter.hold === hold)?.refuse(budgetFull(this.total))
    }
    if (this.#waiting.length > 0) this.#serve()
  }

  #join(hold: Hold, bytes: number): void {
    if (!this.#holds.has(hold)) {
      this.#holds.add(hold)
      this.#needed += hold.need
    }
    const more = hold.held + bytes - hold.need
    if (more <= 0) return
    hold.need += more
    this.#needed += more
  }

  /** Whether there is room, and every hold can still get its need afterwards (the banker's algorithm). */
  #mayTake(hold: Hold, bytes: number): boolean {
    let free = this.total - this.#used - bytes
    if (free < 0) return false
    if (this.#needed <= this.total) return true
    const rest = hold.need - hold.held - bytes
    if (rest <= free) return true
    const others = Array.from(this.#holds, (other) =>
      other === hold
        ? { held: other.held + bytes, rest }
        : { held: other.held, rest: other.need - other.held },
    ).sort((a, b) => a.rest - b.rest)
    for (const other of others) {
      if (other.rest > free) return false
      free += other.held
    }
    return true
  }

  #wait(hold: Hold, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', stop)
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
        finish()
      }
      const stop = () => {
        settle(() => reject(signal!.reason))
        this.#serve()
      }
      const waiter: Waiter = {
        hold,
        bytes,
        grant: () => settle(resolve),
        refuse: (error) => settle(() => reject(error)),
      }
      const giveUp = () => {
        waiter.refuse(budgetFull(this.total))
        this.#serve()
      }
      const timer = this.#maxWait === Number.POSITIVE_INFINITY ? undefined : setTimeout(giveUp, this.#maxWait)
      this.#waiting.push(waiter)
      if (signal?.aborted) stop()
      else signal?.addEventListener('abort', stop, { once: true })
      this.#refuseLastIfStuck()
    })
  }

  #serve(): void {
    let isBlocked = false
    for (const { hold, bytes, grant } of [...this.#waiting]) {
      if ((isBlocked && hold.held === 0) || !this.#mayTake(hold, bytes)) {
        isBlocked = true
      } else {
        this.#used += bytes
        hold.granted(bytes)
        grant()
      }
    }
    this.#refuseLastIfStuck()
  }

  /** When waiters hold all bytes, none will be freed. */
  #refuseLastIfStuck(): void {
    const last = this.#waiting.at(-1)
    if (last === undefined) return
    let held = 0
    for (const { hold } of this.#waiting) held += hold.held
    if (held < this.#used) return
    // The refused work gives back its bytes, and others go on.
    last.refuse(budgetFull(this.total))
  }
}

/** The bytes of a budget that one piece of work holds. It has one pending request at a time. */
export class Hold {
  readonly #budget: ByteBudget
  #held = 0
  /** The bytes that it holds and will still take, as far as known. The budget keeps it up to date. */
  need: number

  constructor(budget: ByteBudget, need: number) {
    this.#budget = budget
    this.need = Math.min(need, budget.total)
  }

  get held(): number {
    return this.#held
  }

  /**
   * Takes bytes: at once, which returns undefined, or as soon as there is room. Fails with `Throttling` after the
   * longest wait, with `InvalidInput` for more than the whole budget, and with the signal's reason.
   */
  take(bytes: number, signal?: AbortSignal): Promise<void> | undefined {
    const waits = this.#budget.take(this, bytes, signal)
    if (waits === undefined) this.#held += bytes
    return waits
  }

  /** Takes bytes if there is room now. Returns whether there was. */
  tryTake(bytes: number): boolean {
    const took = this.#budget.tryTake(this, bytes)
    if (took) this.#held += bytes
    return took
  }

  /** For the budget: adds granted bytes. */
  granted(bytes: number): void {
    this.#held += bytes
  }

  /** Gives some bytes back. */
  give(bytes: number): void {
    this.#held -= bytes
    this.#budget.give(this, bytes, false)
  }

  /** Gives everything back. Harmless when nothing is held. */
  release(): void {
    const held = this.#held
    this.#held = 0
    this.#budget.give(this, held, true)
  }
}

function budgetFull(total: number): CatalogError {
  return new CatalogError(
    'Throttling',
    `Requests under way hold as much memory as they may in all, ${count(total)} bytes. Wait a moment and try again, or send less at a time.`,
  )
}

function exceedsBudget(bytes: number, total: number): CatalogError {
  return invalid(
    `The request needs ${count(bytes)} bytes of memory, and all requests together have ${count(total)}. Ask for less, or send less at a time.`,
  )
}

function count(bytes: number): string {
  return bytes.toLocaleString('en')
}
