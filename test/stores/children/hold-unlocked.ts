import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'

/* Keeps a store open as releases did that took no turns, until its input ends. */

const db = open({ path: join(process.argv[2]!, 'catalog.mdb'), noSubdir: true, encoding: 'json' })
await db.put(['old'], 1)
writeSync(1, 'open\n')
process.stdin.resume().on('end', () => db.close())
