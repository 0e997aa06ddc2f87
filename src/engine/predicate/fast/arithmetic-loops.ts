/*
 * Arithmetic on whole arrays, with one loop for each operation and array type: a loop that gets a second type becomes
 * several times slower. Each loop processes all `n` rows, needed or not, as none can fail. Reading the length of an
 * array for each row would take a tenth more.
 */

type Ints = Int32Array
type Doubles = Float64Array
type Longs = BigInt64Array

export const intLoops = {
  '+': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - b[i]!
  },
  // A product of numbers loses its lowest bits above 2^53.
  '*': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = Math.imul(a[i]!, b[i]!)
  },
} as const

/** As above, with one number for all rows. Differences are sums with its negation. */
export const intByNumber = {
  '+': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b
  },
  '*': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = Math.imul(a[i]!, b)
  },
} as const

export const doubleLoops = {
  '+': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! + b[i]!
  },
  '-': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - b[i]!
  },
  '*': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! * b[i]!
  },
  '/': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! / b[i]!
  },
  '%': (a: Doubles, b: Doubles, n: number, out: Doubles) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! % b[i]!
  },
} as const

// V8 compiles BigInt arithmetic that is cut to 64 bits into machine instructions: 2 to 4 ns a row.
export const longLoops = {
  '+': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! + b[i]!)
  },
  '-': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! - b[i]!)
  },
  '*': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! * b[i]!)
  },
  '/': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! / b[i]!)
  },
  '%': (a: Longs, b: Longs, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! % b[i]!)
  },
} as const

export const longByNumber = {
  '+': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! + b)
  },
  '*': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! * b)
  },
  '/': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! / b)
  },
  '%': (a: Longs, b: bigint, n: number, out: Longs) => {
    for (let i = 0; i < n; i++) out[i] = BigInt.asIntN(64, a[i]! % b)
  },
} as const

/**
 * Quotients and remainders by a number that is neither 0 nor -1, which cannot fail. V8's own remainder tests the sign
 * of each value: with mixed signs, that takes seven times as long.
 */
export const divisions = {
  '/': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = (a[i]! / b) | 0
  },
  '%': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - Math.imul((a[i]! / b) | 0, b)
  },
} as const
