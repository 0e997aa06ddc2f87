import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { serve } from '../../src/server/index.ts'
import { CatalogError, openCatalog } from '../../src/tabularium/index.ts'

/* Serves a catalog, and inserts rows by each input line: the table, the first number, and the number of rows at once. */

const catalog = await openCatalog(process.argv[2]!)
const server = await serve(catalog, {
  auth: { tokens: ['token-of-the-disk'] },
  port: 0,
  limits: { eventLoopDelay: 0 },
})
writeSync(1, `${server.url}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const [table, first, count] = JSON.parse(line) as [string, number, number]
  const numbers = Array.from({ length: count }, (_, i) => first + i)
  const results = await Promise.allSettled(
    numbers.map((n) => catalog.insertIntoTable({ id: [table], data: [{ n, note: `row ${n}` }] })),
  )
  const codes = results.map((result) => {
    if (result.status === 'fulfilled') return 'done'
    return result.reason instanceof CatalogError ? result.reason.code : String(result.reason)
  })
  writeSync(1, `${JSON.stringify(codes)}\n`)
}
await server.close()
await catalog.close()
