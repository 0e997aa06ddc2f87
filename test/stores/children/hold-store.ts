import { writeSync } from 'node:fs'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'

/*
 * Writes a record. Told so, it stops itself in the middle, as a debugger or `kill -STOP` would.
 */

const [directory, where] = process.argv.slice(2) as [string, string]
const say = (line: string) => writeSync(1, `${line}\n`)
const stop = () => {
  say('stopping')
  process.kill(process.pid, 'SIGSTOP')
}

say('opening')
const store = await openLmdbStore(directory)
await store.write((writer) => {
  if (where === 'writing') stop()
  writer.put([where], 1)
})
await store.close()
