import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { fileContent } from '../../src/contents/files/index.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { CatalogError, type Content, type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { rowsOf } from '../support/rows.ts'
import type { Scenario } from './scenario.ts'

const hour = 3_600_000
/** The possible errors of the clock, in milliseconds. */
const steps = [-3 * hour, -2 * hour, 0, 0, 2 * hour, 3 * hour]
/** The rounds before the tables are replaced. */
const roundsEach = 20
const writers = 6

/** The errors that writers may get: the clock ended their lease, or they had a conflict. */
const refusals = ['ConcurrentModification', 'TableNotFound', 'TableAlreadyExists', 'ServiceUnavailable']

/** Two handles write, deregister and register tables, and vacuum, while their clock steps by hours. */
class ClockRun {
  readonly counts = { steps: 0, vacuums: 0, acknowledged: 0, refused: 0, moves: 0 }
  readonly #folder: string
  readonly #handles: LocalCatalog[] = []
  #offset = 0
  #rounds = 0
  #next = 0
  readonly #acknowledged = new Map<string, number[]>()

  constructor(folder: string) {
    this.#folder = folder
  }

  static async begin(): Promise<ClockRun> {
    const run = new ClockRun(await temporaryDirectory())
    const root = join(run.#folder, 'content')
    await mkdir(root)
    const written = new Map<string, number>()
    const now = () => Date.now() + run.#offset
    for (let i = 0; i < 2; i++) {
      const content = datedBy(now, fileContent(root), written)
      const store = await openLmdbStore(run.#folder)
      run.#handles.push(await openCatalog({ store, content, now, root: 's3://bucket' }))
    }
    return run
  }

  async round(): Promise<void> {
    if (this.#rounds++ % roundsEach === 0) await this.#beginTables()
    let isOver = false
    const stepping = (async () => {
      while (!isOver) {
        this.#offset = pick(steps)
        this.counts.steps++
        // At any moment of the work.
        await sleep(Math.random() * 15)
      }
    })()
    const vacuuming = (async () => {
      while (!isOver) {
        await this.#tries(() => pick(this.#handles).vacuum())
        this.counts.vacuums++
        // Leaves the changes some time.
        await sleep(Math.random() * 5)
      }
    })()
    await Promise.all([...Array.from({ length: writers }, () => this.#write()), this.#move()])
    isOver = true
    await Promise.all([stepping, vacuuming])
    this.#offset = 0
    await this.#check()
  }

  async end(): Promise<void> {
    for (const handle of this.#handles) await handle.close()
    await rm(this.#folder, { recursive: true })
  }

  async #beginTables(): Promise<void> {
    for (const [table] of this.#acknowledged) await this.#handles[0]!.dropTable({ id: [table] })
    this.#acknowledged.clear()
    await this.#handles[0]!.vacuum()
    for (const name of ['a', 'b']) {
      await this.#handles[0]!.createTable({ id: [name], data: [{ n: this.#next }] })
      this.#acknowledged.set(name, [this.#next++])
    }
  }

  async #write(): Promise<void> {
    for (let i = 0; i < 8; i++) {
      const n = this.#next++
      if (Math.random() < 0.2) {
        const id = [`c${n}`]
        if (await this.#tries(() => pick(this.#handles).createTable({ id, data: [{ n }] })))
          this.#acknowledged.set(id[0]!, [n])
      } else {
        const table = pick(['a', 'b'])
        if (await this.#tries(() => pick(this.#handles).insertIntoTable({ id: [table], data: [{ n }] })))
          this.#acknowledged.get(table)!.push(n)
      }
    }
  }

  /** Deregisters a table, and registers its content under the same name. */
  async #move(): Promise<void> {
    const name = `moved${this.#next}`
    const n = this.#next++
    if (!(await this.#tries(() => pick(this.#handles).createTable({ id: [name], data: [{ n }] })))) return
    let location = ''
    const out = async () => {
      ;({ location } = await pick(this.#handles).deregisterTable({ id: [name] }))
    }
    while (!(await this.#tries(out)));
    while (!(await this.#tries(() => pick(this.#handles).registerTable({ id: [name], location }))));
    this.counts.moves++
    this.#acknowledged.set(name, [n])
  }

  async #tries(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call()
      this.counts.acknowledged++
      return true
    } catch (error) {
      if (!(error instanceof CatalogError) || !refusals.includes(error.code)) throw error
      this.counts.refused++
      return false
    }
  }

  async #check(): Promise<void> {
    for (const [table, numbers] of this.#acknowledged) {
      const there = (await rowsOf(this.#handles[1]!, [table])).map(({ n }) => n as number)
      expect([table, there.sort((a, b) => a - b)]).toEqual([table, numbers.sort((a, b) => a - b)])
    }
    expect(await this.#handles[0]!.verify()).toMatchObject({ problems: 0 })
  }
}

/** A content whose object timestamps come from a given clock. */
function datedBy(now: () => number, content: Content, written: Map<string, number>): Content {
  return {
    get: (...given) => content.get(...given),
    async put(path, bytes) {
      written.set(path, now())
      await content.put(path, bytes)
    },
    async *list(prefix) {
      for await (const found of content.list(prefix))
        yield { ...found, modified: written.get(found.path) ?? found.modified }
    },
    async remove(path) {
      await content.remove(path)
      if (!path.endsWith('/')) written.delete(path)
    },
  }
}

function pick<T>(items: readonly T[]): T {
  return items[Math.floor(Math.random() * items.length)]!
}

export async function clock(): Promise<Scenario> {
  const run = await ClockRun.begin()
  return { counts: run.counts, round: () => run.round(), end: () => run.end() }
}
