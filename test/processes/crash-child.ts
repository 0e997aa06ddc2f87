import { writeSync } from 'node:fs'
import { openCatalog } from '../../src/index.ts'
import {
  batchTables,
  batchTasks,
  columns,
  dropLocation,
  moveName,
  moveTasks,
  rowTasks,
} from './crash-work.ts'

/*
 * Works on a catalog with many tasks at once until it is killed. What a task is about to delete and what was
 * acknowledged is written at once, one line each.
 */

const [directory, run, rowsTable] = process.argv.slice(2) as [string, string, string]
const catalog = await openCatalog(directory)

function say(...words: (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

/** Commits batches that each touch three tables, declare one and deregister another. */
async function commitBatches(task: number): Promise<never> {
  const { version = 0 } = await catalog.describeTable({
    id: [batchTables[0]! + task],
    load_detailed_metadata: true,
  })
  for (let n = version + 1; ; n++) {
    const metadata = { batch: `${task}-${n}` }
    await catalog.batchCommitTables({
      operations: [
        ...batchTables.map((name) => ({
          create_table_version: { id: [name + task], version: n, manifest_path: `m${n}`, metadata },
        })),
        { declare_table: { id: ['marks', `${task}-${n}`], properties: metadata } },
        ...(n > 3 ? [{ deregister_table: { id: ['marks', `${task}-${n - 3}`] } }] : []),
      ],
    })
    say('batch', task, n)
  }
}

/** Inserts three rows at a time under a label of their own, and deletes every third label again. */
async function changeRows(task: number): Promise<never> {
  const id = [rowsTable]
  for (let n = 1; ; n++) {
    const label = (k: number) => `${run}-${task}-${k}`
    const data = [1, 2, 3].map((i) => ({ id: i, note: label(n) }))
    await catalog.insertIntoTable({ id, data, schema: columns })
    say('inserted', label(n))
    if (n % 3 !== 0) continue
    say('deleting', label(n - 1))
    await catalog.deleteFromTable({ id, predicate: `note = '${label(n - 1)}'` })
    say('deleted', label(n - 1))
  }
}

/** Renames a table over and over, between two namespaces. */
async function move(task: number): Promise<never> {
  const { tables } = await catalog.listTables({ id: ['moves'] })
  const found = tables.map((name) => name.split('$').at(-1)!).find((name) => name.startsWith(`m${task}-`))!
  for (let n = Number(found.split('-')[1]) + 1; ; n++) {
    const to = moveName(task, n)
    await catalog.renameTable({
      id: moveName(task, n - 1),
      new_namespace_id: to.slice(0, -1),
      new_table_name: to.at(-1)!,
    })
    say('moved', task, n)
  }
}

/** Declares a table at one place of its own, fills and drops it, over and over. */
async function dropAndDeclare(): Promise<never> {
  const id = ['dropped']
  for (;;) {
    await catalog.declareTable({ id, location: dropLocation(directory) })
    await catalog.insertIntoTable({ id, data: [{ id: 1, note: null }], schema: columns })
    await catalog.dropTable({ id })
    say('dropped')
  }
}

say('ready')
await Promise.all([
  ...batchTasks.map(commitBatches),
  ...rowTasks.map(changeRows),
  ...moveTasks.map(move),
  dropAndDeclare(),
])
