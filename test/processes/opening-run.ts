import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { Child } from './child-process.ts'

/** The concurrent processes of one store. */
export interface OpeningLoad {
  /** The processes that keep the store open, and the number of concurrent writes of each. */
  readonly writers: readonly number[]
  /** How many processes repeatedly open, read and close. */
  readonly lookers: number
  /** How many repeatedly open, add once and close. */
  readonly visitors: number
  /** How many repeatedly open, copy the store, inspect it and close. */
  readonly copiers?: number
  /** Whether some processes are killed, and others exit without closing. */
  readonly kills: boolean
}

interface Told {
  readonly worst: { readonly open: number; readonly write: number; readonly close: number }
  readonly totals: { readonly opens: number; readonly writes: number }
}

/** Processes that open, write and close one store, with the counts of acknowledged additions. */
export class OpeningRun {
  readonly worst = { open: 0, write: 0, close: 0 }
  readonly totals = { opens: 0, writes: 0, kills: 0 }
  readonly #directory: string
  readonly #load: OpeningLoad
  readonly #staying: Child[] = []
  readonly #acknowledged = new Set<number>()

  private constructor(directory: string, load: OpeningLoad) {
    this.#directory = directory
    this.#load = load
  }

  static async begin(load: OpeningLoad): Promise<OpeningRun> {
    const directory = await temporaryDirectory()
    // Readers need an existing store.
    await (await openLmdbStore(directory)).close()
    const run = new OpeningRun(directory, load)
    const { writers, lookers, visitors, copiers = 0 } = load
    for (const inFlight of writers) run.#staying.push(run.#start('write', inFlight))
    for (let i = 0; i < lookers; i++) run.#staying.push(run.#start('look'))
    for (let i = 0; i < visitors; i++) run.#staying.push(run.#start('visit'))
    for (let i = 0; i < copiers; i++) run.#staying.push(run.#start('copy'))
    // Until then, a busy machine may not have started them.
    for (const [i] of writers.entries()) await run.#staying[i]!.wrote(1)
    return run
  }

  /** Lets the processes work for a while. */
  async round(millis: number): Promise<void> {
    const end = Date.now() + millis
    while (Date.now() < end) {
      if (this.#load.kills) {
        const leaving = this.#start('leave', 3)
        const killed = this.#start(Math.random() < 0.5 ? 'visit' : 'look')
        // At any moment of opening, work or closing.
        await new Promise((resolve) => setTimeout(resolve, 60 + Math.random() * 120))
        await killed.kill()
        this.totals.kills++
        this.#take(killed)
        await this.#finish(leaving)
      } else {
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      for (const child of this.#staying) this.#take(child)
    }
  }

  /** Stops all processes, and compares the counter with the acknowledged additions. */
  async end(): Promise<void> {
    try {
      for (const child of this.#staying) child.end()
      for (const child of this.#staying) await this.#finish(child)
      await this.#check()
    } finally {
      for (const child of this.#staying) child.stop()
      await rm(this.#directory, { recursive: true })
    }
  }

  async #check(): Promise<void> {
    const store = await openLmdbStore(this.#directory)
    try {
      const [counter, logged] = await store.read((reader) => [
        reader.get<number>(['counter']) ?? 0,
        new Set(Array.from(reader.range({ prefix: ['log'] }), ({ key }) => key[1] as number)),
      ])
      // A killed process may have one write that was not acknowledged.
      expect(Array.from(this.#acknowledged).filter((number) => !logged.has(number))).toEqual([])
      expect(logged.size).toBe(counter)
    } finally {
      await store.close()
    }
  }

  #start(role: string, amount = 0): Child {
    return new Child('test/processes/opening-child.ts', [this.#directory, role, String(amount)])
  }

  async #finish(child: Child): Promise<void> {
    await child.ended()
    this.#take(child)
  }

  /** Processes the new output of a process. */
  #take(child: Child): void {
    for (const line of child.lines.splice(0)) {
      if (!line.startsWith('{')) {
        const number = Number(line)
        // Two processes with the same number did not see each other's write.
        if (this.#acknowledged.has(number)) throw new Error(`Number ${number} was given twice.`)
        this.#acknowledged.add(number)
        continue
      }
      const { worst, totals } = JSON.parse(line) as Told
      for (const what of ['open', 'write', 'close'] as const) {
        this.worst[what] = Math.max(this.worst[what], worst[what])
      }
      this.totals.opens += totals.opens
      this.totals.writes += totals.writes
    }
  }
}

const adders = 4
const additions = 5

/** Processes that open new stores at the same instant. Each path must become a single store. */
export class BeginningRun implements Disposable {
  readonly #children = Array.from(
    { length: adders },
    () => new Child('test/processes/opening-child.ts', ['', 'begin', String(additions)]),
  )

  async round(): Promise<void> {
    const directory = await temporaryDirectory()
    const folder = join(directory, 'new')
    for (const child of this.#children) child.write(`${folder}\n`)
    const numbers: number[] = []
    for (const child of this.#children) {
      for (let line = await child.answer(); line !== 'closed'; line = await child.answer()) {
        numbers.push(Number(line))
      }
    }
    const expected = Array.from({ length: adders * additions }, (_, i) => i + 1)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(expected)
    const store = await openLmdbStore(folder)
    expect(await store.read((reader) => reader.get(['counter']))).toBe(expected.length)
    await store.close()
    await rm(directory, { recursive: true })
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.stop()
  }
}
