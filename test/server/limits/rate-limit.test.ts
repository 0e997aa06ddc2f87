import { describe, expect, it } from 'vitest'
import { rateLimiter, Throttled } from '../../../src/server/limits/rate-limit.ts'

function limited(requests: number, perMillis: number) {
  const clock = { now: 0 }
  return { clock, count: rateLimiter({ requests, perMillis }, () => clock.now) }
}

/** The seconds a caller is asked to wait; undefined where the request is let in. */
function wait(count: (caller: string) => void, caller: string): number | undefined {
  try {
    count(caller)
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(Throttled)
    return (error as Throttled).seconds
  }
}

describe('the rate limit', () => {
  it('counts each caller from its first request on', () => {
    const { clock, count } = limited(2, 10_000)
    clock.now = 5_000
    expect([wait(count, 'a'), wait(count, 'a'), wait(count, 'a')]).toStrictEqual([undefined, undefined, 10])
    expect(wait(count, 'b')).toBeUndefined()
    clock.now = 13_500
    expect([wait(count, 'a'), wait(count, 'b')]).toStrictEqual([2, undefined])
    clock.now = 14_999
    expect(wait(count, 'a')).toBe(1)
    clock.now = 15_000
    expect([wait(count, 'a'), wait(count, 'a'), wait(count, 'a')]).toStrictEqual([undefined, undefined, 10])
  })

  it('does not prolong the wait of a caller that goes on asking', () => {
    const { clock, count } = limited(1, 1_000)
    for (clock.now = 0; clock.now < 1_000; clock.now += 100)
      expect(wait(count, 'a')).toBe(clock.now === 0 ? undefined : 1)
    expect(wait(count, 'a')).toBeUndefined()
  })

  it('may let in nobody', () => {
    expect(wait(limited(0, 60_000).count, 'a')).toBe(60)
  })

  it('holds a bounded number of callers, and forgets those that were silent for longest', () => {
    const { count } = limited(1, 60_000)
    for (const caller of ['early', 'busy']) expect(wait(count, caller)).toBeUndefined()
    for (let i = 0; i < 4_998; i++) count(`caller-${i}`)
    expect(wait(count, 'busy')).toBe(60)
    count('one more')
    expect(wait(count, 'busy')).toBe(60)
    expect(wait(count, 'early')).toBeUndefined()
  })
})
