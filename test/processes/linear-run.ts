import { rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { openCatalog } from '../../src/tabularium/index.ts'
import { beginnings, beginningWithRows, command, transactionOf } from '../histories/commands.ts'
import { finalReads } from '../histories/final-reads.ts'
import {
  type Call,
  emptyWorld,
  linearize,
  type TransactionCommand,
  type World,
} from '../histories/linearize.ts'
import type { Command } from '../histories/model/index.ts'
import { call, resolve } from '../histories/run-history.ts'
import { type Seen, seenIn } from '../histories/script.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { Child } from './child-process.ts'
import type { Order } from './linear-child.ts'

/** A single call, or several in one transaction. */
export type Asked = Command | TransactionCommand

/** A history: initial calls, and then concurrent calls of each process. */
export interface ConcurrentHistory {
  readonly first: readonly Command[]
  readonly meanwhile: readonly (readonly Asked[])[]
}

const perProcess = 5

/** Random histories for a number of processes. */
export function concurrentHistory(processes: number): fc.Arbitrary<ConcurrentHistory> {
  // Most calls are for one table, so that they conflict.
  const one = fc.oneof(command({ table: ['t'] }), command({ table: ['a', 't'] }), command())
  const asked = fc.oneof({ weight: 3, arbitrary: one }, { weight: 1, arbitrary: transactionOf(one) })
  const calls = fc.array(asked, { minLength: 1, maxLength: perProcess, size: 'max' })
  return fc.record({
    first: fc.constantFrom(...beginnings, beginningWithRows),
    meanwhile: fc.array(calls, { minLength: processes, maxLength: processes }),
  })
}

/** The storage of the catalog of a history. */
export interface LinearPlace {
  readonly location: string
  /** The prefix of locations below the catalog's own root. */
  readonly root: string
  dispose(): Promise<void>
}

/** A directory. */
async function directoryPlace(): Promise<LinearPlace> {
  const directory = await temporaryDirectory()
  return {
    location: directory,
    root: `${pathToFileURL(directory).href}/`,
    dispose: () => rm(directory, { recursive: true, force: true }),
  }
}

/** The processes of histories. Every second one serves the catalog and calls it over HTTP. */
export class LinearProcesses implements Disposable {
  readonly #children: readonly Child[]
  readonly #place: () => Promise<LinearPlace>

  constructor(count: number, place = directoryPlace) {
    this.#place = place
    this.#children = Array.from({ length: count }, () => new Child('test/processes/linear-child.ts', []))
  }

  /** Runs a history on a new catalog. Fails with the whole history when no order of the calls explains it. */
  async check({ first, meanwhile }: ConcurrentHistory): Promise<number> {
    const { location, root, dispose } = await this.#place()
    await using catalog = await openCatalog(location)
    const folders = ['x', 'y'].map((name) => [`#R/${name}`, `${root}data/${name}`] as const)
    const world = emptyWorld(folders)
    const seen: Seen[] = []
    const here = async (asked: Command): Promise<Call> => {
      const real = world.binding.toReal(resolve(asked, seen))
      const outcome = await call(catalog, real)
      if ('answer' in outcome) seen.push(...seenIn(outcome.answer, ''))
      return { command: real, outcome, start: 0, end: 0 }
    }
    const told: Call[] = []
    let worlds: World[] = [world]
    const explain = (calls: readonly Call[]) => {
      told.push(...calls)
      worlds = linearize(worlds, calls)
      if (worlds.length === 0) throw new Error(`No order of these calls explains them:\n${render(told)}`)
    }

    for (const asked of first) explain([await here(asked)])
    await this.#all((n) => ({ open: location, served: n % 2 === 1 }))
    const plans = meanwhile.map((calls) => calls.map((asked) => world.binding.toReal(resolve(asked, seen))))
    const answers = await this.#all((n) => ({ run: plans[n] ?? [] }))
    await this.#all(() => ({ close: true }))
    explain(answers.flatMap((line) => JSON.parse(line) as Call[]))
    for (const read of finalReads(worlds[0]!.state)) {
      const real = worlds[0]!.binding.toReal(read)
      explain([{ command: real, outcome: await call(catalog, real), start: 0, end: 0 }])
    }
    await dispose()
    return told.length
  }

  #all(order: (n: number) => Order): Promise<string[]> {
    for (const [n, child] of this.#children.entries()) child.write(`${JSON.stringify(order(n))}\n`)
    return Promise.all(this.#children.map((child) => child.answer()))
  }

  [Symbol.dispose](): void {
    for (const child of this.#children) child.stop()
  }
}

function render(calls: readonly Call[]): string {
  const begin = Math.min(...calls.filter(({ start }) => start > 0).map(({ start }) => start))
  const micros = (at: number) => (at === 0 ? '' : Math.round((at - begin) / 1000))
  return calls
    .map((call) => {
      const when = `${micros(call.start)}-${micros(call.end)}`.padEnd(16)
      if ('transaction' in call)
        return `${when} ${JSON.stringify(call.transaction)} // ${JSON.stringify(call.outcomes)}`
      const { operation, request } = call.command
      return `${when} ${operation}(${JSON.stringify(request)}) // ${JSON.stringify(call.outcome)}`
    })
    .join('\n')
}
