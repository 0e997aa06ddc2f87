import type { Core } from '../catalog/core.ts'
import { performance, sleep } from '../time.ts'
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
  #isDue = false
  #running: Promise<void> | undefined

  constructor(changes: number, tasks: readonly UpkeepTask[]) {
    this.changes = changes
    this.#tasks = tasks
  }

  /** Begins soon, and again if it is called meanwhile. Returns at once. */
  begin(core: Core): void {
    this.#isDue = true
    this.#running ??= this.#run(core)
  }

  /** Waits for what is under way, which takes no rests any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async #run(core: Core): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false
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
