import type { Values } from './batch.ts'

/** Converts an unscaled value from one scale to another, rounding half away from zero. */
export function rescale(from: number, to: number): (value: bigint) => bigint {
  const factor = 10n ** BigInt(Math.abs(to - from))
  if (to >= from) return (value) => value * factor
  const half = factor / 2n
  return (value) => (value < 0n ? value - half : value + half) / factor
}

/** The number with all decimals that its scale says. */
export function formatDecimal(unscaled: bigint, scale: number): string {
  if (scale <= 0) return String(unscaled * 10n ** BigInt(-scale))
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** Stores an unscaled value of more than 32 bits, in 64-bit words, the lowest first. */
export function storeWords(target: Values, index: number, words: number, value: bigint): void {
  for (let w = 0; w < words; w++)
    target[index * words + w] = BigInt.asUintN(64, value >> BigInt(64 * w)) as never
}

/** Reads the unscaled values of a type of this width. */
export function unscaledReader(values: Values, bitWidth: number): (index: number) => bigint {
  if (bitWidth === 32) return (i) => BigInt(values[i]!)
  const { buffer, byteOffset, byteLength } = values as BigUint64Array
  const unsigned = new BigUint64Array(buffer, byteOffset, byteLength / 8)
  const words = bitWidth / 64
  return (i) => {
    let value = BigInt.asIntN(64, unsigned[i * words + words - 1]!)
    for (let w = words - 2; w >= 0; w--) value = (value << 64n) | unsigned[i * words + w]!
    return value
  }
}
