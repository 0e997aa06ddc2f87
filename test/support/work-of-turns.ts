import { type Profiler, Session } from 'node:inspector'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { vi } from 'vitest'
import { TimeSlice } from '../../src/base/scheduling/time-slice.ts'

/* How much work blocks the event loop, by count: the same on a busy machine as on a quiet one. */

/** The work of one turn of the event loop. */
export interface TurnWork {
  /** How often blocks of code of `src/` ran. */
  readonly blocks: number
  /** How many characters became values, bytes or text at once. */
  readonly characters: number
}

/**
 * The most work that one turn of the event loop had, of each kind, while `body` ran. Work in steps rests after each of
 * them meanwhile, not only after some milliseconds. So what is counted is the largest step, or work that has none.
 */
export async function mostWorkOfATurn(body: () => Promise<unknown>): Promise<TurnWork> {
  const due = vi.spyOn(TimeSlice.prototype, 'due', 'get').mockReturnValue(true)
  try {
    return await counted(body)
  } finally {
    due.mockRestore()
  }
}

async function counted(body: () => Promise<unknown>): Promise<TurnWork> {
  using texts = new CountedTexts()
  using blocks = new CountedBlocks()
  let isOver = false
  const work = body().finally(() => {
    isOver = true
  })
  const most = { blocks: 0, characters: 0 }
  while (!isOver) {
    await setImmediate()
    most.blocks = Math.max(most.blocks, blocks.take())
    most.characters = Math.max(most.characters, texts.take())
  }
  await work
  return most
}

/** Code that reads JSON goes over its characters, which are counted by themselves. */
const filesCounted = /\/src\/(?!.*\/json\.ts$)/

/** The compilers of V8 that optimize. */
const compilers = Number.parseInt(process.versions.v8, 10) < 12 ? ['opt'] : ['opt', 'maglev']

/** Counts blocks by the coverage of V8. Optimized code would not count all. */
class CountedBlocks {
  readonly #session = new Session()

  constructor() {
    for (const name of compilers) setFlagsFromString(`--no-${name}`)
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    this.take()
  }

  /** The count since the last one. */
  take(): number {
    let found: readonly Profiler.ScriptCoverage[] = []
    // A session of the same thread answers before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error
      found = result
    })
    let count = 0
    for (const { url, functions } of found) {
      if (!filesCounted.test(url)) continue
      for (const { ranges } of functions) for (const range of ranges) count += range.count
    }
    return count
  }

  [Symbol.dispose](): void {
    this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
    for (const name of compilers) setFlagsFromString(`--${name}`)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: functions of all kinds
type Method = (...args: any[]) => any

/** Counts what the runtime's own functions read and write, in which the coverage sees one call. */
class CountedTexts {
  #count = 0
  readonly #restore: (() => void)[] = []

  constructor() {
    const given = (_: unknown, text: unknown) => (typeof text === 'string' ? text.length : 0)
    const made = (result: unknown) => (typeof result === 'string' ? result.length : 0)
    this.#replace(JSON, 'parse', given)
    this.#replace(JSON, 'stringify', made)
    this.#replace(Buffer, 'from', given)
    this.#replace(Buffer.prototype, 'toString', made)
    this.#replace(TextDecoder.prototype, 'decode', made)
  }

  take(): number {
    const count = this.#count
    this.#count = 0
    return count
  }

  #replace(object: object, name: string, size: (result: unknown, first: unknown) => number): void {
    const methods = object as Record<string, Method>
    const original = methods[name]!
    const count = (length: number) => {
      this.#count += length
    }
    methods[name] = function (this: unknown, ...args: unknown[]) {
      const result = original.apply(this, args)
      count(size(result, args[0]))
      return result
    }
    this.#restore.push(() => {
      methods[name] = original
    })
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore()
  }
}
