import type { Key } from '../../src/base/store/store.ts'
import { nextTurn, performance, sleep } from '../../src/base/time.ts'
import { type LeaseContext, runLeased } from '../../src/catalog/transactions/leased.ts'
import type { UpkeepTask, UpkeepTurn } from '../../src/catalog/transactions/upkeep.ts'

/** The steps of a turn: few, since a simulation keeps few records. */
const stepsInTurn = 2

class TurnIsOver extends Error {}

/** A former implementation of the upkeep: a turn pauses after each step, and ends after a fixed amount of work. */
export class HastyUpkeep {
  changes = 0
  readonly interval: number
  readonly #core: LeaseContext
  readonly #tasks: readonly UpkeepTask[]
  #marks: Key[] = []
  #running: Promise<void> | undefined

  constructor(core: LeaseContext, interval: number, tasks: readonly UpkeepTask[]) {
    this.interval = interval
    this.#core = core
    this.#tasks = tasks
  }

  begin(mark: Key): void {
    this.#marks.push(mark)
    this.#running ??= nextTurn().then(() => this.#run())
  }

  yieldIfBehind(): undefined {}

  async close(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      while (this.#marks.length > 0) {
        const marks = this.#marks.splice(0)
        await this.#core.store.write((writer) => {
          for (const mark of marks) writer.put(mark, this.interval)
        })
        await runLeased(this.#core, ['upkeep'], (signal) => this.#turn(signal))
      }
    } catch {
      // The next turn retries.
    } finally {
      this.#running = undefined
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    for (const task of this.#tasks) {
      let steps = 0
      const throttled: UpkeepTurn['throttled'] = async (step) => {
        if (steps++ === stepsInTurn) throw new TurnIsOver()
        const began = performance.now()
        const result = await step()
        await sleep(3 * (performance.now() - began))
        return result
      }
      await task.run({ signal, throttled }).catch(() => {})
    }
  }
}
