import * as fc from 'fast-check'
import { type Element, randomNumbers, stored } from './vectors.ts'

/*
 * Vectors that are hard to tell apart or to quantize, and queries for them.
 */

type Random = () => number

const kinds = {
  /** Nothing special. */
  even: (random: Random) => () => random() * 2 - 1,
  /** All near one vector, so that most are candidates. */
  near: (random: Random) => {
    const noise = 10 ** -Math.floor(random() * 9)
    return (i: number) => Math.sin(i) + (random() - 0.5) * noise
  },
  /** All equal. */
  equal: () => (i: number) => Math.cos(i),
  /** Few values, so that many distances are equal. */
  few: (random: Random) => () => Math.floor(random() * 3) - 1,
  /** One component is far larger than the others, whose codes are then 0 or 1. */
  outlier: (random: Random) => {
    const size = 10 ** Math.floor(random() * 7)
    return (i: number) => (i === 3 ? size : 1) * (random() * 2 - 1)
  },
  /** Lengths from the smallest to the largest. */
  lengths: (random: Random) => {
    const size = 10 ** (random() * 60 - 30)
    return () => size * (random() * 2 - 1)
  },
  /** Among these some are just too large or too small for codes. */
  edges: (random: Random) => {
    const size = [1e15, 1.0001e15, 1e-15, 0.9999e-15, 1e38, 1e-44, 3.4e38][Math.floor(random() * 7)]!
    return () => size * (random() < 0.5 ? 1 : -1) * (random() < 0.5 ? 1 : random())
  },
  zero: () => () => 0,
  sparse: (random: Random) => () => (random() < 0.05 ? random() * 2 - 1 : 0),
  odd: (random: Random) => {
    const value = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][Math.floor(random() * 3)]!
    return (i: number) => (i === 1 ? value : random())
  },
} satisfies Record<string, (random: Random) => (i: number) => number>

export type VectorKind = keyof typeof kinds | 'mixed'

export const vectorKinds = fc.constantFrom<VectorKind>(...(Object.keys(kinds) as VectorKind[]), 'mixed')

function storable(element: Element, value: number): number {
  if (element === 'float64' || !Number.isFinite(value)) return value
  const most = element === 'float16' ? 65_504 : 3.4e38
  const cut = Math.max(-most, Math.min(most, value))
  // The helper that writes halves has no subnormal ones.
  return element === 'float16' && Math.abs(cut) < 2 ** -14 ? 0 : stored(element, cut)
}

/** Some vectors of a kind, as a column of the element stores them. Some are null. */
export function hardVectors(
  { element, dimension, kind, rows }: { element: Element; dimension: number; kind: VectorKind; rows: number },
  seed: number,
): (number[] | null)[] {
  const random = randomNumbers(seed)
  const names = Object.keys(kinds) as (keyof typeof kinds)[]
  const component = kind === 'mixed' ? undefined : kinds[kind](random)
  return Array.from({ length: rows }, () => {
    if (random() < 0.02) return null
    const make =
      component ?? kinds[random() < 0.8 ? 'even' : names[Math.floor(random() * names.length)]!](random)
    return Array.from({ length: dimension }, (_, i) => storable(element, make(i)))
  })
}

/** Queries: one of the vectors, one beside it, any, and extreme ones. */
export function hardQueries(
  vectors: readonly (readonly number[] | null)[],
  element: Element,
  seed: number,
): number[][] {
  const random = randomNumbers(seed)
  const storableOf = (values: readonly number[]) =>
    values.map((value) => storable(element, Number.isFinite(value) ? value : 0))
  const some = vectors[Math.floor(random() * vectors.length)] ?? vectors.find((vector) => vector !== null)!
  const size = [1, 1, 1e-3, 1e20, 1e-20, 0][Math.floor(random() * 6)]!
  return [
    storableOf(some),
    storableOf(some.map((value) => value * (1 + (random() - 0.5) * 1e-3))),
    storableOf(some.map(() => (random() * 2 - 1) * size)),
  ]
}
