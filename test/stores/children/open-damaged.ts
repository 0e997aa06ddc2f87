import { writeSync } from 'node:fs'
import { openCatalog } from '../../../src/tabularium/index.ts'

/* Opens a catalog whose file may be damaged, reads and changes it, and tells how that went. */

let told = 'sound'
try {
  const catalog = await openCatalog(process.argv[2]!)
  const { tables } = await catalog.listAllTables({})
  for (const name of tables.slice(0, 3)) await catalog.describeTable({ id: [name] }).catch(() => {})
  await catalog.declareTable({ id: ['new'] })
  await catalog.close()
} catch (error) {
  const { code, message } = error as { code?: string; message: string }
  told = `${code}: ${message}`
}
writeSync(1, told)
process.exit(0)
