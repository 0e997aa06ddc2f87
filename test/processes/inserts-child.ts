import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { openCatalog } from '../../src/tabularium/index.ts'

/* Inserts into tables, one after the other, until it is killed. A line tells of each insert that was acknowledged. */

const [location, ...tables] = process.argv.slice(2) as [string, ...string[]]
const catalog = await openCatalog(location as 'memory:')
for (let n = 0; ; n++) {
  await catalog.insertIntoTable({ id: [tables[n % tables.length]!], data: [{ x: n }] })
  writeSync(1, `${n}\n`)
  await setTimeout(10)
}
