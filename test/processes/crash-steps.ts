import assert from 'node:assert/strict'
import { tableFromIPC } from '@uwdata/flechette'
import type { Catalog, LocalCatalog } from '../../src/tabularium/index.ts'

/*
 * Tables whose rows and columns change step by step. The number of steps determines the content, and the version
 * determines the number, so a partial step is detected.
 */

export const stepTasks = [0, 1]

const firstRows = 400
const firstVersion = 2
const idOf = (task: number) => [`steps${task}`]

interface Row {
  readonly id: number
  readonly step: number
  readonly note: string | null
  readonly [added: string]: unknown
}

const newRow = (id: number): Row => ({ id, step: 0, note: null })
const rowsFrom = (start: number, end: number) =>
  Array.from({ length: end - start }, (_, i) => newRow(start + i))

/** The rows for the merge of a step: some existing ones, and a new one. */
const mergedIn = (n: number) =>
  [...Array.from({ length: 50 }, (_, i) => i * 7), firstRows + n].map((id) => ({
    id,
    step: n,
    note: `m${n}`,
  }))

const schema = {
  fields: [
    { name: 'id', type: { type: 'int32' }, nullable: false },
    { name: 'step', type: { type: 'int32' }, nullable: false },
    { name: 'note', type: { type: 'string' }, nullable: true },
  ],
}

/** A step: the change of a table, and the same change of the expected rows. */
interface Step {
  readonly change: (catalog: Catalog, id: string[], n: number) => Promise<unknown>
  readonly becomes: (rows: readonly Row[], n: number) => readonly Row[]
}

/** The cycle of steps. `n` is the number of the step. */
const steps: readonly Step[] = [
  {
    change: (catalog, id, n) =>
      catalog.alterTableAddColumns({ id, new_columns: [{ name: `made${n}`, expression: 'id + step' }] }),
    becomes: (rows, n) => rows.map((row) => ({ ...row, [`made${n}`]: row.id + row.step })),
  },
  {
    change: (catalog, id, n) =>
      catalog.alterTableAlterColumns({ id, alterations: [{ path: `made${n - 1}`, rename: 'kept' }] }),
    becomes: (rows, n) => rows.map(({ [`made${n - 1}`]: kept, ...row }) => ({ ...(row as Row), kept })),
  },
  {
    change: (catalog, id, n) =>
      catalog.mergeInsertIntoTable({
        id,
        on: 'id',
        data: mergedIn(n),
        schema,
        when_matched_update_all: true,
        when_not_matched_insert_all: true,
      }),
    becomes: (rows, n) => {
      const all = new Map(rows.map((row) => [row.id, row]))
      for (const row of mergedIn(n)) all.set(row.id, { kept: null, ...all.get(row.id), ...row })
      return [...all.values()]
    },
  },
  {
    change: (catalog, id) =>
      catalog.updateTable({ id, updates: [['step', 'step + 1']], predicate: 'id % 2 = 0' }),
    becomes: (rows) => rows.map((row) => (row.id % 2 === 0 ? { ...row, step: row.step + 1 } : row)),
  },
  {
    change: (catalog, id) => catalog.alterTableDropColumns({ id, columns: ['kept'] }),
    becomes: (rows) => rows.map(({ kept: _, ...row }) => row as Row),
  },
  {
    change: (catalog, id) => catalog.updateTable({ id, updates: [['step', 'step + 1']] }),
    becomes: (rows) => rows.map((row) => ({ ...row, step: row.step + 1 })),
  },
]

const stepOf = (n: number) => steps[(n - 1) % steps.length]!

export async function prepareSteps(catalog: LocalCatalog): Promise<void> {
  for (const task of stepTasks) {
    const id = idOf(task)
    const half = firstRows / 2
    await catalog.createTable({ id, data: rowsFrom(0, half), schema })
    await catalog.insertIntoTable({ id, data: rowsFrom(half, firstRows), schema })
  }
}

/** The number of steps of a table. */
export async function stepsTaken(catalog: Catalog, task: number): Promise<number> {
  const { version } = await catalog.describeTable({ id: idOf(task), load_detailed_metadata: true })
  return version! - firstVersion
}

/** Makes step `n`, after step `n - 1`. */
export function takeStep(catalog: Catalog, task: number, n: number): Promise<unknown> {
  return stepOf(n).change(catalog, idOf(task), n)
}

/** Checks that a table has `known` complete steps, or one more. Returns how many. */
export async function checkSteps(catalog: Catalog, task: number, known: number): Promise<number> {
  const taken = await stepsTaken(catalog, task)
  assert.ok(taken === known || taken === known + 1, `${taken} steps of task ${task}, after ${known} heard of`)
  let rows: readonly Row[] = rowsFrom(0, firstRows)
  for (let n = 1; n <= taken; n++) rows = stepOf(n).becomes(rows, n)
  const { data } = await catalog.queryTable({ id: idOf(task) })
  const found = tableFromIPC(data).toArray() as Row[]
  const inOrder = (all: readonly Row[]) => all.map((row) => ({ ...row })).sort((a, b) => a.id - b.id)
  assert.deepEqual(inOrder(found), inOrder(rows), `the rows of task ${task} after ${taken} steps`)
  return taken
}
