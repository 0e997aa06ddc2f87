import { writeSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { openCatalog } from '../../src/tabularium/index.ts'

/* Inserts into tables in sequence until it is killed. Prints a line for each acknowledged insert. */

const [location, ...tables] = process.argv.slice(2) as [string, ...string[]]
const catalog = await openCatalog(location as 'memory:')
for (let n = 0; ; n++) {
  await catalog.insertIntoTable({ id: [tables[n % tables.length]!], data: [{ x: n }] })
  writeSync(1, `${n}\n`)
  // Without a rest, it would keep a processor busy.
  await setTimeout(10)
}
