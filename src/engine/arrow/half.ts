let table: Float32Array | undefined

/** The number with these 16-bit float bits. Source: IEEE 754, binary16. */
export function fromHalf(bits: number): number {
  return halves()[bits]!
}

/** The numbers of all 65,536 patterns of 16 bits, computed when first used, since few tables have such columns. */
export function halves(): Float32Array {
  if (table === undefined) {
    table = new Float32Array(65_536)
    for (let bits = 0; bits < 65_536; bits++) table[bits] = decode(bits)
  }
  return table
}

function decode(bits: number): number {
  const sign = bits >= 0x8000 ? -1 : 1
  const exponent = (bits >>> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25)
}

/** The nearest number a 16-bit float can hold; ties go to the even one. */
export function roundToHalf(value: number): number {
  if (value === 0 || !Number.isFinite(value)) return value
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(value))), -14)
  const unit = 2 ** (exponent - 10)
  const steps = value / unit
  const below = Math.floor(steps)
  const rest = steps - below
  const rounded = rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below
  // What is too small keeps its sign.
  if (rounded === 0) return value * 0
  const result = rounded * unit
  return Math.abs(result) >= 65_520 ? Math.sign(value) * Infinity : result
}

const floats = new Float32Array(1)
const floatBits = new Uint32Array(floats.buffer)

/** The bits of the nearest 16-bit float, ties to even. */
export function halfBits(value: number): number {
  floats[0] = value
  const bits = floatBits[0]!
  const sign = (bits >>> 16) & 0x8000
  const magnitude = Math.abs(value)
  if (Number.isNaN(value)) return 0x7e00
  if (magnitude >= 65520) return sign | 0x7c00
  // Below the smallest normal number halves are multiples of 2^-24.
  if (magnitude < 2 ** -14) return sign | roundEven(magnitude * 2 ** 24)
  const exponent = Math.floor(Math.log2(magnitude))
  const exact = magnitude >= 2 ** exponent ? exponent : exponent - 1
  return sign | (((exact + 14) << 10) + roundEven((magnitude / 2 ** exact) * 1024))
}

function roundEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor
}
