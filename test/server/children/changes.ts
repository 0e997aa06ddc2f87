import { createInterface } from 'node:readline'
import { openCatalog } from '../../../src/tabularium/index.ts'

/** Opens a catalog, makes each change that it is told on a line, and says when it is acknowledged or refused. */
async function main([directory]: string[]): Promise<void> {
  const catalog = await openCatalog(directory!)
  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, request] = JSON.parse(line) as [keyof typeof catalog, object]
    await (catalog[name] as (request: object) => Promise<unknown>)(request).catch(() => {})
    console.log('done')
  }
  await catalog.close()
}

await main(process.argv.slice(2))
