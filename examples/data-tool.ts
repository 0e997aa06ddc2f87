/*
 * A tool that keeps its tables in a directory of its own: it loads each day of measurements once, answers
 * questions about them, and takes back a day that turns out to be wrong.
 */
import { tableFromIPC } from '@uwdata/flechette'
import { CatalogError, type LocalCatalog, openCatalog } from 'tabularium'

interface Measurement {
  readonly station: string
  readonly celsius: number | null
}

const id = ['measurements']

/** Adds the rows of a day, unless they are there. A tag names the version that has them. */
async function load(catalog: LocalCatalog, day: string, rows: readonly Measurement[]): Promise<boolean> {
  if ((await versionOf(catalog, day)) !== undefined) return false
  const data = rows.map((row) => ({ day, ...row }))
  const { version } = await insert(catalog, data)
  await catalog.createTableTag({ id, tag: day, version: version! })
  return true
}

/** Inserts rows; the first ones create the table, with their columns. */
async function insert(catalog: LocalCatalog, data: readonly Readonly<Record<string, unknown>>[]) {
  try {
    return await catalog.insertIntoTable({ id, data })
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'TableNotFound')) throw error
    return catalog.createTable({ id, data })
  }
}

/** The version that a day was loaded as; undefined when it was not. */
async function versionOf(catalog: LocalCatalog, day: string): Promise<number | undefined> {
  try {
    return (await catalog.getTableTagVersion({ id, tag: day })).version
  } catch (error) {
    const missing = ['TableNotFound', 'TableTagNotFound']
    if (error instanceof CatalogError && missing.includes(error.code)) return undefined
    throw error
  }
}

// Another process may have the same directory open, and may read and write meanwhile.
await using catalog = await openCatalog('./measurements')

const monday = [
  { station: 'harbour', celsius: 18.5 },
  { station: 'tower', celsius: null },
]
console.log(await load(catalog, '2026-06-01', monday)) // true
console.log(await load(catalog, '2026-06-01', monday)) // false
console.log(await load(catalog, '2026-06-02', [{ station: 'tower', celsius: 95 }])) // true

const { count } = await catalog.countTableRows({ id, predicate: 'celsius > 30' })
console.log(count) // 1

// Rows come as Arrow, for any library that reads it.
const { data } = await catalog.queryTable({ id, columns: ['station'], filter: 'celsius IS NULL' })
console.log(tableFromIPC(data).toArray()) // [ { station: 'tower' } ]

// 95 degrees cannot be. The table goes back to what it was on Monday; the wrong day stays in its history.
const version = await versionOf(catalog, '2026-06-01')
await catalog.restoreTable({ id, version: version! })
await catalog.deleteTableTag({ id, tag: '2026-06-02' })
console.log((await catalog.countTableRows({ id })).count) // 2

console.log((await catalog.verify()).ok) // true
