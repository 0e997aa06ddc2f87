import { openLmdbStore } from '../../../src/stores/lmdb/index.ts'

/**
 * Adds one to two counters, as often as told, with many additions in flight. The counters always agree, and each
 * read checks that they do.
 */
async function main([directory, times, inFlight]: string[]): Promise<void> {
  const store = await openLmdbStore(directory!)
  process.stdout.write('ready\n')
  let left = Number(times)
  let going = true
  const counter = async () => {
    while (left-- > 0) {
      await store.write((tx) => {
        const next = (tx.get<number>(['counter', 'a']) ?? 0) + 1
        tx.put(['counter', 'a'], next)
        tx.put(['counter', 'b'], next)
        tx.put(['log', next], process.pid)
      })
    }
  }
  const watcher = async () => {
    while (going) {
      const seen = await store.read((tx) => {
        const a = tx.get(['counter', 'a']) ?? 0
        const last = [...tx.range({ prefix: ['log'], reverse: true, limit: 1 })][0]?.key[1] ?? 0
        const count = [...tx.range({ prefix: ['log'], start: ['log', Math.max(1, Number(last) - 40)] })]
          .length
        const expected = Math.min(Number(last), 41)
        const b = tx.get(['counter', 'b']) ?? 0
        return a === b && a === last && count === expected ? undefined : { a, b, last, count }
      })
      if (seen) throw new Error(`a read saw ${JSON.stringify(seen)}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const watching = watcher()
  await Promise.all(Array.from({ length: Number(inFlight) }, counter))
  going = false
  await watching
  await store.close()
}

await main(process.argv.slice(2))
