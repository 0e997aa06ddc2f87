import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CatalogError, type LocalCatalog, type Transaction } from '../../../src/tabularium/index.ts'
import { gate } from '../../support/gate.ts'
import { limitEach } from '../../support/time-limit.ts'
import { type Dataset, declared, listed, twoCatalogs } from './support.ts'

// It tries random histories, and reads every version of each.
limitEach(120)

/*
 * Writers in several transactions, outside of all, and past the catalog change two tables, some of them with stale
 * handles. A manifest holds the log of its table: that of the version it was written on, and one change more. So a
 * change that was overlooked is missing in the log after it.
 */

const factor = Number(process.env.HISTORY_RUNS ?? 1)

const tableNames = ['a', 'b'] as const
type Name = (typeof tableNames)[number]
const outside = 3

const name = fc.constantFrom(...tableNames)
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      who: fc.constantFrom(0, 0, 1, 1, 2, outside),
      table: name,
      handle: fc.nat(1),
      isFresh: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('past' as const), table: name }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      who: fc.nat(outside - 1),
      commits: fc.integer({ min: 0, max: 3 }),
      // Before which publication the process dies.
      dies: fc.constantFrom(undefined, undefined, undefined, 0, 1, 2, 3),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('vacuum' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

interface Session {
  readonly tx: Transaction
  readonly changes: { readonly table: Name; readonly change: string }[]
  end(commits: boolean): Promise<void>
}

class GivenUp extends Error {}

async function begin(catalog: LocalCatalog): Promise<Session> {
  const { open: end, opened: ended } = gate<boolean>()
  let running: Promise<unknown> | undefined
  const tx = await new Promise<Transaction>((resolve, reject) => {
    const work = async (tx: Transaction) => {
      resolve(tx)
      if (!(await ended)) throw new GivenUp()
    }
    running = catalog.transaction(work, { attempts: 1 })
    running.catch(reject)
  })
  return {
    tx,
    changes: [],
    end: async (commits) => {
      end(commits)
      await running
    },
  }
}

class World {
  readonly #sessions: (Session | undefined)[] = [undefined, undefined, undefined]
  readonly #handles = new Map<string, { version: number; log: string }>()
  readonly #acknowledged: Record<Name, string[]> = { a: [], b: [] }
  readonly #known = new Set<string>()
  readonly #catalogs: Awaited<ReturnType<typeof twoCatalogs>>
  readonly #datasets: Record<Name, Dataset>
  #changes = 0
  committed = 0

  constructor(catalogs: Awaited<ReturnType<typeof twoCatalogs>>, datasets: Record<Name, Dataset>) {
    this.#catalogs = catalogs
    this.#datasets = datasets
  }

  static async begin(): Promise<World> {
    const catalogs = await twoCatalogs()
    const [a, b] = [
      await declared(catalogs.other, catalogs.content, 'a'),
      await declared(catalogs.other, catalogs.content, 'b'),
    ]
    for (const [table, dataset] of [
      ['a', a],
      ['b', b],
    ] as const)
      await catalogs.other.createTableVersion({ id: [table], ...(await dataset.stage(1, '')) })
    return new World(catalogs, { a, b })
  }

  async do(step: Step): Promise<void> {
    if (step.do === 'write') await this.#write(step)
    else if (step.do === 'past') await this.#past(step.table)
    else if (step.do === 'end') await this.#end(step)
    else await this.#catalogs.other.vacuum({ graceMillis: 0 })
    await this.#checkFiles()
  }

  async #write({ who, table, handle, isFresh }: Step & { do: 'write' }): Promise<void> {
    if (who !== outside) this.#sessions[who] ??= await begin(this.#catalogs.failing)
    const session = this.#sessions[who]
    const on = session?.tx ?? this.#catalogs.other
    const key = `${session ? session.tx.transactionId : outside} ${table} ${handle}`
    const change = String(++this.#changes)
    try {
      const at = (isFresh ? undefined : this.#handles.get(key)) ?? (await this.#open(on, table))
      this.#handles.set(key, at)
      const log = `${at.log} ${change}`
      const staged = await this.#datasets[table].stage(at.version + 1, log)
      await on.createTableVersion({ id: [table], ...staged })
      this.#handles.set(key, { version: at.version + 1, log })
      if (session) session.changes.push({ table, change })
      else this.#acknowledge(table, change)
    } catch (error) {
      if (!isConflict(error)) throw error
      this.#handles.delete(key)
    }
  }

  async #open(on: Pick<LocalCatalog, 'listTableVersions'>, table: Name) {
    const { versions } = await on.listTableVersions({ id: [table], descending: true, limit: 1 })
    const { version, manifest_path } = versions[0]!
    const { prefix, objectPath } = this.#datasets[table]
    const held = await this.#catalogs.content.get(manifest_path.replace(objectPath, prefix))
    return { version, log: new TextDecoder().decode(held) }
  }

  /** A program that does not ask. After a death, somebody has read the table before. */
  async #past(table: Name): Promise<void> {
    await listed(this.#catalogs.other, table)
    const [version, log] = (await this.#published(table)).at(-1)!
    const change = String(++this.#changes)
    await this.#datasets[table].publish(version + 1, `${log} ${change}`)
    this.#acknowledge(table, change)
  }

  async #end({ who, commits, dies }: Step & { do: 'end' }): Promise<void> {
    const session = this.#sessions[who]
    if (session === undefined) return
    this.#sessions[who] = undefined
    const { before } = this.#catalogs
    let links = 0
    before.link = () => {
      if (links++ === dies) before.link = die
    }
    const die = () => {
      throw new Error('killed')
    }
    if (dies === 0) before.link = die
    try {
      await session.end(commits > 0)
      for (const { table, change } of session.changes) this.#acknowledge(table, change)
      if (session.changes.length > 0) this.committed++
    } catch (error) {
      if (!isConflict(error) && !(error instanceof GivenUp)) throw error
    } finally {
      delete before.link
    }
  }

  #acknowledge(table: Name, change: string): void {
    this.#acknowledged[table].push(change)
    this.#known.add(change)
  }

  /** The published versions, in order. */
  async #published(table: Name): Promise<[number, string][]> {
    const found = await this.#datasets[table].manifests()
    return found.filter((entry): entry is [number, string] => typeof entry[0] === 'number')
  }

  /** A reader of the files sees no gap, and in each version one change more than in the one before. */
  async #checkFiles(): Promise<void> {
    for (const table of tableNames) {
      const published = await this.#published(table)
      let before: string | undefined
      for (const [at, [version, log]] of published.entries()) {
        expect(version).toBe(at + 1)
        if (before !== undefined) expect(log).toMatch(new RegExp(`^${before} \\d+$`))
        before = log
        for (const change of log.split(' ').slice(1)) expect(this.#known).toContain(change)
      }
    }
  }

  async endAll(): Promise<void> {
    for (const [who] of this.#sessions.entries())
      await this.#end({ do: 'end', who, commits: 0, dies: undefined })
  }

  /** Nothing is under way: what was acknowledged is there, and the catalog and the files agree. */
  async check(): Promise<void> {
    const { other, content } = this.#catalogs
    for (const table of tableNames) {
      const versions = await listed(other, table)
      const published = await this.#published(table)
      expect(versions).toEqual(published.map(([version]) => version))
      const changes = published.at(-1)![1].split(' ').slice(1)
      expect(changes).toEqual(this.#acknowledged[table])
      const left: string[] = []
      for await (const { path } of content.list(`${this.#datasets[table].prefix}_staged/`)) left.push(path)
      expect(left).toEqual([])
    }
    expect((await other.verify()).findings).toEqual([])
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof CatalogError && error.code === 'ConcurrentModification'
}

it('every transaction that is acknowledged is there whole, and of the others nothing', async () => {
  let committed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const world = await World.begin()
      try {
        for (const one of steps) await world.do(one)
      } finally {
        // A catalog waits for functions of transactions until it closes, also after a failure.
        await world.endAll()
      }
      await world.check()
      committed += world.committed
    }),
    { numRuns: 60 * factor },
  )
  expect(committed).toBeGreaterThan(25)
})
