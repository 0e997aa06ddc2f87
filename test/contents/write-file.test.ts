import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { RawFile } from '../../src/contents/files/raw-file.ts'
import { writeNewFile } from '../../src/contents/files/write-file.ts'
import { temporaryDirectory } from '../support/folders.ts'

afterEach(() => vi.restoreAllMocks())

/** Parts of all sizes: none, few bytes, more of them than one write takes, and some that are written alone. */
const sizes = [0, 7, 1, ...new Array<number>(2500).fill(3), (1 << 20) + 5, 0, 100_000, 900_000, 2 << 20, 11]
const parts = sizes.map((size, i) => new Uint8Array(size).fill(i + 1))

test('a file has all bytes of its parts, however many of them the system takes at a time', async () => {
  const folder = await temporaryDirectory()
  const { writev } = RawFile.prototype
  let writes = 0
  vi.spyOn(RawFile.prototype, 'writev').mockImplementation(function (this: RawFile, buffers) {
    const bytes = Buffer.concat(buffers)
    const taken = writes++ % 3 === 0 ? bytes.length : Math.ceil(bytes.length / 2)
    return writev.call(this, [bytes.subarray(0, taken)])
  })
  await writeNewFile(folder, 'file', parts)
  expect(writes).toBeGreaterThan(3)
  expect(Buffer.compare(await readFile(join(folder, 'file')), Buffer.concat(parts))).toBe(0)
})

test('and so without anything between', async () => {
  const folder = await temporaryDirectory()
  await writeNewFile(folder, 'file', parts)
  await writeNewFile(folder, 'empty', [])
  expect(Buffer.compare(await readFile(join(folder, 'file')), Buffer.concat(parts))).toBe(0)
  expect(await readFile(join(folder, 'empty'))).toHaveLength(0)
})
