import { illegalArgument } from '../errors.ts'
import type { Long } from './types.ts'

const largest = 2n ** 63n - 1n
const smallest = -(2n ** 63n)

/** A 64-bit integer in its one form: a number where a number holds it exactly. Undefined for anything else. */
export function toLong(value: unknown): Long | undefined {
  // Adding 0 makes 0 of -0, which JSON cannot tell from it either.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : undefined
  if (typeof value !== 'bigint' || value > largest || value < smallest) return undefined
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The sum of two 64-bit integers. Fails where 64 bits do not hold it; `what` names the sum. */
export function addLongs(left: Long, right: Long, what: string): Long {
  const sum = toLong(BigInt(left) + BigInt(right))
  if (sum === undefined) throw illegalArgument(`Invalid ${what}: more than ${largest}`)
  return sum
}
