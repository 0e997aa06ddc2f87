import {
  type DataType,
  type Field,
  field,
  fixedSizeList,
  float16,
  float32,
  float64,
  int8,
  int32,
  Table,
  uint8,
  utf8,
} from '@uwdata/flechette'
import { makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { roundToHalf } from '../../../../src/engine/arrow/half.ts'

export type Element = 'float16' | 'float32' | 'float64' | 'int8' | 'uint8'

const types: Readonly<Record<Element, () => DataType>> = {
  float16,
  float32,
  float64,
  int8,
  uint8,
}

/** Numbers that are the same in each run. */
export function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0
    return (state >>> 8) / 2 ** 24
  }
}

/** A value as a column of the element stores it. */
export function stored(element: Element, value: number): number {
  if (element === 'float16') return roundToHalf(value)
  if (element === 'float32') return Math.fround(value)
  return value
}

/** Some value of the element. Few values differ, so that distances are often the same. */
export function someValue(element: Element, random: () => number): number {
  const bytes = Math.floor(random() * 12)
  if (element === 'int8') return bytes - 6
  if (element === 'uint8') return bytes
  return stored(element, (bytes - 6) / 3)
}

function halfBits(value: number): number {
  const view = new DataView(new ArrayBuffer(4))
  view.setFloat32(0, value)
  const bits = view.getUint32(0)
  const exponent = ((bits >>> 23) & 255) - 127
  if (value === 0) return 0
  if (Number.isNaN(value)) return 0x7e00
  if (!Number.isFinite(value)) return ((bits >>> 16) & 0x8000) | 0x7c00
  return ((bits >>> 16) & 0x8000) | ((exponent + 15) << 10) | ((bits >>> 13) & 1023)
}

/** A table with a row for each vector: its number as `id`, a word as `s`, and the vector, or null, as `v`. */
export function vectorTable(
  element: Element,
  dimension: number,
  vectors: readonly (readonly number[] | null)[],
  name = 'v',
): Table {
  const item = types[element]()
  const type = fixedSizeList(field('item', item), dimension)
  const rows = vectors.length
  const Values = {
    float16: Uint16Array,
    float32: Float32Array,
    float64: Float64Array,
    int8: Int8Array,
    uint8: Uint8Array,
  }[element]
  const values = new Values(rows * dimension)
  const validity = new Uint8Array(Math.ceil(rows / 8))
  let nullCount = 0
  for (const [row, vector] of vectors.entries()) {
    if (vector === null) nullCount++
    else validity[row >> 3]! |= 1 << (row & 7)
    for (const [i, value] of (vector ?? []).entries())
      values[row * dimension + i] = element === 'float16' ? halfBits(value) : value
  }
  const words = vectors.map((_, row) => `word ${row % 7}`)
  const fields: Field[] = [field('id', int32()), field('s', utf8()), field(name, type)]
  const text = new TextEncoder().encode(words.join(''))
  const offsets = new Int32Array(rows + 1)
  for (const [row, word] of words.entries()) offsets[row + 1] = offsets[row]! + word.length
  const child = makeBatch(item, { length: rows * dimension, values })
  return new Table({ version: 4, endianness: 0, fields, metadata: null } as never, [
    makeColumn(fields[0]!.type, [
      makeBatch(fields[0]!.type, { length: rows, values: Int32Array.from(words, (_, i) => i) }),
    ]),
    makeColumn(fields[1]!.type, [makeBatch(fields[1]!.type, { length: rows, values: text, offsets })]),
    makeColumn(type, [
      makeBatch(type, { length: rows, nullCount, ...(nullCount > 0 && { validity }), children: [child] }),
    ]),
  ])
}

/** The distance as its definition has it. */
export function distanceOf(measure: string, a: readonly number[], b: readonly number[]): number {
  const sum = (part: (x: number, y: number) => number) => a.reduce((all, x, i) => all + part(x, b[i]!), 0)
  const dot = sum((x, y) => x * y)
  if (measure === 'l2') return Math.fround(sum((x, y) => (x - y) ** 2))
  if (measure === 'dot') return Math.fround(1 - dot)
  if (measure === 'cosine')
    return Math.fround(1 - dot / (Math.sqrt(sum((x) => x * x)) * Math.sqrt(sum((_, y) => y * y))))
  const bits = (x: number) => (x & 255).toString(2).replaceAll('0', '').length
  return sum((x, y) => bits(x ^ y))
}
