import { tableFromIPC } from 'apache-arrow'
import { expect, test } from 'vitest'
import { ByteBudget } from '../../../src/base/scheduling/byte-budget.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { decodeArrow } from '../../../src/engine/arrow/ipc/decode.ts'
import { tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { limitEach } from '../../support/time-limit.ts'
import { fixture } from '../arrow/fixtures.ts'

// It reads and holds answers of many megabytes.
limitEach(60)

const rows = Array.from({ length: 5_000 }, (_, i) => ({
  n: i,
  s: i % 7 === 0 ? null : `text ${i}`,
  long: 'x'.repeat(4_000),
  list: [i, i / 2],
  st: { a: i, b: `${i}` },
}))

async function engineWith(data: Parameters<typeof toArrowTable>[0] = rows, fragmentRows = 1_024) {
  const engine = tableEngine({ content: memoryContent(), threads: 0, fragmentRows })
  const { manifest } = await engine.create('t', await toArrowTable(data), {})
  return { engine, snapshot: await engine.open('t', manifest) }
}

/** The parts of an answer; one for an answer that is whole. */
async function partsOf(answer: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  if (answer instanceof Uint8Array) return [answer]
  const parts: Uint8Array[] = []
  for await (const part of answer) parts.push(part.slice())
  return parts
}

test.each([
  ['all columns', {}],
  ['a filter', { filter: 'n % 3 <> 1' }],
  ['aliases of one column', { columns: { a: 'long', b: 'long', c: 'n', d: 'st.b' } }],
  ['offset and limit', { offset: 17, limit: 4_000, columns: ['long', 'n'] }],
])('an answer in parts is the file that a whole answer is: %s', async (_, query) => {
  const { engine, snapshot } = await engineWith()
  const parts = await partsOf(await engine.streamRows(snapshot, query))
  expect(parts.length).toBeGreaterThan(1)
  const file = Buffer.concat(parts)
  const whole = await decodeArrow(await engine.queryRows(snapshot, query))
  const streamed = await decodeArrow(file)
  expect(streamed.children[0]!.data.length).toBeGreaterThan(1)
  expect(streamed.toArray()).toEqual(whole.toArray())
  // Other readers take it, too.
  expect(tableFromIPC(file).numRows).toBe(whole.numRows)
})

test.each([
  ['all columns', {}],
  ['a filter', { filter: 'n % 3 <> 1' }],
  ['an order', { orderBy: [{ column: 'long' }, { column: 'n', descending: true }] }],
])(
  'rows that are read once are the same, and stay in no cache unless they are ordered: %s',
  async (name, query) => {
    const { engine, snapshot } = await engineWith()
    const before = engine.cacheUse.bytes
    const once = Buffer.concat(await partsOf(await engine.streamRows(snapshot, { ...query, isOnce: true })))
    const kept = engine.cacheUse.bytes
    const again = Buffer.concat(await partsOf(await engine.streamRows(snapshot, query)))
    expect(once.equals(again)).toBe(true)
    expect(kept > before).toBe(name === 'an order')
    expect(engine.cacheUse.bytes).toBeGreaterThan(before)
  },
)

test('an answer with dictionaries, which come first in a file, is sound in parts, too', async () => {
  const { engine, snapshot } = await engineWith(fixture('dictionaries.arrows'), 64)
  const file = Buffer.concat(await partsOf(await engine.streamRows(snapshot)))
  expect(Array.from((await decodeArrow(file)).children[0]!)).toEqual(
    Array.from((await decodeArrow(await engine.queryRows(snapshot))).children[0]!),
  )
})

test('no more is held than a part of the answer, and it is made as it is read', async () => {
  const { engine, snapshot } = await engineWith()
  const columns = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`a${i}`, 'long']))
  const budget = new ByteBudget(64 << 20)
  const memory = budget.hold()
  let done = 0
  const answer = await engine.streamRows(snapshot, {
    columns,
    memory,
    onProgress: ({ rowsDone }) => {
      done = rowsDone
    },
  })
  expect(answer).not.toBeInstanceOf(Uint8Array)
  let size = 0
  let most = 0
  let doneAtFirst: number | undefined
  for await (const part of answer as AsyncIterable<Uint8Array>) {
    doneAtFirst ??= done
    size += part.length
    most = Math.max(most, budget.used)
  }
  expect(doneAtFirst).toBeLessThan(rows.length)
  expect(done).toBe(rows.length)
  expect(size).toBeGreaterThan(100 * 5_000 * 4_000)
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(16 << 20)
})

test('an answer that takes more than it may is refused before it is made', async () => {
  const { engine, snapshot } = await engineWith()
  const columns = Object.fromEntries(Array.from({ length: 4_500 }, (_, i) => [`a${i}`, 'long']))
  const maxBytes = 2 ** 31
  const seen: number[] = []
  const query = { columns, maxBytes, onProgress: () => seen.push(1) }
  for (const answer of [() => engine.streamRows(snapshot, query), () => engine.queryRows(snapshot, query)])
    await expect(answer()).rejects.toThrow('would take more than 2,147,483,648 bytes')
  expect(seen).toHaveLength(0)
  await expect(engine.queryRows(snapshot, { ...query, limit: 10 })).resolves.toBeDefined()
  await expect(engine.queryRows(snapshot, { ...query, offset: 4_990 })).resolves.toBeDefined()
  // With a filter, the rows are known as they are found.
  const filtered = { columns: ['long'], maxBytes: 1_000_000 }
  await expect(engine.queryRows(snapshot, { ...filtered, filter: 'n % 2 = 0' })).rejects.toThrow(
    'more than 1,000,000',
  )
  await expect(engine.queryRows(snapshot, { ...filtered, filter: 'n < 200' })).resolves.toBeDefined()
})
