/* What an application does with each entry point. It prints what it saw, as JSON. */

import { CatalogError, openCatalog, renameTable } from 'tabularium'
import { connect, CatalogError as OfClient } from 'tabularium/client'
import { serve } from 'tabularium/http'
import { fakeCatalog } from 'tabularium/testing'

async function use(catalog) {
  const id = ['shop', 'orders']
  await catalog.createNamespace({ id: ['shop'] })
  await catalog.createTable({
    id,
    data: [
      { sku: 'lamp', price: 9.5 },
      { sku: 'desk', price: null },
    ],
  })
  await catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: [{ sku: 'sofa', price: 800 }] })
    await tx.createTable({ id: ['shop', 'log'], data: [{ line: 1 }] })
  })
  const rows = []
  for await (const { sku } of catalog.rows({ id, filter: 'price > 5' })) rows.push(sku)
  await renameTable(catalog, { id: ['shop', 'log'], new_table_name: 'journal' })
  const { tables } = await catalog.listTables({ id: ['shop'] })
  const error = await catalog.describeTable({ id: ['none'] }).catch((error) => error)
  return [...rows, ...tables, error.code, error instanceof CatalogError, error instanceof OfClient].join(' ')
}

const seen = {}
const memory = await openCatalog('memory:')
const server = await serve(memory, { port: 0, auth: false })
seen.client = await use(connect(server.url))
await server.close()
await memory.close()
seen.memory = await use(await openCatalog('memory:'))
seen.fake = await use(await fakeCatalog())
try {
  const disk = await openCatalog(process.argv[2])
  seen.disk = await use(disk)
  await disk.close()
} catch (error) {
  seen.disk = `${error.code}: ${error.message}`
}
console.log(JSON.stringify(seen))
