import { expect, test } from 'vitest'
import { SharedBlocks, sharedMemoryOf } from '../../../../src/engine/table/scan/shared-blocks.ts'

test('blocks are used again, and begin with zeros', () => {
  const blocks = new SharedBlocks(2)
  const [one, two] = [blocks.take(100_001), blocks.take(SharedBlocks.bytes(1))]
  expect(blocks.take(100_000)).toBeUndefined()
  expect(one).not.toBe(two)
  new Uint8Array(one!).fill(255)
  blocks.give(sharedMemoryOf([new Uint8Array(one!, 8, 16), new Uint8Array(one!, 64), new Uint8Array(4)]))
  const again = blocks.take(200_003)!
  expect(again).toBe(one)
  expect(new Uint8Array(again, 0, 200_003).every((byte) => byte === 0)).toBe(true)
  expect(blocks.take(100_000)).toBeUndefined()
})

test('what is small or too large gets no block', () => {
  const blocks = new SharedBlocks(1)
  expect(blocks.take(1_000)).toBeUndefined()
  expect(blocks.take(SharedBlocks.bytes(1) + 1)).toBeUndefined()
  expect(blocks.take(SharedBlocks.bytes(1))).toBeInstanceOf(SharedArrayBuffer)
  expect(new SharedBlocks(0).take(100_000)).toBeUndefined()
})
