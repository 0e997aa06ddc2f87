import { openLmdbStore } from '../../src/backends/lmdb.ts'

/** Opens a store, reads one record, and prints how long it took and what memory the process used. */
async function main([directory]: string[]): Promise<void> {
  const idle = process.memoryUsage().rss
  const begin = performance.now()
  const store = await openLmdbStore(directory!)
  const found = await store.read((tx) => tx.get(['table', 1]))
  const milliseconds = performance.now() - begin
  if (!found) throw new Error('The record is missing.')
  console.log(JSON.stringify({ milliseconds, idle, rss: process.memoryUsage().rss }))
  await store.close()
}

await main(process.argv.slice(2))
