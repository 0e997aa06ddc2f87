import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { openCatalog } from '../../src/tabularium/index.ts'

/* Changes a table that all processes share, from many concurrent callers, for a given time in milliseconds. */

const [directory, me, millis] = process.argv.slice(2) as [string, string, string]
const callers = 16
const catalog = await openCatalog(directory)
writeSync(1, 'ready\n')
await once(process.stdin, 'data')

let done = 0
const end = performance.now() + Number(millis)
const caller = async () => {
  while (performance.now() < end) {
    await catalog.insertIntoTable({ id: ['shared'], data: [{ by: `${me} ${done++}` }] })
  }
}
await Promise.all(Array.from({ length: callers }, caller))
await catalog.close()
writeSync(1, `${done}\n`)
process.exit(0)
