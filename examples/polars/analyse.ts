/* Joins and aggregates over a catalog on disk, with Polars in the same process. */
import pl from 'nodejs-polars'
import { openCatalog } from 'tabularium'
import { tables } from './tables.ts'

await using catalog = await openCatalog('./catalog')
for (const [name, data] of Object.entries(tables)) {
  await catalog.createTable({ id: [name], mode: 'Overwrite', data })
}

/** Rows of a table, all of one version. Polars reads the Arrow file that the catalog answers with. */
async function read(name: string, more: { columns?: string[]; filter?: string } = {}): Promise<pl.DataFrame> {
  const { data } = await catalog.queryTable({ id: [name], ...more })
  return pl.readIPC(Buffer.from(data))
}

const flights = await read('flights', { columns: ['origin', 'delay'], filter: 'delay >= 0' })
const airports = await read('airports')
const byCity = flights
  .join(airports, { leftOn: 'origin', rightOn: 'code' })
  .groupBy('city')
  .agg(pl.len().alias('flights'), pl.col('delay').mean().alias('mean'))
  .sort('mean', true)
for (const row of byCity.toRecords()) console.log(row)

// The answer becomes a table, with versions and tags as any other.
await catalog.createTable({ id: ['delays'], mode: 'Overwrite', data: byCity.writeIPC() })
const { count } = await catalog.countTableRows({ id: ['delays'], predicate: 'mean > 40' })
console.log(count, 'cities wait for more than 40 minutes')
