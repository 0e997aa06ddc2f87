import { type Catalog, CatalogError } from '../../../src/client/index.ts'

/** What the server said it did, and what it may have done unheard. */
export class Heard {
  readonly tables = new Set<string>()
  /** Labels of inserted rows, by table. */
  readonly labels = new Map<string, Set<string>>()
  /** Changes of which no answer came, and why. */
  readonly unheard = new Map<string, unknown>()
  changes = 0
  reads = 0
}

export const columns = {
  fields: [
    { name: 'i', type: { type: 'int32' }, nullable: false },
    { name: 'label', type: { type: 'string' }, nullable: false },
  ],
}

/** The rows of one label; all of them are there or none. */
function rowsOf(label: string): { i: number; label: string }[] {
  return [1, 2, 3].map((i) => ({ i, label }))
}

export const sharedTable = 'shared'

/** The table of rows that only this task changes. */
export function ownTable(task: number): string {
  return `n$own${task}`
}

/**
 * Changes a catalog and reads it again, over and over, until it is told to end. No name is used twice; a
 * change of which no answer came is not tried again. A read that fails or tells something else than what was
 * heard before ends it with an error.
 */
export async function work(
  catalog: Catalog,
  task: number,
  heard: Heard,
  hasEnded: () => boolean,
): Promise<void> {
  for (let n = 0; !hasEnded(); n++) {
    const name = `n$t${task}-${n}`
    const id = name.split('$')
    const table = n % 3 === 0 ? sharedTable : ownTable(task)
    const label = `${task}-${n}`
    if (n % 4 === 1) {
      await change(heard, name, async () => {
        await catalog.createTable({ id, data: rowsOf(label), schema: columns })
        heard.tables.add(name)
        heard.labels.set(name, new Set([label]))
      })
    } else if (n % 2 === 0) {
      await change(heard, name, async () => {
        await catalog.declareTable({ id })
        heard.tables.add(name)
      })
    } else {
      await change(heard, `${table} ${label}`, async () => {
        await catalog.insertIntoTable({ id: table.split('$'), data: rowsOf(label), schema: columns })
        heard.labels.get(table)!.add(label)
      })
    }
    if (!hasEnded()) await look(catalog, task, name, heard)
  }
}

async function change(heard: Heard, what: string, run: () => Promise<void>): Promise<void> {
  try {
    await run()
    heard.changes++
  } catch (error) {
    heard.unheard.set(what, error)
  }
}

async function look(catalog: Catalog, task: number, name: string, heard: Heard): Promise<void> {
  const known = heard.labels.get(ownTable(task))!.size
  const { count } = await catalog.countTableRows({ id: ownTable(task).split('$') })
  if (count < known * 3 || count % 3 !== 0)
    throw new Error(`${ownTable(task)} has ${count} rows after ${known} inserts`)
  try {
    await catalog.describeTable({ id: name.split('$') })
  } catch (error) {
    const isMissing = error instanceof CatalogError && error.code === 'TableNotFound'
    if (!isMissing || heard.tables.has(name)) throw error
  }
  heard.reads += 2
}
