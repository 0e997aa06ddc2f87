/*
 * Arithmetic of whole arrays, one loop for each operation and kind of array: a loop that meets a second kind
 * becomes several times slower. Each runs over all `n` rows, needed or not, as none can fail. To ask an array for its
 * length at each row would take a tenth more.
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
  // A product of numbers loses its lowest bits when it is above 2^53.
  '*': (a: Ints, b: Ints, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = Math.imul(a[i]!, b[i]!)
  },
} as const

/** The same with one number for all rows. Differences are sums with its opposite. */
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

// V8 turns BigInt arithmetic that is cut to 64 bits into machine instructions: 2 to 4 ns a row.
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
 * Quotients and remainders by a number that is neither 0 nor -1, which cannot fail. V8's own remainder asks for the sign
 * of each value: where signs vary, that takes seven times as long.
 */
export const divisions = {
  '/': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = (a[i]! / b) | 0
  },
  '%': (a: Ints, b: number, n: number, out: Ints) => {
    for (let i = 0; i < n; i++) out[i] = a[i]! - Math.imul((a[i]! / b) | 0, b)
  },
} as const
