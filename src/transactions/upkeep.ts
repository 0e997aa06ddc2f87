import type { Core } from '../catalog/core.ts'
import type { Key } from '../store/store.ts'
import { nextTurn, performance, sleep } from '../time.ts'
import { runLeased } from './leased.ts'

/** A part of the upkeep: clearing old records, finishing what others left. It does a bounded amount of work. */
export type UpkeepTask = (core: Core, turn: UpkeepTurn) => Promise<unknown>

export interface UpkeepTurn {
  /** Aborted when another process has taken the upkeep over. */
  readonly signal: AbortSignal
  /** Does a small step, and leaves the store to users for three times as long as it took. */
  readonly gently: <T>(step: () => Promise<T>) => Promise<T>
}

/** The share of the time that is left to users. */
const rest = 3

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

  constructor(changes: number, tasks: readonly UpkeepTask[]) {
    this.changes = changes
    this.#tasks = tasks
  }

  /** Writes the mark and begins, and once more if it is called meanwhile. Returns at once. */
  begin(core: Core, key: Key, changes: number): void {
    this.#marks.push({ key, changes })
    // The caller of the change may block its thread now, and nobody else could write for as long as the upkeep does.
    this.#running ??= nextTurn().then(() => this.#run(core))
  }

  /** Waits for what is under way, which takes no rests any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(core: Core): Promise<void> {
    try {
      while (this.#marks.length > 0) {
        const marks = this.#marks.splice(0)
        await core.store.write((writer) => {
          for (const { key, changes } of marks) writer.put(key, changes)
        })
        await runLeased(core, ['upkeep'], async (signal) => {
          const turn: UpkeepTurn = { signal, gently: (step) => this.#gently(step) }
          // One that fails is tried again the next time.
          for (const task of this.#tasks) await task(core, turn).catch(() => {})
        })
      }
    } catch {
      // So is the upkeep as a whole.
    } finally {
      this.#running = undefined
    }
  }

  async #gently<T>(step: () => Promise<T>): Promise<T> {
    const began = performance.now()
    const result = await step()
    const { signal } = this.#closing
    await sleep(rest * (performance.now() - began), { signal, ref: false }).catch(() => {})
    return result
  }
}
