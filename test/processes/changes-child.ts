import { writeSync } from 'node:fs'
import { openCatalog } from '../../src/tabularium/index.ts'

/* Changes a catalog until it is killed. Prints the transaction of each acknowledged change. */

const [directory, me] = process.argv.slice(2) as [string, string]
const catalog = await openCatalog(directory)
for (let n = 0; ; n++) {
  const { transaction_id } = await catalog.declareTable({ id: [`${me}-${n}`] })
  writeSync(1, `${transaction_id}\n`)
  const id = await catalog.transaction(async (tx) => {
    await tx.renameTable({ id: [`${me}-${n}`], new_table_name: `${me}-${n}-renamed` })
    await tx.insertIntoTable({ id: ['rows'], data: [{ x: n }] })
    return tx.transactionId
  })
  writeSync(1, `${id}\n`)
}
