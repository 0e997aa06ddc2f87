import assert from 'node:assert/strict'
import { tableFromIPC } from '@uwdata/flechette'
import { keys } from '../../src/base/store/records.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'
import { type LocalCatalog, openCatalog } from '../../src/tabularium/index.ts'
import { checkSteps, stepTasks } from './crash-steps.ts'
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
  returnLocation,
  returnTasks,
  sides,
} from './crash-work.ts'

/** The acknowledged changes of all processes so far, and those with unknown outcome. */
export class Acknowledged {
  readonly batches = new Map<number, number>()
  readonly moves = new Map<number, number>()
  /** The last clone of each task that is known to exist. */
  readonly clones = new Map<number, number>()
  /** The last clone that is known to have its own row. */
  readonly grown = new Map<number, number>()
  /** For each table, whether the rows of a label must exist; undefined if unknown. */
  readonly labels = new Map<string, Map<string, boolean | undefined>>()
  /** The known row counts of tables that are deregistered and registered. */
  readonly returns = new Map<number, number>()
  /** The known numbers of steps of the tables that change step by step. */
  readonly steps = new Map<number, number>()
  /** The known numbers of committed transactions of each task of each process, by the table of rows. */
  readonly pairs = new Map<string, Map<string, number>>()
  /** The number of acknowledged changes. */
  total = 0
  /** The number of refused changes, and of disk faults. */
  refused = 0
  faults = 0

  /** Parses the output of one process. */
  add(lines: readonly string[], rowsTable: string, run: number): void {
    const labels = this.labels.get(rowsTable) ?? new Map<string, boolean | undefined>()
    this.labels.set(rowsTable, labels)
    for (const line of lines) {
      const [what, one, two] = line.split(' ') as [string, string, string]
      if (what === 'batch') this.batches.set(Number(one), Number(two))
      else if (what === 'cloned') this.clones.set(Number(one), Number(two))
      else if (what === 'grown') this.grown.set(Number(one), Number(two))
      else if (what === 'moved') this.moves.set(Number(one), Number(two))
      else if (what === 'inserted') labels.set(one, true)
      else if (what === 'refused') labels.set(one, false)
      else if (what === 'deleting') labels.set(one, undefined)
      else if (what === 'deleted') labels.set(one, false)
      else if (what === 'paired') this.paired(rowsTable, `${run}-${one}`, Number(two))
      else if (what === 'returned') this.returns.set(Number(one), Number(two))
      else if (what === 'stepped') this.steps.set(Number(one), Number(two))
      if (what === 'refused') this.refused++
      else if (what === 'fault') this.faults++
      else if (what !== 'ready' && what !== 'deleting') this.total++
    }
  }

  /** Records how many transactions of a task are committed. */
  paired(table: string, task: string, count: number): void {
    const known = this.pairs.get(table) ?? new Map<string, number>()
    this.pairs.set(table, known.set(task, count))
  }
}

/** Opens a catalog after a crash. Checks that it holds all acknowledged changes, and no partial ones. */
export async function checkAfterCrash(
  directory: string,
  acknowledged: Acknowledged,
  rowsTables: Iterable<string>,
): Promise<void> {
  // After an hour, the leases of the process have expired.
  await using catalog = await openCatalog(directory, { now: () => Date.now() + 3_600_000 })
  for (const task of batchTasks) await checkBatches(catalog, task, acknowledged)
  await checkMoves(catalog, acknowledged)
  for (const task of cloneTasks) await checkClones(catalog, task, acknowledged)
  for (const task of returnTasks) await checkReturn(directory, catalog, task, acknowledged)
  const { steps } = acknowledged
  for (const task of stepTasks) steps.set(task, await checkSteps(catalog, task, steps.get(task) ?? 0))
  for (const table of rowsTables) {
    await checkRows(catalog, table, acknowledged)
    await checkPairs(catalog, table, acknowledged)
  }
  await checkTransactions(directory, catalog)
  await checkDropped(directory, catalog)
  const { tables } = await catalog.listAllTables({ limit: 10_000 })
  assert.equal(new Set(tables).size, tables.length, 'A name is listed twice.')
}

async function checkBatches(catalog: LocalCatalog, task: number, acknowledged: Acknowledged): Promise<void> {
  const lists: object[][] = []
  for (const name of batchTables) {
    const { versions } = await catalog.listTableVersions({ id: [name + task], limit: 10_000 })
    lists.push(versions.map(({ version, metadata }) => ({ version, batch: metadata?.batch })))
  }
  const last = lists[0]!.length
  const known = acknowledged.batches.get(task) ?? 0
  // One batch may have been committed but not acknowledged.
  assert.ok(last === known || last === known + 1, `${last} batches of task ${task}, after ${known} heard of`)
  acknowledged.batches.set(task, last)
  const whole = Array.from({ length: last }, (_, i) => ({ version: i + 1, batch: `${task}-${i + 1}` }))
  for (const list of lists) assert.deepEqual(list, whole)

  const { tables } = await catalog.listTables({ id: ['marks'], limit: 10_000 })
  const marks = tables.filter((mark) => mark.startsWith(`marks$${task}-`))
  const wanted = whole.slice(-3).map(({ batch }) => `marks$${batch}`)
  assert.deepEqual(marks.sort(), wanted.sort(), `marks of task ${task}`)
}

async function checkMoves(catalog: LocalCatalog, acknowledged: Acknowledged): Promise<void> {
  const { tables } = await catalog.listTables({ id: ['moves'] })
  assert.equal(tables.length, moveTasks.length)
  for (const task of moveTasks) {
    const known = acknowledged.moves.get(task) ?? 0
    const now = [known, known + 1].find((moves) => tables.includes(moveName(task, moves).join('$')))
    assert.ok(now !== undefined, `no table of task ${task} after ${known} moves, among ${tables}`)
    acknowledged.moves.set(task, now)
  }
}

/** Checks that the last clone has the rows of all clones before it, although each of those was dropped. */
async function checkClones(catalog: LocalCatalog, task: number, acknowledged: Acknowledged): Promise<void> {
  const { tables } = await catalog.listTables({ id: ['clones'] })
  const known = acknowledged.clones.get(task) ?? 0
  const last = [known + 1, known].find((n) => tables.includes(cloneName(task, n).join('$')))
  assert.ok(last !== undefined, `no clone of task ${task} after ${known}, among ${tables}`)
  acknowledged.clones.set(task, last)
  const grown = acknowledged.grown.get(task) ?? 0
  for (const n of [last - 1, last]) {
    const id = cloneName(task, n)
    if (!tables.includes(id.join('$'))) continue
    const { data } = await catalog.queryTable({ id })
    const ids = (tableFromIPC(data).toArray() as { id: number }[]).map((row) => row.id)
    // The row of the last one may be missing, unless it was acknowledged.
    const most = Array.from({ length: n }, (_, i) => i + 1)
    const isWhole: boolean = ids.length === n || n < last || grown >= n
    assert.deepEqual(ids, isWhole ? most : most.slice(0, -1), `rows of ${id}`)
  }
}

/** Checks that a deregistered table can be registered again, with all of its rows, versions and tags. */
async function checkReturn(
  directory: string,
  catalog: LocalCatalog,
  task: number,
  acknowledged: Acknowledged,
): Promise<void> {
  const id = ['returns', `r${task}`]
  const { tables } = await catalog.listTables({ id: ['returns'] })
  if (!tables.includes(id.join('$'))) {
    await catalog.registerTable({ id, location: returnLocation(directory, task) })
  }
  const known = acknowledged.returns.get(task) ?? 0
  const { count } = await catalog.countTableRows({ id })
  assert.ok(count === known || count === known + 1, `${count} rows of task ${task}, after ${known} heard of`)
  acknowledged.returns.set(task, count)
  for (const version of [1, count + 1]) {
    assert.deepEqual(await catalog.countTableRows({ id, version }), { count: version - 1 })
  }
  assert.equal((await catalog.getTableTagVersion({ id, tag: 'first' })).version, 1)
}

async function checkRows(catalog: LocalCatalog, table: string, acknowledged: Acknowledged): Promise<void> {
  const labels = acknowledged.labels.get(table) ?? new Map<string, boolean | undefined>()
  const { data } = await catalog.queryTable({ id: [table] })
  const counts = new Map<string, number>()
  const rows = tableFromIPC(data).toArray() as { note: string }[]
  for (const { note } of rows) counts.set(note, (counts.get(note) ?? 0) + 1)
  assert.deepEqual(await catalog.countTableRows({ id: [table] }), { count: rows.length })

  const unheard = new Set<string>()
  for (const [label, count] of counts) {
    assert.equal(count, 3, label)
    assert.notEqual(labels.get(label), false, `${label} is there, and should not be`)
    if (labels.has(label)) continue
    // Each task has one insert with unknown outcome: the one after its last acknowledged one.
    const [run, task, n] = label.split('-').map(Number) as [number, number, number]
    assert.ok(!unheard.has(`${run}-${task}`), `${label} is a second one unheard of`)
    unheard.add(`${run}-${task}`)
    if (n > 1) assert.ok(labels.has(`${run}-${task}-${n - 1}`), label)
  }
  for (const [label, there] of labels) if (there) assert.equal(counts.get(label), 3, `${label} is lost`)
  // Now the actual state is known.
  for (const label of new Set([...labels.keys(), ...counts.keys()])) labels.set(label, counts.has(label))
  acknowledged.labels.set(table, labels)
}

/** Checks that each transaction is in both tables and in the marks, or in none of them. */
async function checkPairs(catalog: LocalCatalog, table: string, acknowledged: Acknowledged): Promise<void> {
  const found: Map<string, number[]>[] = []
  for (const side of sides) {
    const numbers = new Map<string, number[]>()
    const { data } = await catalog.queryTable({ id: [table + side] })
    for (const { id, note } of tableFromIPC(data).toArray() as { id: number; note: string }[]) {
      numbers.set(note, [...(numbers.get(note) ?? []), id])
    }
    found.push(numbers)
  }
  assert.deepEqual(found[1], found[0], `the two tables of ${table} differ`)
  const { tables } = await catalog.listTables({ id: ['pairs'], limit: 100_000 })
  // All tasks of this table, including those without rows.
  const tasks = new Set([...found[0]!.keys(), ...(acknowledged.pairs.get(table)?.keys() ?? [])])
  for (const task of tasks) {
    const numbers = found[0]!.get(task) ?? []
    const known = acknowledged.pairs.get(table)?.get(task) ?? 0
    const last = numbers.at(-1) ?? 0
    assert.ok(
      last === known || last === known + 1,
      `${last} transactions of ${task}, after ${known} heard of`,
    )
    acknowledged.paired(table, task, last)
    const all = Array.from({ length: last }, (_, i) => i + 1)
    assert.deepEqual(
      numbers,
      all.flatMap((n) => Array(insertsOfPair(n)).fill(n)),
    )
    const marks = tables.filter((name) => name.startsWith(`pairs$${task}-`)).sort()
    const wanted = all.slice(-2).map((n) => `pairs$${task}-${n}`)
    assert.deepEqual(marks, wanted.sort(), `marks of ${task}`)
    for (const mark of marks) {
      const { count } = await catalog.countTableRows({ id: mark.split('$'), predicate: 'note IS NULL' })
      assert.equal(count, 1, mark)
    }
  }
}

/** Checks that the location of a dropped table is free, and that its content is removed. */
async function checkDropped(directory: string, catalog: LocalCatalog): Promise<void> {
  const id = ['dropped']
  const there = await catalog.tableExists({ id }).then(
    () => true,
    () => false,
  )
  if (there) await catalog.dropTable({ id })
  await catalog.declareTable({ id, location: dropLocation(directory) })
  assert.deepEqual(await catalog.listTableVersions({ id }), { versions: [] })
  await catalog.insertIntoTable({ id, data: [{ id: 2, note: null }], schema: columns })
  assert.deepEqual(await catalog.countTableRows({ id }), { count: 1 })
  await catalog.dropTable({ id })
}

/** Checks that no transaction is running: each has ended, or is reported as failed. */
async function checkTransactions(directory: string, catalog: LocalCatalog): Promise<void> {
  const store = await openLmdbStore(directory)
  const ids = await store.read((reader) =>
    Array.from(reader.range({ prefix: keys.transactions }), ({ key }) => String(key[1])),
  )
  await store.close()
  for (const id of ids) {
    const { status } = await catalog.describeTransaction({ id: [id] })
    assert.ok(['Succeeded', 'Failed', 'Canceled'].includes(status), `${id} is ${status}`)
  }
}
