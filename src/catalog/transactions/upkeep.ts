import type { Key, Reader } from '../../base/store/store.ts'
import { nextTurn, performance, sleep } from '../../base/time.ts'
import { type LeaseContext, runLeased } from './leased.ts'

/** A part of the upkeep: clearing old records, finishing the removals of dead processes. */
export interface UpkeepTask {
  /** Does a bounded amount of work, and returns whether it left more to do. */
  run(turn: UpkeepTurn): Promise<boolean>
  /** Whether other processes left work to it while it ran. Optional, for work that can wait for the next change. */
  hasMore?(reader: Reader): boolean
}

export interface UpkeepTurn {
  /** Aborted when another process has taken the upkeep over. */
  readonly signal: AbortSignal
  /**
   * Runs a small step, and then leaves the store to users for three times as long as it took. With `isBehind` there is
   * no pause: users would add work faster than it is done.
   */
  readonly throttled: <T>(step: () => Promise<T>, isBehind?: boolean) => Promise<T>
}

/** How many changes a mark stands for: a hundredth of the number of records to keep. */
export function markInterval(transactionCount: number): number {
  return Math.min(1_000, Math.max(1, Math.floor(transactionCount / 100)))
}

/** How many times as long as a step the pause after it lasts. */
const pauseFactor = 3

/** The most marks that wait for the end of a pause: about a quarter of the changes that are kept. */
const maxWaiting = 25

/** The share of an interval that a process counts as over when it begins. @internal Tests replace it. */
export const countBegins = { at: () => Math.random() }

/**
 * Periodic maintenance. One process of the catalog does it at a time, in store transactions of its own. No change of a
 * user waits for it, nor fails with it.
 */
export class Upkeep {
  /**
   * How many changes this process made. It starts at a random number, so that many short-lived processes do their
   * share.
   */
  changes: number
  /** How many changes a mark stands for. */
  readonly interval: number
  readonly #core: LeaseContext
  readonly #load: () => Promise<readonly UpkeepTask[]>
  /** None before the first run. */
  #tasks: readonly UpkeepTask[] | undefined
  readonly #closing = new AbortController()
  /** Marks that are still to be written. */
  #marks: Key[] = []
  #running: Promise<void> | undefined
  /** Whether it is to run without a mark. */
  #isWoken = false
  /** Ends the current pause. */
  #endPause: (() => void) | undefined

  constructor(core: LeaseContext, interval: number, load: () => Promise<readonly UpkeepTask[]>) {
    this.#core = core
    this.interval = interval
    this.changes = Math.floor(countBegins.at() * interval)
    this.#load = load
  }

  /** Writes the mark and starts the upkeep, which runs once more if this is called meanwhile. Returns at once. */
  begin(mark: Key): void {
    this.#marks.push(mark)
    if (this.#marks.length > maxWaiting) this.#endPause?.()
    // In a later turn: the caller may block its thread now, and other writers would wait for as long as the upkeep
    // writes.
    this.#running ??= nextTurn().then(() => this.#run())
  }

  /** Starts the upkeep, as time alone may have made work for it. Returns at once. */
  wake(): void {
    if (this.#closing.signal.aborted) return
    this.#isWoken = true
    this.#running ??= nextTurn().then(() => this.#run())
  }

  /**
   * Yields to the event loop once if the upkeep has waited for many changes; undefined otherwise. A loop of changes in
   * memory lets nothing else run.
   */
  yieldIfBehind(): Promise<void> | undefined {
    return this.#marks.length > 1 ? nextTurn() : undefined
  }

  /** Waits for the upkeep under way, which no longer pauses. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#endPause?.()
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      let hasMore = this.#isWoken
      this.#isWoken = false
      // It goes on until nothing is left: after the last change, nothing would start it again.
      while (this.#marks.length > 0 || (hasMore && !this.#closing.signal.aborted)) {
        await this.#writeMarks()
        const done = await runLeased(this.#core, ['upkeep'], (signal) => this.#doTasks(signal))
        hasMore = done !== undefined && (await this.#hasMore(done.result))
        if (hasMore) await nextTurn()
      }
    } catch {
      // The next mark tries again.
    } finally {
      this.#running = undefined
    }
  }

  async #writeMarks(): Promise<void> {
    const marks = [...this.#marks]
    if (marks.length === 0) return
    await this.#core.store.write((writer) => {
      for (const mark of marks) writer.put(mark, this.interval)
    })
    // Only after the write: an unavailable store must not lose the count.
    this.#marks.splice(0, marks.length)
  }

  /** Returns which tasks left more to do; undefined for one that failed. */
  async #doTasks(signal: AbortSignal): Promise<readonly (boolean | undefined)[]> {
    const turn: UpkeepTurn = { signal, throttled: (step, isBehind) => this.#throttled(step, isBehind) }
    const left: (boolean | undefined)[] = []
    this.#tasks ??= await this.#load()
    for (const task of this.#tasks) left.push(await task.run(turn).catch(() => undefined))
    return left
  }

  /**
   * Whether this process goes on. While it held the lease, others left their work to it, perhaps after its tasks had
   * run. So it checks after it has released the lease: a process that was refused had written its mark before.
   */
  async #hasMore(left: readonly (boolean | undefined)[]): Promise<boolean> {
    if (left.includes(true)) return true
    // A failed task runs again the next time. With marks waiting, the upkeep goes on without this check.
    if (left.includes(undefined) || this.#marks.length > 0 || this.#closing.signal.aborted) return false
    return this.#core.store.read((reader) => (this.#tasks ?? []).some((task) => task.hasMore?.(reader)))
  }

  async #throttled<T>(step: () => Promise<T>, isBehind = false): Promise<T> {
    const began = performance.now()
    const result = await step()
    if (isBehind || this.#closing.signal.aborted) return result
    const pause = new AbortController()
    this.#endPause = () => pause.abort()
    const millis = pauseFactor * (performance.now() - began)
    await sleep(millis, { signal: pause.signal, ref: false }).catch(() => {})
    this.#endPause = undefined
    return result
  }
}
