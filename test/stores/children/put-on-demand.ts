import { createInterface } from 'node:readline'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'

/** Puts each number it is given under one key and answers with it once it is written. */
async function main([directory]: string[]): Promise<void> {
  const store = await openLmdbStore(directory!)
  process.stdout.write('ready\n')
  for await (const line of createInterface({ input: process.stdin })) {
    await store.write((tx) => tx.put(['told'], Number(line)))
    process.stdout.write(`${line}\n`)
  }
  await store.close()
}

await main(process.argv.slice(2))
