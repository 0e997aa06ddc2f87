import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isRemote, mergeRanges } from '../../../src/base/scheduling/merge-ranges.ts'
import { bucketContent } from '../../../src/contents/bucket/index.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import { contentSuite } from '../../../src/testing/suites/content-suite.ts'
import { MemoryBucket } from './memory-bucket.ts'

const MiB = 1 << 20

contentSuite(
  { describe, test },
  () => {
    const content = bucketContent(new MemoryBucket(), { prefix: 'p/' })
    return { open: async () => content }
  },
  { name: 'the content in a bucket in memory', durable: false },
)

describe('parts of an object', () => {
  const requests = (...ranges: [start: number, end: number][]) =>
    mergeRanges(ranges.map(([start, end]) => ({ start, end }))).map(({ start, end }) => [start, end])

  test('are one request when they lie near each other, in any order, also one in another', () => {
    expect(requests([10, 20], [20, 30], [MiB, MiB + 5])).toEqual([[10, MiB + 5]])
    expect(requests([500, 600], [0, 10], [5, 8], [0, 10])).toEqual([[0, 600]])
  })

  test('are several requests when much lies between, is read for nothing, or travels better at once', () => {
    expect(requests([0, 10], [MiB + 11, MiB + 20])).toHaveLength(2)
    // Each gap is small. Together, they are more than all that is wanted.
    const sparse = Array.from({ length: 8 }, (_, i): [number, number] => [i * 600_000, i * 600_000 + 10])
    expect(requests(...sparse)).toHaveLength(4)
    expect(requests([0, 5 * MiB], [5 * MiB, 10 * MiB])).toHaveLength(2)
    expect(requests([0, 50 * MiB], [50 * MiB, 50 * MiB + 1])).toHaveLength(2)
  })

  test('lie nearer to each other where a read costs less', () => {
    const near = [
      { start: 0, end: 10 },
      { start: 5_000, end: 5_010 },
      { start: 20_000, end: 20_010 },
    ]
    expect(mergeRanges(near, 8_192).map(({ parts }) => parts)).toEqual([[0, 1], [2]])
    expect(mergeRanges(near, 0).map(({ parts }) => parts)).toEqual([[0], [1], [2]])
    expect(isRemote(memoryContent())).toBe(false)
    expect(isRemote(fileContent('.'))).toBe(false)
    expect(isRemote(bucketContent(new MemoryBucket(), { prefix: '' }))).toBe(true)
  })

  test('come as if each were read alone, with a bound on what is read for nothing and on requests at once', async () => {
    const object = Uint8Array.from({ length: 4 * MiB }, (_, i) => (i * 31 + (i >> 11)) & 255)
    const range = fc
      .tuple(
        fc.nat(4 * MiB - 1),
        fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: MiB })),
      )
      .map(([start, length]) => ({ start, end: Math.min(4 * MiB, start + length) }))
    await fc.assert(
      fc.asyncProperty(fc.array(range, { maxLength: 20 }), async (ranges) => {
        const bucket = new MemoryBucket()
        const content = bucketContent(bucket, { prefix: '' })
        await content.put('o', object)
        const found = await content.getRanges!('o', ranges)
        for (const [i, { start, end }] of ranges.entries()) {
          expect(Buffer.compare(found[i]!, object.subarray(start, end))).toBe(0)
        }
        let bytes = 0
        let until = 0
        for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
          bytes += Math.max(0, end - Math.max(start, until))
          until = Math.max(until, end)
        }
        expect(bucket.bytes).toBeLessThanOrEqual(Math.max(2 * bytes, bytes + bucket.reads.length * MiB))
        expect(bucket.most).toBeLessThanOrEqual(8)
      }),
      { numRuns: 20 },
    )
  })

  test('of an object that is not there are undefined', async () => {
    const content = bucketContent(new MemoryBucket(), { prefix: '' })
    expect(await content.getRanges!('o', [{ start: 0, end: 5 }])).toEqual([undefined])
  })
})

describe('columns of a large fragment', () => {
  const count = 200_000
  const made = toArrowTable(
    Array.from({ length: count }, (_, i) => ({
      ...{ a: i % 10, b: i / 3, c: `row ${i % 7}`, d: i % 2 === 0, e: i },
    })),
  )

  async function written(prefix = '') {
    const bucket = new MemoryBucket()
    const content = bucketContent(bucket, { prefix })
    const { manifest } = await tableEngine({ content }).create('t/', await made)
    bucket.reads.length = 0
    return { bucket, content, manifest }
  }

  test.each([
    ['a = 3', 2, 20_000],
    ['a = 3 AND b >= 0', 2, 20_000],
    ["a = 3 AND e >= 0 AND c LIKE 'row%'", 3, 20_000],
  ])('are read by few requests: %s', async (predicate, requests, matching) => {
    const { bucket, content, manifest } = await written()
    const engine = tableEngine({ content })
    const snapshot = await engine.open('t/', manifest)
    expect(await engine.countRows(snapshot, { predicate })).toBe(matching)
    // One of them is for the manifest.
    expect(bucket.reads).toHaveLength(requests)
    expect(await engine.countRows(snapshot, { predicate })).toBe(matching)
    expect(bucket.reads).toHaveLength(requests)
  })

  test('are the same rows as in another content', async () => {
    const { content, manifest } = await written('p/')
    const other = memoryContent()
    const engine = tableEngine({ content: other })
    const snapshot = await engine.create('t/', await made)
    const far = tableEngine({ content })
    const query = { columns: ['e', 'c', 'd'], filter: 'b > 1000 AND a < 3', limit: 10 }
    expect(await far.queryRows(await far.open('t/', manifest), query)).toEqual(
      await engine.queryRows(snapshot, query),
    )
  })

  test('that were damaged on their way are read once more', async () => {
    const { bucket, content, manifest } = await written()
    let left = 1
    const engine = tableEngine({ content })
    const snapshot = await engine.open('t/', manifest)
    bucket.passing = (bytes) => {
      if (left-- > 0) bytes[bytes.length >> 1]! ^= 1
      return bytes
    }
    expect(await engine.countRows(snapshot, { predicate: 'a = 3' })).toBe(20_000)
  })
})
