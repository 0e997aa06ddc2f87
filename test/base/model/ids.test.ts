import fc from 'fast-check'
import { expect, it } from 'vitest'
import { idSource, secretIdSource } from '../../../src/base/model/ids.ts'

it('ids sort in the order they were made, within a millisecond and when the clock goes back', () => {
  const times = [1_000, 1_000, 1_000, 999, 5, 1_001, 1_001, 2_000]
  const next = idSource(() => times.shift()!)
  const ids = Array.from({ length: 8 }, next)
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(8)
})

it('ids stay in order through whatever the clock says, and when their last digits are used up', () => {
  const moments = fc.array(
    fc.oneof(fc.constantFrom(Number.NaN, -1, 0, 0.5), fc.nat(3), fc.double({ min: 0, max: 4 })),
    {
      minLength: 2,
      maxLength: 40,
    },
  )
  fc.assert(
    fc.property(moments, (times) => {
      const left = [...times]
      const ids = times.map(idSource(() => left.shift()!))
      expect(ids).toEqual([...new Set(ids)].sort())
      for (const id of ids) expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
    }),
  )
  const next = idSource(() => 1_000)
  let last = next()
  for (let i = 0; i < 2 ** 20 + 10; i++) {
    const id = next()
    if (!(id > last)) expect(id, `${id} comes after ${last}`).toBe(last)
    last = id
  }
  // The digits begin anywhere, so they are used up once at least; each time the id goes on in a later millisecond.
  expect(last.slice(0, 10) > '00000000Z8', `${last} is of a later millisecond`).toBe(true)
})

it('ids that show in locations are of their moment, in order, and have 60 bits that nothing else tells', () => {
  const times = [1_000, 1_000, 999, Number.NaN, 1_001]
  const left = [...times]
  const ids = times.map(secretIdSource(() => left.shift()!))
  expect(ids).toEqual([...new Set(ids)].sort())
  for (const id of ids) expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
  const next = secretIdSource(() => 1_000)
  const many = Array.from({ length: 4_000 }, next)
  expect(many[0]!.slice(0, 10)).toBe(idSource(() => 1_000)().slice(0, 10))
  // Each of the last 12 digits takes all values, and none of them follows from the one before.
  for (let i = 14; i < 26; i++) expect(new Set(many.map((id) => id[i])).size).toBe(32)
  const near = many.filter((id, i) => i > 0 && id.slice(14, 24) === many[i - 1]!.slice(14, 24))
  expect(near).toEqual([])
  let last = many.at(-1)!
  for (let i = 0; i < 2 ** 20; i++) {
    const id = next()
    if (!(id > last)) expect(id, `${id} comes after ${last}`).toBe(last)
    last = id
  }
  expect(last.slice(0, 10) > '00000000Z8', `${last} is of a later millisecond`).toBe(true)
})

it('ids that show in locations stay in order whatever the clock says', () => {
  const moments = fc.array(fc.oneof(fc.constantFrom(Number.NaN, -1, 0, 0.5), fc.nat(3)), { minLength: 2 })
  fc.assert(
    fc.property(moments, (times) => {
      const left = [...times]
      const ids = times.map(secretIdSource(() => left.shift()!))
      expect(ids).toEqual([...new Set(ids)].sort())
    }),
  )
})
