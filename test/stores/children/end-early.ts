import { writeSync } from 'node:fs'
import { isMainThread, Worker } from 'node:worker_threads'
import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'

/*
 * Ends without closing its store, in one of the ways there are, with writes under way or without. Tells each write
 * that was acknowledged.
 */

const [directory, way, inFlight] = process.argv.slice(2) as [string, string, string]

if (way === 'thread' && isMainThread) {
  const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  worker.on('exit', (code) => process.exit(code))
} else {
  const store = await openLmdbStore(directory)
  const write = async (name: string) => {
    await store.write((writer) => writer.put([name], 1))
    writeSync(1, `${name}\n`)
  }
  await write(`first of ${process.pid}`)
  for (let i = 0; i < Number(inFlight); i++) {
    void (async () => {
      for (let n = 0; ; n++) await write(`${process.pid} ${i} ${n}`)
    })()
  }
  // At any moment of the writes under way.
  if (Number(inFlight) > 0) await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20))
  if (way === 'exit' || way === 'thread') process.exit(0)
  if (way === 'throw') throw new Error('on purpose')
  // Or the event loop has nothing more to do.
}
