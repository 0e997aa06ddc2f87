import type { Key, Reader } from '../../base/store/store.ts'
import { nextTurn, performance, sleep } from '../../base/time.ts'
import type { Core } from '../handle/core.ts'
import { runLeased } from './leased.ts'

/** A part of the upkeep: clearing old records, finishing what others left. */
export interface UpkeepTask {
  /** Does a bounded amount of work, and returns whether it left more to do. */
  run(core: Core, turn: UpkeepTurn): Promise<boolean>
  /** Whether others left changes to it while it ran. Optional, for what can wait for the next change. */
  hasMore?(reader: Reader, core: Core): boolean
}

export interface UpkeepTurn {
  /** Aborted when another process has taken the upkeep over. */
  readonly signal: AbortSignal
  /**
   * Does a small step, and leaves the store to users for three times as long as it took. Work that is behind takes no
   * such rests: users would make it faster than it is done.
   */
  readonly gently: <T>(step: () => Promise<T>, isBehind?: boolean) => Promise<T>
}

/** The share of the time that is left to users. */
const rest = 3

/** Marks that may wait for the end of a rest: about a quarter of the changes that are kept. */
const mostWaiting = 25

/**
 * What has to be done now and then. One process of the catalog does it at a time, in steps of its own. No change of a
 * user waits for it, nor fails with it.
 */
export class Upkeep {
  /** How many changes this process made. It begins anywhere, so that many short-lived processes do their share. */
  changes: number
  readonly #tasks: readonly UpkeepTask[]
  readonly #closing = new AbortController()
  /** What says how many changes were made, and is still to be written. */
  #marks: { readonly key: Key; readonly changes: number }[] = []
  #running: Promise<void> | undefined
  /** Ends the rest that is being taken. */
  #endRest: (() => void) | undefined

  constructor(changes: number, tasks: readonly UpkeepTask[]) {
    this.changes = changes
    this.#tasks = tasks
  }

  /** Writes the mark and begins, and once more if it is called meanwhile. Returns at once. */
  begin(core: Core, key: Key, changes: number): void {
    this.#marks.push({ key, changes })
    if (this.#marks.length > mostWaiting) this.#endRest?.()
    // The caller of the change may block its thread now, and nobody else could write for as long as the upkeep does.
    this.#running ??= nextTurn().then(() => this.#run(core))
  }

  /**
   * Lets the event loop turn once, where the upkeep has waited for that since many changes; undefined otherwise. A loop of
   * changes in memory lets nothing else run.
   */
  letIn(): Promise<void> | undefined {
    return this.#marks.length > 1 ? nextTurn() : undefined
  }

  /** Waits for what is under way, which takes no rests any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#endRest?.()
    await this.#running
  }

  async #run(core: Core): Promise<void> {
    try {
      let hasMore = false
      // It goes on until nothing is left: the changes may end before the work that they made.
      while (this.#marks.length > 0 || (hasMore && !this.#closing.signal.aborted)) {
        await this.#writeMarks(core)
        const done = await runLeased(core, ['upkeep'], (signal) => this.#doTasks(core, signal))
        hasMore = done !== undefined && (await this.#hasMore(core, done.result))
        if (hasMore) await nextTurn()
      }
    } catch {
      // It is tried again the next time.
    } finally {
      this.#running = undefined
    }
  }

  async #writeMarks({ store }: Core): Promise<void> {
    const marks = [...this.#marks]
    if (marks.length === 0) return
    await store.write((writer) => {
      for (const { key, changes } of marks) writer.put(key, changes)
    })
    // Only now: a store that is away must not lose count.
    this.#marks.splice(0, marks.length)
  }

  /** Returns which tasks left more to do; undefined for one that failed. */
  async #doTasks(core: Core, signal: AbortSignal): Promise<readonly (boolean | undefined)[]> {
    const turn: UpkeepTurn = { signal, gently: (step, isBehind) => this.#gently(step, isBehind) }
    const left: (boolean | undefined)[] = []
    for (const task of this.#tasks) left.push(await task.run(core, turn).catch(() => undefined))
    return left
  }

  /**
   * Whether this process goes on. While it held the lease, others left their changes to it, and it may have cleared
   * before they came. So it looks after it has given the lease back: whoever was refused had written a mark before.
   */
  async #hasMore(core: Core, left: readonly (boolean | undefined)[]): Promise<boolean> {
    if (left.includes(true)) return true
    // A task that fails is tried again the next time. Marks that wait make it go on without this look.
    if (left.includes(undefined) || this.#marks.length > 0 || this.#closing.signal.aborted) return false
    return core.store.read((reader) => this.#tasks.some((task) => task.hasMore?.(reader, core)))
  }

  async #gently<T>(step: () => Promise<T>, isBehind = false): Promise<T> {
    const began = performance.now()
    const result = await step()
    if (isBehind || this.#closing.signal.aborted) return result
    const resting = new AbortController()
    this.#endRest = () => resting.abort()
    const millis = rest * (performance.now() - began)
    await sleep(millis, { signal: resting.signal, ref: false }).catch(() => {})
    this.#endRest = undefined
    return result
  }
}
