import { type DataType, Type } from '@uwdata/flechette'
import type { Values as ArrowValues, BatchParts } from '../../arrow/batch.ts'
import { layoutOf } from '../../arrow/layout.ts'
import { damagedFile } from '../damage.ts'
import type { Run } from './leaf-reader.ts'
import type { SchemaNode } from './schema-tree.ts'
import type { Shape } from './shape.ts'

/** Where values go: the slot of each one that is there; undefined if they follow one another. */
type Positions = Int32Array | undefined

/** The buffers of a leaf's natural type, of `count` slots, with the values of runs in theirs. */
export function fillValues(
  { node, natural }: Shape,
  runs: readonly Run[],
  positions: Positions,
  count: number,
): Partial<BatchParts> {
  const layout = layoutOf(natural)
  switch (layout.kind) {
    case 'null':
      if (runs.length > 0) throw damagedFile(`has values of column ${node.label}, which it says are all null`)
      return { nullCount: count }
    case 'bits':
      return { values: fillBits(runs, positions, count) }
    case 'bytes':
      return fillBytes(node, runs, positions, count)
    default:
      return { values: fillFixed(node, natural, runs, positions, count) }
  }
}

function fillBits(runs: readonly Run[], positions: Positions, count: number): Uint8Array {
  const out = new Uint8Array((count + 7) >> 3)
  let at = 0
  for (const { values, indices, start, end } of runs) {
    if (values.kind !== 'bits') throw new TypeError('no bits')
    for (let i = start; i < end; i++, at++) {
      if (values.bits[indices === undefined ? i : indices[i]!] === 0) continue
      const slot = positions === undefined ? at : positions[at]!
      out[slot >> 3]! |= 1 << (slot & 7)
    }
  }
  return out
}

function fillBytes(
  node: SchemaNode,
  runs: readonly Run[],
  positions: Positions,
  count: number,
): Partial<BatchParts> {
  let size = 0
  for (const { values, indices, start, end } of runs) {
    if (values.kind !== 'bytes') throw new TypeError('no bytes')
    for (let i = start; i < end; i++) {
      const at = indices === undefined ? i : indices[i]!
      size += values.ends[at]! - values.starts[at]!
    }
  }
  // Batches are cut where they get large, but one list may hold any number of values.
  if (size >= 2 ** 31)
    throw damagedFile(`has a row with ${size} bytes in column ${node.label}, too many for one`)
  const offsets = new Int32Array(count + 1)
  const out = new Uint8Array(size)
  let [done, next, slot] = [0, 0, 0]
  for (const { values, indices, start, end } of runs) {
    if (values.kind !== 'bytes') throw new TypeError('no bytes')
    for (let i = start; i < end; i++, next++) {
      const at = indices === undefined ? i : indices[i]!
      const target = positions === undefined ? next : positions[next]!
      while (slot <= target) offsets[slot++] = done
      const [from, to] = [values.starts[at]!, values.ends[at]!]
      // A call costs more than copying a few bytes.
      if (to - from > 24) out.set(values.data.subarray(from, to), done)
      else for (let b = from; b < to; b++) out[done + b - from] = values.data[b]!
      done += to - from
    }
  }
  while (slot <= count) offsets[slot++] = done
  return { offsets, values: out }
}

/** Writes a value of some bytes into the slot of its type. */
type Write = (data: Uint8Array, from: number, to: number, slot: number) => void

function fillFixed(
  node: SchemaNode,
  type: DataType,
  runs: readonly Run[],
  positions: Positions,
  count: number,
): ArrowValues {
  const layout = layoutOf(type)
  if (layout.kind !== 'fixed') throw new TypeError('no type of fixed width')
  const { array, bytes } = layout
  const values = new array((count * bytes) / array.BYTES_PER_ELEMENT) as ArrowValues
  const isWords = runs.every((run) => run.values.kind === 'words')
  if (isWords && type.typeId !== Type.Decimal && node.type !== 'INT96') {
    copyWords(values, bytes, runs, positions)
    return values
  }
  const write = writerOf(node, type, values, bytes)
  let at = 0
  for (const { values: given, indices, start, end } of runs) {
    for (let i = start; i < end; i++, at++) {
      const index = indices === undefined ? i : indices[i]!
      const slot = positions === undefined ? at : positions[at]!
      if (given.kind === 'words') {
        const { words, size } = given
        const data = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
        write(data, index * size * 4, (index + 1) * size * 4, slot)
      } else if (given.kind === 'bytes') write(given.data, given.starts[index]!, given.ends[index]!, slot)
    }
  }
  return values
}

/** Copies numbers of one or two words. Numbers of fewer bytes are the lower ones of a word. */
function copyWords(out: ArrowValues, bytes: number, runs: readonly Run[], positions: Positions): void {
  const isSmall = bytes < 4
  const target = isSmall ? out : new Int32Array(out.buffer, out.byteOffset, out.byteLength / 4)
  let at = 0
  for (const { values, indices, start, end } of runs) {
    if (values.kind !== 'words') throw new TypeError('no words')
    const { words, size } = values
    if (indices === undefined && positions === undefined && !isSmall) {
      ;(target as Int32Array).set(words.subarray(start * size, end * size), at * size)
      at += end - start
      continue
    }
    for (let i = start; i < end; i++, at++) {
      const from = (indices === undefined ? i : indices[i]!) * size
      const to = (positions === undefined ? at : positions[at]!) * (isSmall ? 1 : size)
      target[to] = words[from]!
      if (size === 2) target[to + 1] = words[from + 1]!
    }
  }
}

function writerOf(node: SchemaNode, type: DataType, values: ArrowValues, bytes: number): Write {
  const out = new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
  if (type.typeId === Type.Decimal) return decimalWriter(node, out, bytes)
  if (node.type === 'INT96') return instantWriter(node, new DataView(out.buffer))
  if (type.typeId === Type.Interval) {
    const view = new DataView(out.buffer)
    return (data, from, _to, slot) => {
      // Months, days and milliseconds; Arrow has nanoseconds.
      out.set(data.subarray(from, from + 8), slot * bytes)
      const given = new DataView(data.buffer, data.byteOffset + from + 8, 4)
      view.setBigInt64(slot * bytes + 8, BigInt(given.getUint32(0, true)) * 1_000_000n, true)
    }
  }
  return (data, from, to, slot) => out.set(data.subarray(from, to), slot * bytes)
}

/** Parquet has the highest byte of a decimal first in bytes, and last in numbers; Arrow has it last. */
function decimalWriter(node: SchemaNode, out: Uint8Array, bytes: number): Write {
  const isNumber = node.type === 'INT32' || node.type === 'INT64'
  return (data, from, to, slot) => {
    const length = to - from
    const start = slot * bytes
    const high = length === 0 ? 0 : data[isNumber ? to - 1 : from]!
    const fill = high >= 128 ? 255 : 0
    for (let b = 0; b < length; b++) {
      const byte = data[isNumber ? from + b : to - 1 - b]!
      if (b < bytes) out[start + b] = byte
      else if (byte !== fill) throw damagedFile(`has a decimal of column ${node.label} that is too large`)
    }
    for (let b = length; b < bytes; b++) out[start + b] = fill
  }
}

const unixEpochDay = 2_440_588n
const dayNanos = 86_400_000_000_000n

/** Instants of old writers: nanoseconds of the day, and the Julian day. */
function instantWriter(node: SchemaNode, out: DataView): Write {
  return (data, from, _to, slot) => {
    const view = new DataView(data.buffer, data.byteOffset + from, 12)
    const nanos = (BigInt(view.getInt32(8, true)) - unixEpochDay) * dayNanos + view.getBigInt64(0, true)
    if (BigInt.asIntN(64, nanos) !== nanos)
      throw damagedFile(`has a time of column ${node.label} beyond the years that nanoseconds reach`)
    out.setBigInt64(slot * 8, nanos, true)
  }
}
