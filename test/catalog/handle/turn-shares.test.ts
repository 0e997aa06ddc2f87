import { expect, test } from 'vitest'
import { TurnShares } from '../../../src/catalog/handle/turn-shares.ts'

test('a caller has a share for each table, of which only turns without a change are taken', async () => {
  const shares = new TurnShares()
  const share = shares.of('ada')!
  share.spend('a', 5_000)
  expect(share.has('a')).toBe(true)
  share.spend('a', 5_000)
  expect([share.has('a'), share.has('b')]).toEqual([false, true])
  expect(shares.of('ada')!.has('a')).toBe(false)
  expect(shares.of('ben')!.has('a')).toBe(true)
  // Names and tables are not mixed up.
  expect(shares.of('ada","a')!.has('a')).toBe(true)
})

test('what is owed is paid by time', async () => {
  const share = new TurnShares().of('ada')!
  share.spend('a', 6_670)
  expect(share.has('a')).toBe(false)
  await expect.poll(() => share.has('a')).toBe(true)
})

test('while very many owe, nobody takes a turn at a further table', () => {
  const shares = new TurnShares()
  for (let n = 0; n < 10_000; n++) shares.of(`caller-${n}`)!.spend('a', 5_000)
  expect(shares.of('ada')!.has('a')).toBe(false)
  expect(shares.of('caller-1')!.has('a')).toBe(true)
})

test('callers without a name have no bound of their own', () => {
  expect(new TurnShares().of(undefined)).toBeUndefined()
})
