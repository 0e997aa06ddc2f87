import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { CatalogError, openCatalog } from '../../src/tabularium/index.ts'

/* Makes all kinds of changes that remove content, until its input says to stop. */

const [directory, me] = process.argv.slice(2) as [string, string]
const catalog = await openCatalog(directory)
let isDone = false
let steps = 0
writeSync(1, 'ready\n')
await once(process.stdin, 'data')
process.stdin.once('data', () => {
  isDone = true
})

/** Runs one call. Ignores conflicts with other processes. */
async function tries(call: () => Promise<unknown>): Promise<void> {
  try {
    await call()
    steps++
  } catch (error) {
    const expected = [
      'TableAlreadyExists',
      'TableNotFound',
      'ConcurrentModification',
      'TableVersionNotFound',
      'InvalidTableState',
    ]
    if (!(error instanceof CatalogError) || !expected.includes(error.code)) throw error
  }
}

/** Two tables that always have the same latest version. */
async function commitBatches(): Promise<void> {
  const { version = 0 } = await catalog.describeTable({ id: ['left'], load_detailed_metadata: true })
  const entry = { version: version + 1, manifest_path: `${me}-${version + 1}` }
  await catalog.batchCommitTables({
    operations: [
      { create_table_version: { id: ['left'], ...entry } },
      { create_table_version: { id: ['right'], ...entry } },
    ],
  })
}

async function round(n: number): Promise<void> {
  const data = Array.from({ length: 50 }, (_, i) => ({ n: n * 50 + i, by: me }))
  const id = [`t${n % 4}`]
  await Promise.all([
    tries(commitBatches),
    tries(() => catalog.createTable({ id: [`${me}-${n % 3}`], data, mode: 'Overwrite' })),
    tries(() => catalog.createTable({ id, data })),
    tries(() => catalog.insertIntoTable({ id: ['rows'], data })),
  ])
  await tries(() => catalog.deleteFromTable({ id: ['rows'], predicate: `n % 7 = ${n % 7}` }))
  await tries(() => catalog.dropTable({ id: [`t${(n + 2) % 4}`] }))
  await tries(() =>
    catalog.batchDeleteTableVersions({ id: ['rows'], ranges: [{ start_version: 0, end_version: n }] }),
  )
}

for (let n = 1; !isDone; n++) await round(n)
await catalog.close()
writeSync(1, `${steps}\n`)
process.exit(0)
