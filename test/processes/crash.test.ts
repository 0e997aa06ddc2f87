import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openCatalog } from '../../src/index.ts'
import { temporaryDirectory } from '../histories/stages.ts'
import { Child } from './child-process.ts'
import { compiled } from './compiled.ts'
import { Acknowledged, checkAfterCrash } from './crash-check.ts'
import { batchTables, batchTasks, columns, moveName, moveTasks } from './crash-work.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const kills = 26 * factor
/** So many processes change the same table of rows before the next one does. */
const perTable = 6

test.concurrent.each([1, 2])(
  'what was acknowledged is there and nothing in part, however often the process is killed (catalog %i)',
  { timeout: 120_000 * factor },
  async () => {
    await using script = await compiled('crash-child.ts')
    const directory = await temporaryDirectory()
    await prepare(directory)
    const acknowledged = new Acknowledged()
    const rowsTables = new Set<string>()
    for (let run = 0; run < kills; run++) {
      const rowsTable = `rows${Math.floor(run / perTable)}`
      rowsTables.add(rowsTable)
      const child = new Child(script.path, [directory, String(run), rowsTable])
      // Now and then it is killed while it opens the catalog.
      if (run % 8 === 7) await sleep(50 + Math.random() * 200)
      else {
        await child.said('ready')
        await sleep(Math.random() * 500)
      }
      await child.kill()
      acknowledged.add(child.lines, rowsTable)
      await checkAfterCrash(directory, acknowledged, [rowsTable])
    }
    expect(acknowledged.total).toBeGreaterThan(kills)
    await checkAfterCrash(directory, acknowledged, rowsTables)
    await checkVacuum(directory)
    await checkAfterCrash(directory, acknowledged, rowsTables)
    await rm(directory, { recursive: true, force: true })
  },
)

async function prepare(directory: string): Promise<void> {
  await using catalog = await openCatalog(directory)
  for (const id of [['marks'], ['moves'], ['moves', 'deep']]) await catalog.createNamespace({ id })
  for (const task of batchTasks) {
    for (const name of batchTables) await catalog.declareTable({ id: [name + task] })
  }
  for (const task of moveTasks) await catalog.declareTable({ id: moveName(task, 0) })
  for (let n = 0; n * perTable < kills; n++) {
    await catalog.createTable({ id: [`rows${n}`], data: [], schema: columns })
  }
}

/** What the killed processes left lying about goes, and only that. */
async function checkVacuum(directory: string): Promise<void> {
  await using catalog = await openCatalog(directory, { now: () => Date.now() + 3_600_000 })
  await catalog.vacuum({ graceMillis: 0 })
  expect(await catalog.vacuum({ graceMillis: 0, dryRun: true })).toMatchObject({ removed: 0 })
}
