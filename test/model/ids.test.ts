import { expect, it } from 'vitest'
import { idSource } from '../../src/model/ids.ts'

it('ids sort in the order they were made, within a millisecond and when the clock goes back', () => {
  const times = [1_000, 1_000, 1_000, 999, 5, 1_001, 1_001, 2_000]
  const next = idSource(() => times.shift()!)
  const ids = Array.from({ length: 8 }, next)
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(8)
})
