import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FreeSpace } from '../../../src/base/scheduling/free-space.ts'
import { performance } from '../../../src/base/time.ts'

const reserve = 1_000
const full = expect.objectContaining({ code: 'ENOSPC' })

let now = 1_000

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** Takes bytes as those do who write them, and looks where what is known does not suffice. */
function write(space: FreeSpace, folder: string, bytes: number): void {
  if (!(space.take(bytes) && space.isFresh(folder))) space.look(folder, bytes)
}

test('many small writes in some folders cost few looks', () => {
  const asked = vi.fn(() => 1_000_000_000)
  const space = new FreeSpace(reserve, asked)
  for (let i = 0; i < 10_000; i++) write(space, i % 2 === 0 ? '/rows' : '/versions', 10)
  expect(asked).toHaveBeenCalledTimes(2)
  now += 20
  write(space, '/rows', 10)
  expect(asked).toHaveBeenCalledTimes(3)
})

test('folders share what is known, as they may lie on one disk', () => {
  let free = 101_000
  const space = new FreeSpace(reserve, () => free)
  let written = 0
  const fill = () => {
    for (let i = 0; i < 10_000; i++) {
      write(space, `/${i % 7}`, 100)
      written += 100
      free -= 100
    }
  }
  expect(fill).toThrow(full)
  expect(written).toBe(100_000)
})

test('a refusal is of a look of now, and room that is there again is found at once', () => {
  let free = 500
  const space = new FreeSpace(reserve, () => free)
  expect(() => write(space, '/rows', 10)).toThrow(full)
  free = 5_000
  write(space, '/rows', 10)
  free = 500
  expect(() => write(space, '/rows', 4_000)).toThrow(full)
  free = 5_000
  write(space, '/rows', 10)
})
