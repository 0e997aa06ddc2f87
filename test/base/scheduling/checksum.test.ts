import { crc32 } from 'node:zlib'
import { expect, test } from 'vitest'
import { checksumOfRead } from '../../../src/base/scheduling/checksum.ts'

test('bytes that were read are summed once, also when several ask at the same time', async () => {
  const bytes = new Uint8Array(9 << 20).map((_, i) => i * 31)
  const asked = [checksumOfRead(bytes), checksumOfRead(bytes)]
  expect(asked[1]).toBe(asked[0])
  expect(await asked[0]).toBe(crc32(bytes))
  expect(checksumOfRead(bytes)).toBe(asked[0])
})

test('arrays have sums of their own, also those that view the same memory', async () => {
  const bytes = new Uint8Array([1, 2, 3, 4])
  const sums = [bytes, bytes.subarray(1), bytes.slice(), new Uint8Array()].map(checksumOfRead)
  expect(await Promise.all(sums)).toEqual([crc32(bytes), crc32(bytes.subarray(1)), crc32(bytes), 0])
})
