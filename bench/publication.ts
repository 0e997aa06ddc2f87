/** How long is the instant in which a transaction publishes its tables of Lance? */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openCatalog } from '../dist/tabularium/index.js'
import { about, figure } from './support/figures.ts'
import { pick } from './support/scale.ts'
import { newFolder } from './support/scratch.ts'

const tables = 10
const runs = pick(20, 100)

about(`A transaction gives each of ${tables} tables of Lance a new version. Another process watches the final names of the
manifests, and tells how long after the first one the last one is there. Manifests are files of 2 KB, so no Lance is needed.
Beside it, the whole commit, from the end of the function to the answer.`)

const catalog = await openCatalog(newFolder('publication'), { managedVersioning: true })
const folders = await Promise.all(
  Array.from({ length: tables }, async (_, at) => {
    const { location } = await catalog.declareTable({ id: [`t${at}`] })
    const folder = `${new URL(location).pathname}/_versions`
    mkdirSync(folder, { recursive: true })
    return folder
  }),
)
const nameOf = (version: number) => `${18446744073709551615n - BigInt(version)}.manifest`

/** Looks without a pause, and tells the milliseconds between the first file and the last one. */
const script = `
const { existsSync } = require('node:fs')
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const left = new Set(JSON.parse(line))
  console.log('ready')
  const enough = performance.now() + 30_000
  let first, last
  while (left.size > 0 && performance.now() < enough)
    for (const file of left)
      if (existsSync(file)) {
        left.delete(file)
        last = performance.now()
        first ??= last
      }
  console.log(left.size > 0 ? 'NaN' : last - first)
})`
const watcher = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
const told = createInterface({ input: watcher.stdout })[Symbol.asyncIterator]()

const instants: number[] = []
const commits: number[] = []
for (let version = 1; version <= runs; version++) {
  let begun = 0
  await catalog.transaction(async (tx) => {
    for (const [at, folder] of folders.entries()) {
      const manifest_path = `${folder}/${nameOf(version)}-${crypto.randomUUID()}`
      writeFileSync(manifest_path, new Uint8Array(2_000))
      const entry = { version, manifest_path: manifest_path.replace(/^\/+/, ''), naming_scheme: 'V2' }
      await tx.createTableVersion({ id: [`t${at}`], ...entry })
    }
    watcher.stdin.write(`${JSON.stringify(folders.map((folder) => `${folder}/${nameOf(version)}`))}\n`)
    await told.next()
    begun = performance.now()
  })
  commits.push(performance.now() - begun)
  instants.push(Number((await told.next()).value))
}
watcher.kill()
await catalog.close()

const worst = (samples: readonly number[]) => Math.max(...samples).toFixed(2)
figure(`from the first of ${tables} publications to the last`, instants, {
  unit: 'ms',
  remark: `worst of ${runs}: ${worst(instants)} ms`,
})
figure(`the commit of a transaction over ${tables} tables of Lance`, commits, {
  unit: 'ms',
  remark: `worst of ${runs}: ${worst(commits)} ms`,
})
