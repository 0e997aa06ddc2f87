import { writeSync } from 'node:fs'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'

/** Commits batches of five records, 64 batches in flight, and tells each one that is done, until killed. */
async function main([directory, round]: string[]): Promise<void> {
  const store = await openLmdbStore(directory!)
  let next = 0
  const writer = async () => {
    for (;;) {
      const batch = next++
      await store.write((tx) => {
        for (let part = 0; part < 5; part++) {
          tx.put(['batch', Number(round), batch, part], { batch, text: 'x'.repeat((batch * 37) % 900) })
        }
        tx.put(['count', Number(round)], (tx.get<number>(['count', Number(round)]) ?? 0) + 1)
      })
      // In one piece, and gone before the process can be.
      writeSync(1, `${batch}\n`)
    }
  }
  await Promise.all(Array.from({ length: 64 }, writer))
}

await main(process.argv.slice(2))
