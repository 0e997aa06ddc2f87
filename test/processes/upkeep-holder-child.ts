import { openCatalog } from '../../src/tabularium/index.ts'

/* Changes a catalog until it is killed. It retains few records of changes, so it soon clears the others. */

const [location, transactionCount] = process.argv.slice(2) as [string, string]
const catalog = await openCatalog(location as `postgres://${string}`, {
  transactionCount: Number(transactionCount),
})
for (let n = 0; ; n++) await catalog.createNamespace({ id: [`${process.pid}-${n}`] })
