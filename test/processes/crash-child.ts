import './faulty-disk.ts'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../src/client/index.ts'
import { serve } from '../../src/server/index.ts'
import { CatalogError, openCatalog } from '../../src/tabularium/index.ts'
import { stepsTaken, stepTasks, takeStep } from './crash-steps.ts'
import {
  batchTables,
  batchTasks,
  cloneName,
  cloneTasks,
  columns,
  dropLocation,
  insertsOfPair,
  moveName,
  moveTasks,
  pairTasks,
  returnLocation,
  returnTasks,
  rowTasks,
  sides,
} from './crash-work.ts'

/*
 * Works on a catalog with many concurrent tasks until it is killed. Prints a line before each deletion, and for each
 * acknowledged or refused change.
 */

const [directory, run, rowsTable] = process.argv.slice(2) as [string, string, string]
const catalog = await openCatalog(directory)
const diskIsFaulty = Number(process.env.FAULTS ?? 0) > 0

function say(...words: (string | number)[]): void {
  writeSync(1, `${words.join(' ')}\n`)
}

/** Whether a change was acknowledged. It may be refused only because of a disk fault, with a suitable error. */
async function done(change: Promise<unknown>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    const isReason = error instanceof CatalogError && ['ServiceUnavailable', 'Internal'].includes(error.code)
    if (diskIsFaulty && isReason) return false
    throw error
  }
}

/** Commits batches that each touch three tables, declare one and deregister another. */
async function commitBatches(task: number): Promise<never> {
  const { version = 0 } = await catalog.describeTable({
    id: [batchTables[0]! + task],
    load_detailed_metadata: true,
  })
  for (let n = version + 1; ; n++) {
    const metadata = { batch: `${task}-${n}` }
    const committed = await done(
      catalog.batchCommitTables({
        operations: [
          ...batchTables.map((name) => ({
            create_table_version: { id: [name + task], version: n, manifest_path: `m${n}`, metadata },
          })),
          { declare_table: { id: ['marks', `${task}-${n}`], properties: metadata } },
          ...(n > 3 ? [{ deregister_table: { id: ['marks', `${task}-${n - 3}`] } }] : []),
        ],
      }),
    )
    if (committed) say('batch', task, n)
    else n--
  }
}

/** Inserts three rows at a time under a new label, and deletes every third label again. */
async function changeRows(task: number): Promise<never> {
  const id = [rowsTable]
  for (let n = 1; ; n++) {
    const label = (k: number) => `${run}-${task}-${k}`
    const data = [1, 2, 3].map((i) => ({ id: i, note: label(n) }))
    const inserted = await done(catalog.insertIntoTable({ id, data, schema: columns }))
    say(inserted ? 'inserted' : 'refused', label(n))
    if (n % 3 !== 0) continue
    say('deleting', label(n - 1))
    const deleted = await done(catalog.deleteFromTable({ id, predicate: `note = '${label(n - 1)}'` }))
    if (deleted) say('deleted', label(n - 1))
  }
}

/**
 * Repeats a transaction that adds rows one by one to each of two tables, declares a table, and drops the table before the
 * previous one.
 */
async function changePairs(task: number): Promise<never> {
  // Some use HTTP and a server that is killed with this process.
  const on = task % 2 === 1 ? served : catalog
  const mark = (n: number) => ['pairs', `${run}-${task}-${n}`]
  for (let n = 1; ; n++) {
    const committed = await done(
      on.transaction(async (tx) => {
        // Each table gets a version, however many inserts there are.
        for (let insert = 0; insert < insertsOfPair(n); insert++) {
          for (const side of sides) {
            const data = [{ id: n, note: `${run}-${task}` }]
            await tx.insertIntoTable({ id: [rowsTable + side], data, schema: columns })
          }
        }
        await tx.createTable({ id: mark(n), data: [{ id: n, note: null }], schema: columns })
        if (n > 2) await tx.dropTable({ id: mark(n - 2) })
      }),
    )
    if (committed) say('paired', task, n)
    else n--
  }
}

/** Repeatedly updates and merges rows of a table, and adds, renames and drops a column. */
async function takeSteps(task: number): Promise<never> {
  for (let n = (await stepsTaken(catalog, task)) + 1; ; ) {
    if (await done(takeStep(catalog, task, n))) say('stepped', task, n++)
  }
}

/** Repeatedly merges the fragments of the table that other tasks change. */
async function optimize(): Promise<never> {
  for (;;) {
    // Leaves the other tasks some time.
    await sleep(5)
    const merged = catalog.optimizeTable({ id: [rowsTable], min_deleted_share: 0 })
    await done(merged.then(({ optimized }) => optimized && say('optimized')))
  }
}

/** Repeatedly renames a table between two namespaces. */
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

/** Repeatedly declares a table at a fixed location, fills it and drops it. */
async function dropAndDeclare(): Promise<never> {
  const id = ['dropped']
  for (;;) {
    const isThere = await catalog.listTables({ id: [] }).then(({ tables }) => tables.includes('dropped'))
    if (!isThere && !(await done(catalog.declareTable({ id, location: dropLocation(directory) })))) continue
    await done(catalog.insertIntoTable({ id, data: [{ id: 1, note: null }], schema: columns }))
    if (await done(catalog.dropTable({ id }))) say('dropped')
  }
}

/**
 * Repeatedly clones a table, drops the original, and adds a row to the clone. Every other original is deregistered
 * first, and registered again for the drop.
 */
async function cloneAndDrop(task: number): Promise<never> {
  const { tables } = await catalog.listTables({ id: ['clones'] })
  const names = tables.map((name) => name.split('$')[1]!).filter((name) => name.startsWith(`c${task}-`))
  const numbers = names.map((name) => Number(name.split('-')[1]))
  let n = Math.max(...numbers)
  for (const old of numbers)
    if (old !== n) await untilDone(() => catalog.dropTable({ id: cloneName(task, old) }))
  const { count } = await catalog.countTableRows({ id: cloneName(task, n), predicate: `id = ${n}` })
  for (let isGrown = count > 0 || n === 0; ; isGrown = false) {
    const id = cloneName(task, n)
    const data = [{ id: n, note: String(run) }]
    if (!isGrown) await untilDone(() => catalog.insertIntoTable({ id, data, schema: columns }))
    say('grown', task, n)
    const { location } = await catalog.describeTable({ id })
    const request = { id: cloneName(task, n + 1), source: id, is_shallow: n % 5 !== 4 }
    await untilDone(() => catalog.cloneTable(request))
    n++
    say('cloned', task, n)
    if (n % 2 === 1) {
      await untilDone(() => catalog.deregisterTable({ id }))
      await untilDone(() => catalog.registerTable({ id, location }))
    }
    await untilDone(() => catalog.dropTable({ id }))
  }
}

async function untilDone(change: () => Promise<unknown>): Promise<void> {
  while (!(await done(change())));
}

/** Repeatedly adds a row to a table, deregisters it and registers it again. */
async function leaveAndReturn(task: number): Promise<never> {
  const id = ['returns', `r${task}`]
  const location = returnLocation(directory, task)
  for (;;) {
    const { tables } = await catalog.listTables({ id: ['returns'] })
    const isThere = tables.includes(`returns$r${task}`)
    if (!isThere && !(await done(catalog.registerTable({ id, location })))) continue
    const { count: n } = await catalog.countTableRows({ id })
    const data = [{ id: n, note: String(run) }]
    if (await done(catalog.insertIntoTable({ id, data, schema: columns }))) say('returned', task, n + 1)
    await done(catalog.deregisterTable({ id }))
  }
}

/** Repeatedly vacuums while the other tasks work. */
async function clear(): Promise<never> {
  for (;;) {
    // Leaves the other tasks some time.
    await sleep(20)
    if (await done(catalog.vacuum({ graceMillis: 0 }))) say('vacuumed')
  }
}

const server = await serve(catalog, { port: 0, auth: false, limits: { eventLoopDelay: 0 } })
const served = connect(server.url, { retries: 0 })
// The first request is slow, and would otherwise be the only one before the kill.
await served.listNamespaces({ id: [] })

say('ready')
const others = () => [
  ...batchTasks.map(commitBatches),
  ...rowTasks.map(changeRows),
  ...moveTasks.map(move),
  ...returnTasks.map(leaveAndReturn),
  ...cloneTasks.map(cloneAndDrop),
  ...stepTasks.map(takeSteps),
  dropAndDeclare(),
  clear(),
  optimize(),
]
await Promise.all([...pairTasks.map(changePairs), ...(process.env.ONLY === 'pairs' ? [clear()] : others())])
