import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCatalog } from '../../src/tabularium/index.ts'
import { temporaryDirectory } from '../support/folders.ts'
import { Child } from './child-process.ts'
import { Acknowledged, checkAfterCrash } from './crash-check.ts'
import { prepareSteps } from './crash-steps.ts'
import {
  batchTables,
  batchTasks,
  cloneName,
  cloneTasks,
  columns,
  moveName,
  moveTasks,
  returnLocation,
  returnTasks,
  sides,
} from './crash-work.ts'

/** The number of processes that change the same table of rows before the next table. */
const perTable = 6

/** One catalog, whose processes are killed one at a time, and their acknowledged changes. */
export class CrashRun {
  readonly directory: string
  readonly acknowledged = new Acknowledged()
  readonly #env: Readonly<Record<string, string>>
  #kills = 0

  private constructor(directory: string, env: Readonly<Record<string, string>>) {
    this.directory = directory
    this.#env = env
  }

  /** Creates the catalog. `faults` is the share of content writes that fail, `only` the single task to run. */
  static async begin(faults = 0, only = ''): Promise<CrashRun> {
    const directory = await temporaryDirectory()
    await prepare(directory)
    return new CrashRun(directory, { FAULTS: String(faults), ONLY: only })
  }

  /** Lets a process work for up to half a second, kills it, and checks the catalog. */
  async kill(): Promise<void> {
    const run = this.#kills++
    const table = this.#table(run)
    if (run % perTable === 0) await createRows(this.directory, table)
    const child = new Child('test/processes/crash-child.ts', [this.directory, String(run), table], this.#env)
    // Sometimes kills it while it opens the catalog.
    if (run % 8 === 7) await sleep(50 + Math.random() * 200)
    else {
      await child.said('ready')
      // On a busy machine, the time alone may be too short for any acknowledged change.
      if (run % 2 === 0) await child.wrote(2 + Math.floor(Math.random() * 12))
      // At any moment of its work.
      await sleep(Math.random() * 500)
    }
    await child.kill()
    this.acknowledged.add(child.lines, table, run)
    await checkAfterCrash(this.directory, this.acknowledged, [table])
  }

  /** Checks everything again, and that a vacuum removes exactly the orphans of killed processes. */
  async end(): Promise<void> {
    const tables = new Set(Array.from({ length: this.#kills }, (_, run) => this.#table(run)))
    await checkAfterCrash(this.directory, this.acknowledged, tables)
    {
      await using catalog = await openCatalog(this.directory, { now: () => Date.now() + 3_600_000 })
      await catalog.vacuum({ graceMillis: 0 })
      const { removed } = await catalog.vacuum({ graceMillis: 0, dryRun: true })
      assert.equal(removed, 0)
      const { ok, findings } = await catalog.verify()
      assert.ok(ok, JSON.stringify(findings))
    }
    await checkAfterCrash(this.directory, this.acknowledged, tables)
    await rm(this.directory, { recursive: true, force: true })
  }

  #table(run: number): string {
    return `rows${Math.floor(run / perTable)}`
  }
}

async function prepare(directory: string): Promise<void> {
  await using catalog = await openCatalog(directory)
  for (const id of [['marks'], ['moves'], ['moves', 'deep'], ['returns'], ['pairs'], ['clones']]) {
    await catalog.createNamespace({ id })
  }
  for (const task of batchTasks) {
    for (const name of batchTables) await catalog.declareTable({ id: [name + task] })
  }
  for (const task of moveTasks) await catalog.declareTable({ id: moveName(task, 0) })
  for (const task of cloneTasks)
    await catalog.createTable({ id: cloneName(task, 0), data: [], schema: columns })
  await prepareSteps(catalog)
  for (const task of returnTasks) {
    const id = ['returns', `r${task}`]
    await catalog.declareTable({ id, location: returnLocation(directory, task) })
    await catalog.insertIntoTable({ id, data: [], schema: columns })
    await catalog.createTableTag({ id, tag: 'first', version: 1 })
  }
}

async function createRows(directory: string, name: string): Promise<void> {
  await using catalog = await openCatalog(directory)
  for (const one of [name, ...sides.map((side) => name + side)]) {
    await catalog.createTable({ id: [one], data: [], schema: columns })
  }
}
