/** What do the stores cost by themselves, and what does the LMDB store add to LMDB? */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Key, open, type RootDatabase } from 'lmdb'
import { openLmdbStore } from '../src/backends/lmdb.ts'
import { memoryStore } from '../src/backends/memory.ts'
import type { Store, Writer } from '../src/store/store.ts'
import { inFlight, median, medianMicroseconds, microseconds, report } from './support/measure.ts'

const record = (id: number) => ({
  format: 1,
  id,
  name: `table_${id}`,
  parent: 1,
  location: `file:///data/catalog/tables/${id}`,
  properties: { owner: 'bench' },
})

/** Numbers below `count` in an order that jumps about. */
const scattered = (i: number, count: number) => (i * 7919 + 13) % count

async function fill(
  store: Store,
  from: number,
  to: number,
  put: (tx: Writer, i: number) => void,
): Promise<void> {
  for (let begin = from; begin < to; begin += 10_000) {
    await store.write((tx) => {
      for (let i = begin; i < Math.min(to, begin + 10_000); i++) put(tx, i)
    })
  }
}

const putName = (tx: Writer, i: number) => tx.put(['name', 1, `table_${String(i).padStart(7, '0')}`], i)
const putTable = (tx: Writer, i: number) => tx.put(['table', i], record(i))

async function benchMemory(): Promise<void> {
  console.log('\nMemory store')
  const store = memoryStore()
  let filled = 0
  for (const size of [1_000, 100_000, 1_000_000]) {
    await fill(store, filled, size, putTable)
    filled = size
    const at = size.toLocaleString('en')
    let found = 0
    const get = await medianMicroseconds(5, 50_000, (round) =>
      store.read((tx) => {
        for (let i = 0; i < 50_000; i++) if (tx.get(['table', scattered(i + round, size)])) found++
      }),
    )
    report(`get, at ${at} entries`, get, 'µs', size === 1_000 ? { below: 1 } : undefined)
    const write = await medianMicroseconds(5, 5_000, async (round) => {
      for (let i = 0; i < 5_000; i++) {
        const id = scattered(i + round * 5_000, size)
        await store.write((tx) => putTable(tx, id))
      }
    })
    report(`one write, at ${at} entries`, write, 'µs', { below: 15 })
    const many = await medianMicroseconds(9, 1_000, (round) =>
      store.write((tx) => {
        for (let i = 0; i < 1_000; i++) tx.put(['new', scattered(i, 1_000), round], record(i))
      }),
    )
    report(
      `1,000 puts in one transaction, each, at ${at} entries`,
      many,
      'µs',
      size === 100_000 ? { below: 5 } : undefined,
    )
    const fork = await medianMicroseconds(5, 1_000, () => {
      for (let i = 0; i < 1_000; i++) store.fork()
    })
    report(`fork, at ${at} entries`, fork, 'µs')
    if (found === 0) throw new Error('Nothing was found.')
  }
  await store.close()
}

async function benchLmdbWrites(directory: string): Promise<void> {
  console.log('\nLMDB store: durable writes of two records, beside child transactions of lmdb alone')
  const store = await openLmdbStore(join(directory, 'ours'))
  const raw: RootDatabase<unknown, Key> = open(join(directory, 'raw.mdb'), { overlappingSync: false })
  let next = 0
  const ours = () => {
    const id = next++
    return store.write((tx) => {
      putName(tx, id)
      putTable(tx, id)
    })
  }
  const alone = () => {
    const id = next++
    return raw.childTransaction(() => {
      raw.put(['name', 1, `table_${String(id).padStart(7, '0')}`], id)
      raw.put(['table', id], record(id))
    })
  }
  for (const [atOnce, total] of [
    [1, 300],
    [16, 3_000],
    [64, 10_000],
    [256, 20_000],
  ] as const) {
    const measured: { ours: number; alone: number }[] = []
    for (let round = 0; round < 6; round++) {
      // In turns, and not always in the same order, so that both meet the same disk.
      const both = { ours: 0, alone: 0 }
      for (const who of round % 2 ? (['ours', 'alone'] as const) : (['alone', 'ours'] as const)) {
        both[who] = await microseconds(total, () => inFlight(total, atOnce, who === 'ours' ? ours : alone))
      }
      if (round > 0) measured.push(both)
    }
    report(`one write, ${atOnce} in flight`, median(measured.map((both) => both.ours)), 'µs')
    report('  lmdb alone', median(measured.map((both) => both.alone)), 'µs')
    report(
      '  throughput of the store / lmdb alone',
      median(measured.map((both) => both.alone / both.ours)),
      '',
      { atLeast: 0.5 },
    )
  }
  await store.close()
  await raw.close()
}

async function benchLmdbReads(directory: string): Promise<void> {
  console.log('\nLMDB store: reads')
  const store = await openLmdbStore(directory)
  let filled = 0
  let found = 0
  const pages: number[] = []
  for (const size of [100_000, 1_000_000]) {
    await fill(store, filled, size, putName)
    await fill(store, filled, size, putTable)
    filled = size
    const at = size.toLocaleString('en')
    const get = await medianMicroseconds(5, 30_000, async (round) => {
      for (let i = 0; i < 30_000; i++) {
        if (await store.read((tx) => tx.get(['table', scattered(i + round, size)]))) found++
      }
    })
    report(`read of one record, at ${at} tables`, get, 'µs', { below: 6 })
    const page = await medianMicroseconds(7, 500, async (round) => {
      for (let i = 0; i < 500; i++) {
        const start = `table_${String(scattered(i * 31 + round, size - 100)).padStart(7, '0')}`
        await store.read((tx) => {
          for (const { value } of tx.range({ prefix: ['name', 1], start: ['name', 1, start], limit: 100 })) {
            if (typeof value === 'number') found++
          }
        })
      }
    })
    pages.push(page)
    report(`page of 100 names, at ${at} tables`, page, 'µs', { below: 100 })
  }
  report('page at 1,000,000 / page at 100,000', pages[1]! / pages[0]!, '', { below: 1.5 })
  if (found === 0) throw new Error('Nothing was found.')
  await store.close()

  const child = fileURLToPath(new URL('support/open-store.ts', import.meta.url))
  const opened = Array.from({ length: 5 }, () => {
    const printed = execFileSync(process.execPath, ['--import', 'tsx', child, directory], {
      encoding: 'utf8',
    })
    return JSON.parse(printed) as { milliseconds: number; idle: number; rss: number }
  })
  report('opening and first read, at 1,000,000 tables', median(opened.map((one) => one.milliseconds)), 'ms', {
    below: 100,
  })
  report('  memory of the process', median(opened.map((one) => one.rss)) / 2 ** 20, 'MiB', { below: 150 })
  report('  of that, before opening (with tsx)', median(opened.map((one) => one.idle)) / 2 ** 20, 'MiB')
}

const directory = await mkdtemp(join(tmpdir(), 'tabularium-bench-'))
try {
  await benchMemory()
  await benchLmdbWrites(join(directory, 'writes'))
  await benchLmdbReads(join(directory, 'reads'))
} finally {
  await rm(directory, { recursive: true })
}
