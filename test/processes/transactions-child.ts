import { openCatalog } from '../../src/tabularium/index.ts'

/*
 * Commits transactions that count rows and add the next number, and others that add to two tables, concurrently with
 * other processes of this kind.
 */

const [directory, own, times] = process.argv.slice(2) as [string, string, string]
const catalog = await openCatalog(directory)
let runs = 0
for (let n = 0; n < Number(times); n++) {
  await catalog.transaction(
    async (tx) => {
      const { count } = await tx.countTableRows({ id: ['numbers'] })
      await tx.insertIntoTable({ id: ['numbers'], data: [{ n: count }] })
    },
    // Transactions with a conflict take turns, so none of them starves.
    { attempts: 20 },
  )
  await catalog.transaction(async (tx) => {
    runs++
    for (const name of ['left', 'right']) {
      await tx.insertIntoTable({ id: [name], data: [{ n: Number(own) * 1_000 + n }] })
    }
  })
}
await catalog.close()
process.stdout.write(`${runs}\n`)
