import { writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Writer } from '../../src/base/store/store.ts'
import { openLmdbStore } from '../../src/stores/lmdb/index.ts'

/*
 * Repeatedly opens a store, or writes to one that stays open, until its input ends. Prints each acknowledged addition
 * to the counter, and each wait, as a line, synchronously.
 */

/** Increments the counter that all processes share, and prints the new value. */
export function count(writer: Writer): number {
  const next = (writer.get<number>(['counter']) ?? 0) + 1
  writer.put(['counter'], next)
  writer.put(['log', next], process.pid)
  return next
}

const [directory, role, amount] = process.argv.slice(2) as [string, string, string]
let isOver = false
const orders = createInterface({ input: process.stdin })
orders.on('close', () => {
  isOver = true
})

const worst = { open: 0, write: 0, close: 0 }
const totals = { opens: 0, writes: 0 }

async function timed<T>(what: keyof typeof worst, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  const result = await work()
  worst[what] = Math.max(worst[what], performance.now() - begun)
  return result
}

const open = (readOnly: boolean) => {
  totals.opens++
  return timed('open', () => openLmdbStore(directory, { readOnly }))
}

async function add(store: { write(body: (writer: Writer) => number): Promise<number> }): Promise<void> {
  const added = await timed('write', () => store.write(count))
  totals.writes++
  writeSync(1, `${added}\n`)
}

/** So that openings of several processes meet in all ways. */
const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3))

const roles: Readonly<Record<string, () => Promise<void>>> = {
  /** Keeps the store open, with a given number of concurrent writes. */
  async write() {
    const store = await open(false)
    const inFlight = Array.from({ length: Number(amount) }, async () => {
      while (!isOver) await add(store)
    })
    await Promise.all(inFlight)
    await timed('close', () => store.close())
  },
  /** Opens, reads, and closes. */
  async look() {
    for (let i = 0; !isOver; i++) {
      const store = await open(i % 2 === 0)
      await store.read((reader) => reader.get(['counter']))
      await timed('close', () => store.close())
      await pause()
    }
  },
  /** Opens, adds once, and closes. */
  async visit() {
    while (!isOver) {
      const store = await open(false)
      await add(store)
      await timed('close', () => store.close())
      await pause()
    }
  },
  /** Opens, copies the store, checks the integrity of both, and closes. */
  async copy() {
    while (!isOver) {
      const folder = await mkdtemp(join(tmpdir(), 'tabularium-copy-'))
      const store = await open(true)
      await store.copyTo!(folder)
      const { damage } = await store.inspect!()
      await timed('close', () => store.close())
      const copy = await openLmdbStore(folder)
      const [counter = 0, logged] = await copy.read((reader) => [
        reader.get<number>(['counter']),
        Array.from(reader.range({ prefix: ['log'] })).length,
      ])
      await copy.close()
      await rm(folder, { recursive: true })
      if (damage.length > 0) throw new Error(`The store is damaged: ${damage.join(', ')}`)
      if (counter !== logged) throw new Error(`The copy counts ${counter} and has ${logged}.`)
    }
  },
  /** Opens each store from the input, which may be new, adds a given number of times, closes, and prints that. */
  async begin() {
    for await (const fresh of orders) {
      const store = await openLmdbStore(fresh)
      for (let i = 0; i < Number(amount); i++) await add(store)
      await store.close()
      writeSync(1, 'closed\n')
    }
  },
  /** Opens, adds a given number of times, and exits without closing. */
  async leave() {
    const store = await open(false)
    for (let i = 0; i < Number(amount); i++) await add(store)
    tell()
    process.exit(0)
  },
}

function tell(): void {
  writeSync(1, `${JSON.stringify({ worst, totals })}\n`)
}

await roles[role]!()
tell()
process.exit(0)
