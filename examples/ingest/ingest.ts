/*
 * Loads a folder of days into a catalog: `ingest.ts CATALOG FOLDER`. Each day is a folder of files, one a table, in CSV
 * or JSON lines. A day is one transaction: all of its tables have it, or none. A run that was killed is run again.
 */
import { readdir, readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { CatalogError, openCatalog, type Transaction } from 'tabularium'

type Row = Readonly<Record<string, unknown>>

const loads = ['loads']

/** The rows of each file of a day, by the name of their table. A day has to fit into memory. */
async function readDay(folder: string): Promise<Map<string, Row[]>> {
  const tables = new Map<string, Row[]>()
  for (const file of (await readdir(folder)).sort()) {
    const name = basename(file, extname(file))
    if (tables.has(name)) throw new Error(`${folder} has two files for the table ${name}.`)
    tables.set(name, await readRows(join(folder, file)))
  }
  return tables
}

async function readRows(file: string): Promise<Row[]> {
  const text = await readFile(file, 'utf8')
  if (file.endsWith('.csv')) return parse(text, { columns: true, cast: typed })
  if (!file.endsWith('.jsonl')) throw new Error(`${file} is neither .csv nor .jsonl.`)
  return text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [parseLine(line, `${file}:${at + 1}`)]))
}

/** A number is a number, and an empty value is none. What only looks like a number, such as 007, stays text. */
function typed(text: string, { header }: { readonly header: boolean }): string | number | null {
  if (header) return text
  if (text === '') return null
  return /^-?(0|[1-9]\d{0,14})(\.\d+)?$/.test(text) ? Number(text) : text
}

function parseLine(line: string, where: string): Row {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new Error(`${where} is no JSON.`, { cause })
  }
}

async function isLoaded(tx: Transaction, day: string): Promise<boolean> {
  try {
    return (await tx.countTableRows({ id: loads, predicate: `day = '${day}'` })).count > 0
  } catch (error) {
    if (error instanceof CatalogError && error.code === 'TableNotFound') return false
    throw error
  }
}

/** Inserts rows. The first ones create the table, with their columns. */
async function insert(tx: Transaction, id: string[], data: readonly Row[]): Promise<void> {
  const isThere = await tx.tableExists({ id }).then(
    () => true,
    (error) => {
      if (error instanceof CatalogError && error.code === 'TableNotFound') return false
      throw error
    },
  )
  await (isThere ? tx.insertIntoTable({ id, data }) : tx.createTable({ id, data }))
}

const [location, folder] = process.argv.slice(2)
if (location === undefined || folder === undefined) throw new Error('Give a catalog and a folder of days.')

await using catalog = await openCatalog(location)
for (const day of (await readdir(folder)).sort()) {
  if (!/^\d{4}-\d\d-\d\d$/.test(day))
    throw new Error(`${join(folder, day)} is not named by a day, as 2026-06-01.`)
  const tables = await readDay(join(folder, day))
  // The function runs again when another process changed what it read. It reads whether the day is there already.
  const isNew = await catalog.transaction(async (tx) => {
    if (await isLoaded(tx, day)) return false
    for (const [name, rows] of tables) await insert(tx, [name], rows)
    await insert(tx, loads, [{ day, files: tables.size }])
    return true
  })
  const counts = [...tables].map(([name, { length }]) => `${name} ${length}`).join(', ')
  console.log(`${day}: ${isNew ? counts : 'is there already'}`)
}
