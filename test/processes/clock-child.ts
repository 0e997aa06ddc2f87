import { mkdirSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileContent } from '../../src/contents/files/index.ts'
import { CatalogError, type Content, openCatalog } from '../../src/tabularium/index.ts'
import { randomFrom } from '../support/bad-network.ts'

/*
 * Writes, commits long transactions, deregisters and registers tables, and vacuums, on a machine with a wrong clock.
 * Prints a line for each acknowledged change.
 */

const [location, folder, me, offset, seed, rounds] = process.argv.slice(2) as string[]
const wrong = Number(offset)
const trueNow = Date.now
Date.now = () => trueNow() + wrong

const random = randomFrom(Number(seed))
const inside = fileContent(folder!)
/** The object service has the same wrong clock. */
const content: Content = {
  get: (...given) => inside.get(...given),
  put: (...given) => inside.put(...given),
  remove: (path) => inside.remove(path),
  async *list(prefix) {
    for await (const found of inside.list(prefix)) yield { ...found, modified: found.modified + wrong }
  },
}
mkdirSync(folder!, { recursive: true })
const catalog = await openCatalog(location as `postgres://${string}`, {
  content,
  root: 's3://bucket/all',
  transactionAge: 30 * 60_000,
})

/** Errors that the other process may cause. */
const expected = ['ConcurrentModification', 'TableNotFound', 'TableAlreadyExists', 'NamespaceNotFound']

async function tries(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call()
    return true
  } catch (error) {
    if (error instanceof CatalogError && expected.includes(error.code)) return false
    throw error
  }
}

function tell(table: string, n: number, transaction?: string): void {
  writeSync(1, `${JSON.stringify({ table, n, transaction })}\n`)
}

writeSync(1, 'ready\n')

let isOver = false
const vacuuming = (async () => {
  while (!isOver) {
    await catalog.vacuum()
    // Leaves the changes some time.
    await sleep(10)
  }
})()

for (let i = 0; i < Number(rounds); i++) {
  const n = Number(me) * 1_000_000 + i
  const choice = random()
  if (choice < 0.5) {
    const table = random() < 0.5 ? 'left' : 'right'
    const { transaction_id } = await catalog.insertIntoTable({ id: [table], data: [{ n }] })
    tell(table, n, transaction_id)
  } else if (choice < 0.8) {
    // Its files are unreferenced, and its lease runs, while the other process vacuums by another clock.
    const { transaction_id: transaction } = await catalog.beginTransaction({})
    await catalog.insertIntoTable({ id: ['left'], data: [{ n }] }, { transaction })
    await sleep(random() * 60)
    await catalog.insertIntoTable({ id: ['right'], data: [{ n }] }, { transaction })
    await catalog.commitTransaction({ id: [transaction] })
    tell('left', n, transaction)
    tell('right', n, transaction)
  } else {
    const id = [`own${n}`]
    await catalog.createTable({ id, data: [{ n }] })
    const { location: place } = await catalog.deregisterTable({ id })
    await sleep(random() * 20)
    // Waits for a removal in the other process.
    while (!(await tries(() => catalog.registerTable({ id, location: place! })))) await sleep(5)
    tell(id[0]!, n)
  }
}
isOver = true
await vacuuming
await catalog.close()
process.exit(0)
