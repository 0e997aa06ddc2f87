/* Joins and aggregates over a catalog on disk, with DuckDB in the same process. */
import { writeFile } from 'node:fs/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { openCatalog } from 'tabularium'
import { readParquet, writeParquet } from 'tabularium/parquet'
import { tables } from './tables.ts'

await using catalog = await openCatalog('./catalog')
for (const [name, data] of Object.entries(tables)) {
  await catalog.createTable({ id: [name], mode: 'Overwrite', data })
}

// The catalog answers with the rows and columns that are needed, all of one version, as Arrow. DuckDB reads Parquet.
const flights = await catalog.queryTable({
  id: ['flights'],
  columns: ['origin', 'delay'],
  filter: 'delay >= 0',
})
await writeFile('flights.parquet', writeParquet([flights.data]))
const airports = await catalog.queryTable({ id: ['airports'] })
await writeFile('airports.parquet', writeParquet([airports.data]))

const instance = await DuckDBInstance.create()
const connection = await instance.connect()
const byCity = `
  SELECT city, count(*)::INTEGER AS flights, avg(delay) AS mean
  FROM 'flights.parquet' JOIN 'airports.parquet' ON origin = code
  GROUP BY city ORDER BY mean DESC`
const answer = await connection.runAndReadAll(byCity)
for (const row of answer.getRowObjects()) console.log(row)

// The answer becomes a table, with versions and tags as any other.
await connection.run(`COPY (${byCity}) TO 'delays.parquet' (FORMAT parquet)`)
await catalog.createTable({ id: ['delays'], mode: 'Overwrite', data: readParquet('delays.parquet') })
const { count } = await catalog.countTableRows({ id: ['delays'], predicate: 'mean > 40' })
console.log(count, 'cities wait for more than 40 minutes')

connection.closeSync()
instance.closeSync()
