import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Key, Reader, Writer } from '../../../src/base/store/store.ts'
import { loadDriver } from '../../../src/stores/lmdb/driver.ts'
import { inspectLmdbStore, type LmdbStore, openLmdbStore } from '../../../src/stores/lmdb/index.ts'
import { inspectFile } from '../../../src/stores/lmdb/inspect.ts'
import { nodeBytes } from '../../../src/stores/lmdb/page.ts'
import { acquire, release } from '../../../src/stores/lmdb/registry.ts'
import { randomFrom } from '../../support/bad-network.ts'
import { limitEach } from '../../support/time-limit.ts'

// It flips each bit of keys.
limitEach(60)

/** How many bits are flipped; more of them in long runs. */
const flips = Number(process.env.TABULARIUM_FLIPS ?? 90)

let folder: string
let original: Buffer
let records: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabularium-'))
  const store = await openLmdbStore(folder)
  await fill(store)
  records = await everything(store)
  await store.close()
  original = readFileSync(join(folder, 'catalog.mdb'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

/** A tree of several levels, large values, and pages that became free. */
async function fill(store: LmdbStore): Promise<void> {
  for (let round = 0; round < 12; round++) await store.write((writer) => change(writer, round))
  await store.write((writer) => {
    for (const key of lastKeys) writer.put(key, 'x'.repeat(9))
  })
}

/** Nodes are filled up to an even number of bytes. So either key may be one byte longer or shorter, and nothing moves. */
const lastKeys: Key[] = [
  ['u', 'name', 1],
  ['u', 'names', 1],
]

function change(writer: Writer, round: number): void {
  for (let n = 0; n < 25; n++) {
    const id = (round * 7 + n * 13) % 150
    writer.put(['t', `a table with a long name ${id}`, n], { v: 1, text: 'x'.repeat((round * n * 3) % 900) })
  }
  writer.put(['large', round % 3], 'y'.repeat(5_000 + round * 500))
  if (round % 3 === 2)
    for (let id = 0; id < 50; id++) writer.remove(['t', `a table with a long name ${id}`, 3])
}

async function everything(store: LmdbStore): Promise<string> {
  return store.read((reader) => JSON.stringify(Array.from(reader.range({}))))
}

test('finds nothing in a sound file, and counts its records', async () => {
  expect(await inspectFile(join(folder, 'catalog.mdb'))).toEqual({
    damage: [],
    // The state of the store is a record too.
    records: JSON.parse(records).length + 1,
    unsealed: 0,
    moved: false,
  })
})

test('a flipped bit anywhere is found, or changes nothing that can be read', {
  timeout: 20_000 + 300 * flips,
}, async () => {
  let found = 0
  const random = randomFrom(Number(process.env.FC_SEED ?? 20_261_120))
  const below = (end: number) => Math.floor(random() * end)
  for (let n = 0; n < flips; n++) {
    // Every third one in what LMDB looks at first.
    const at = n % 3 === 0 ? below(2) * 4096 + below(168) : below(original.length)
    if (await isFound(at, below(8))) found++
  }
  expect(found).toBeGreaterThan(flips / 5)
  expect(found).toBeLessThan(flips)
})

test('a flipped bit of the number of a transaction is found, also if it makes the last one an earlier one', async () => {
  const fill = async (rounds: number) => {
    const last = join(folder, `last-${rounds}`)
    const store = await openLmdbStore(last)
    for (let round = 0; round < rounds; round++) await store.write((writer) => change(writer, round))
    await store.close()
    return readFileSync(join(last, 'catalog.mdb'))
  }
  // The last two numbers have each pair of low bits once.
  for (const rounds of [4, 5, 6, 7]) {
    const bytes = await fill(rounds)
    for (const at of [152, 153, 4096 + 152, 4096 + 153]) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes)
        damaged[at]! ^= 1 << bit
        const path = join(folder, 'number.mdb')
        writeFileSync(path, damaged)
        expect((await inspectFile(path)).damage, `bit ${bit} of byte ${at}, ${rounds}`).not.toEqual([])
      }
    }
  }
})

/** Whether an inspection finds a flipped bit. A bit that it does not find changes nothing that can be read. */
async function isFound(at: number, bit: number): Promise<boolean> {
  const damaged = join(folder, 'damaged')
  const path = join(damaged, 'catalog.mdb')
  await mkdir(damaged, { recursive: true })
  const bytes = Buffer.from(original)
  bytes[at]! ^= 1 << bit
  writeFileSync(path, bytes)
  if ((await inspectFile(path)).damage.length > 0) return true
  const store = await openLmdbStore(damaged)
  expect(await everything(store), `bit ${bit} of byte ${at}`).toBe(records)
  await store.close()
  return false
}

test('each flipped bit of a key, and of what says how long it is, is found, whatever it reads as then', async () => {
  const { keyValueToBuffer } = loadDriver() as unknown as { keyValueToBuffer(key: Key): Buffer }
  for (const key of lastKeys) {
    const bytes = keyValueToBuffer(key)
    const at = original.lastIndexOf(Buffer.concat([bytes, Buffer.of(1)]))
    for (let bit = (at - nodeBytes) * 8; bit < (at + bytes.length) * 8; bit++) {
      expect(await isFound(bit >> 3, bit & 7), `bit ${bit - at * 8} of ${key}`).toBe(true)
    }
  }
})

test('a file that is cut short, empty, or something else is damaged, and no reason to fail', async () => {
  const path = join(folder, 'other.mdb')
  for (const bytes of [
    original.subarray(0, 100),
    original.subarray(0, 4096),
    original.subarray(0, original.length / 2),
    Buffer.alloc(20_000),
    Buffer.from('no catalog at all'.repeat(1_000)),
  ]) {
    writeFileSync(path, bytes)
    expect((await inspectFile(path)).damage).not.toEqual([])
  }
})

test('a snapshot is inspected while others write', async () => {
  const busy = await openLmdbStore(join(folder, 'busy'))
  await fill(busy)
  let round = 12
  let isDone = false
  const writing = (async () => {
    while (!isDone) await busy.write((writer) => change(writer, round++))
  })()
  // A busy disk may take longer for a write than an inspection does.
  for (let n = 0; n < 5 || round <= 14; n++) expect((await busy.inspect!()).damage).toEqual([])
  isDone = true
  await writing
  await busy.close()
})

test('a copy holds a snapshot, and is sound', async () => {
  const store = await openLmdbStore(join(folder, 'source'))
  await fill(store)
  await mkdir(join(folder, 'copy'))
  const before = await everything(store)
  const copied = store.copyTo!(join(folder, 'copy'))
  for (let round = 0; round < 5; round++) await store.write((writer) => writer.put(['later', round], round))
  await copied
  await store.close()
  const copy = await openLmdbStore(join(folder, 'copy'))
  expect((await copy.inspect!()).damage).toEqual([])
  const entries = JSON.parse(await everything(copy)) as { key: [string] }[]
  expect(JSON.stringify(entries.filter(({ key }) => key[0] !== 'later'))).toBe(before)
  for (let round = 0; round < 3; round++) {
    await copy.write((writer) => writer.put(['later', round], 'changed'))
    expect((await copy.inspect!()).damage).toEqual([])
  }
  await copy.close()
})

test('reads of a damaged value fail, and keep no snapshot', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'tabularium-'))
  const store = await openLmdbStore(directory)
  await store.write((tx) => {
    for (const name of ['a', 'b', 'c']) tx.put(['t', name], { name })
  })
  const environment = await acquire(directory, {})
  const { db } = environment
  const bad = { '\x10binary-data\x02': Buffer.from('{"name":') } as object
  await db.childTransaction(() => db.put(['t', 'b'], bad))
  for (let attempt = 0; attempt < 20; attempt++) {
    for (const read of [
      (tx: Reader) => Array.from(tx.range({ prefix: ['t'] })),
      (tx: Reader) => tx.get(['t', 'b']),
    ]) {
      await expect(store.read(read)).rejects.toMatchObject({
        code: 'Internal',
        message: expect.stringContaining('is damaged'),
      })
    }
    await store.write((tx) => tx.put(['other'], attempt))
  }
  expect((db.getStats() as { numReaders: number }).numReaders).toBeLessThan(5)
  expect(await store.read((tx) => tx.get(['t', 'c']))).toEqual({ name: 'c' })
  await release(environment)
  await store.close()
  await rm(directory, { recursive: true })
})

test('an inspection that is stopped fails with the reason of its signal', async () => {
  const closed = mkdtempSync(join(tmpdir(), 'tabularium-'))
  const store = await openLmdbStore(closed)
  // More pages than an inspection reads between two looks at the signal.
  await store.write((writer) => {
    for (let n = 0; n < 2_000; n++) writer.put(['t', n], 'x'.repeat(300))
  })
  const signal = AbortSignal.abort()
  await expect(store.inspect!({ signal })).rejects.toBe(signal.reason)
  await store.close()
  await expect(inspectLmdbStore(closed, { signal })).rejects.toBe(signal.reason)
  await rm(closed, { recursive: true })
})
