import { writeSync } from 'node:fs'
import { CatalogError, openCatalog } from '../../src/tabularium/index.ts'

/*
 * Records versions of a table that all processes share, from concurrent callers, each on top of what a refusal says, until
 * its input ends. Prints each version that was recorded, with the path of its manifest.
 */

const [location, me] = process.argv.slice(2) as [string, string]
const callers = 8
const id = ['shared']
const catalog = await openCatalog(location as `postgres://${string}`)
let isOver = false
process.stdin.on('end', () => {
  isOver = true
})
process.stdin.resume()
writeSync(1, 'ready\n')

let written = 0
let refused = 0
async function caller(): Promise<void> {
  let next = ((await catalog.describeTable({ id, load_detailed_metadata: true })).version ?? 0) + 1
  while (!isOver) {
    // No UUID: the same record again would be another writer's.
    const manifest_path = `${me}/${written++}`
    for (let isRecorded = false; !isRecorded; ) {
      try {
        await catalog.createTableVersion({ id, version: next, manifest_path })
        writeSync(1, `${next} ${manifest_path}\n`)
        isRecorded = true
        next++
      } catch (error) {
        if (!(error instanceof CatalogError) || error.next_version === undefined) throw error
        refused++
        // What a refusal names is never behind what was refused, unless the client was ahead of all others.
        next = error.next_version
      }
    }
  }
}
await Promise.all(Array.from({ length: callers }, caller))
await catalog.close()
writeSync(1, `refused ${refused}\n`)
process.exit(0)
