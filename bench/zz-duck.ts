import { DuckDBInstance } from '@duckdb/node-api'
import { duckdbRows, further, predicates } from './support/predicates.ts'
const N = 3_000_000
const c = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect()
await c.run(`CREATE TABLE seeds AS SELECT i::INTEGER AS i, (random()*1000)::INTEGER AS a, CASE WHEN random() < 0.1 THEN NULL ELSE (random()*1000)::INTEGER END AS n, random() AS x, (floor(random()*16))::INTEGER AS code, (floor(random()*10000))::INTEGER AS key, (1577836800 + floor(random()*6*365*86400))::INTEGER AS moment FROM range(${N}) t(i)`)
await c.run(`CREATE TABLE rows AS ${duckdbRows}`)
await c.run('SET threads = 1')
for (const { predicate, duckdb } of [...predicates, ...further]) {
  const q = `SELECT count(*) FROM rows WHERE ${duckdb ?? predicate}`
  const times = []
  for (let i = 0; i < 6; i++) { const s = performance.now(); await c.runAndReadAll(q); times.push(performance.now() - s) }
  console.log((Math.min(...times) * 1e6 / N).toFixed(2).padStart(8), 'ns/row', predicate)
}
