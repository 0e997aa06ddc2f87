/*
 * Arithmetic of whole arrays, one loop for each operation and kind of array: a loop that meets a second kind
 * becomes several times slower. Each runs over all rows, needed or not, as none can fail.
 */

type Ints = Int32Array
type Doubles = Float64Array
type Longs = BigInt64Array

export const intLoops = {
  '+': (a: Ints, b: Ints, out: Ints) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Ints, b: Ints, out: Ints) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! - b[i]!
  },
  // A product of numbers loses its lowest bits when it is above 2^53.
  '*': (a: Ints, b: Ints, out: Ints) => {
    for (let i = 0; i < out.length; i++) out[i] = Math.imul(a[i]!, b[i]!)
  },
} as const

export const doubleLoops = {
  '+': (a: Doubles, b: Doubles, out: Doubles) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Doubles, b: Doubles, out: Doubles) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! - b[i]!
  },
  '*': (a: Doubles, b: Doubles, out: Doubles) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! * b[i]!
  },
  '/': (a: Doubles, b: Doubles, out: Doubles) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! / b[i]!
  },
  '%': (a: Doubles, b: Doubles, out: Doubles) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! % b[i]!
  },
} as const

// V8 turns BigInt arithmetic that is cut to 64 bits into machine instructions: 2 to 4 ns a row.
export const longLoops = {
  '+': (a: Longs, b: Longs, out: Longs) => {
    for (let i = 0; i < out.length; i++) out[i] = BigInt.asIntN(64, a[i]! + b[i]!)
  },
  '-': (a: Longs, b: Longs, out: Longs) => {
    for (let i = 0; i < out.length; i++) out[i] = BigInt.asIntN(64, a[i]! - b[i]!)
  },
  '*': (a: Longs, b: Longs, out: Longs) => {
    for (let i = 0; i < out.length; i++) out[i] = BigInt.asIntN(64, a[i]! * b[i]!)
  },
  // For divisors that are above 0.
  '/': (a: Longs, b: Longs, out: Longs) => {
    for (let i = 0; i < out.length; i++) out[i] = BigInt.asIntN(64, a[i]! / b[i]!)
  },
  '%': (a: Longs, b: Longs, out: Longs) => {
    for (let i = 0; i < out.length; i++) out[i] = BigInt.asIntN(64, a[i]! % b[i]!)
  },
} as const

/** Remainders and quotients by a number above 0, which cannot fail. */
export const divisions = {
  '/': (a: Ints, b: number, out: Ints) => {
    for (let i = 0; i < out.length; i++) out[i] = (a[i]! / b) | 0
  },
  '%': (a: Ints, b: number, out: Ints) => {
    for (let i = 0; i < out.length; i++) out[i] = a[i]! % b
  },
} as const
