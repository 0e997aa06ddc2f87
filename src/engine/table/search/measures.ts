/** How far apart two vectors are. */
export type Measure = 'l2' | 'cosine' | 'dot' | 'hamming'

/** A query: its vector in the column's type of values, and the vector's length. */
export interface QueryVector {
  readonly values: Float64Array
  /** The Euclidean norm. */
  readonly norm: number
}

export type Vectors = Float32Array | Float64Array
type Distance = (vectors: Vectors, start: number, query: QueryVector) => number

/*
 * Each loop has four sums. With one sum, each addition would wait for the previous one: it takes four cycles, and a
 * processor does several at once. Sums have 64 bits, so the order of additions does not affect a distance of 32 bits.
 */

function squaredL2(vectors: Vectors, start: number, { values }: QueryVector): number {
  const { length } = values
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = 0
  for (; i + 3 < length; i += 4) {
    const at = start + i
    const p = vectors[at]! - values[i]!
    const q = vectors[at + 1]! - values[i + 1]!
    const r = vectors[at + 2]! - values[i + 2]!
    const s = vectors[at + 3]! - values[i + 3]!
    a += p * p
    b += q * q
    c += r * r
    d += s * s
  }
  for (; i < length; i++) {
    const p = vectors[start + i]! - values[i]!
    a += p * p
  }
  return a + b + (c + d)
}

function oneMinusDot(vectors: Vectors, start: number, { values }: QueryVector): number {
  const { length } = values
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let i = 0
  for (; i + 3 < length; i += 4) {
    const at = start + i
    a += vectors[at]! * values[i]!
    b += vectors[at + 1]! * values[i + 1]!
    c += vectors[at + 2]! * values[i + 2]!
    d += vectors[at + 3]! * values[i + 3]!
  }
  for (; i < length; i++) a += vectors[start + i]! * values[i]!
  return 1 - (a + b + (c + d))
}

/** NaN if one of the vectors is all zero, as no angle is defined then. */
function cosine(vectors: Vectors, start: number, { values, norm }: QueryVector): number {
  const { length } = values
  let a = 0
  let b = 0
  let x = 0
  let y = 0
  let i = 0
  for (; i + 1 < length; i += 2) {
    const p = vectors[start + i]!
    const q = vectors[start + i + 1]!
    a += p * values[i]!
    b += q * values[i + 1]!
    x += p * p
    y += q * q
  }
  if (i < length) {
    const p = vectors[start + i]!
    a += p * values[i]!
    x += p * p
  }
  return 1 - (a + b) / (Math.sqrt(x + y) * norm)
}

/** The distance of each measure. `hamming` counts the bits that differ, in vectors of bytes. */
export const distances: Readonly<Record<Measure, Distance>> = {
  l2: squaredL2,
  dot: oneMinusDot,
  cosine,
  hamming: differingBits,
}

function differingBits(vectors: Vectors, start: number, { values }: QueryVector): number {
  let bits = 0
  for (let i = 0; i < values.length; i++) bits += bitsOfByte[(vectors[start + i]! ^ values[i]!) & 255]!
  return bits
}

const bitsOfByte = Uint8Array.from({ length: 256 }, (_, byte) => {
  let bits = 0
  for (let rest = byte; rest !== 0; rest &= rest - 1) bits++
  return bits
})
