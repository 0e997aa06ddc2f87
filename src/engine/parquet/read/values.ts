import { deltaBinaryUnpack } from 'hyparquet/src/delta.js'
import { readVarInt } from 'hyparquet/src/thrift.js'
import { damagedFile, type ReadBudget, unreadable } from '../damage.ts'
import { decodeHybrid } from './hybrid.ts'
import type { SchemaNode } from './schema-tree.ts'

/** Values of one page or dictionary, without nulls, as Parquet stores them. */
export type Values =
  /** Numbers as words of 32 bits, the lower ones first. */
  | { readonly kind: 'words'; readonly words: Int32Array; readonly size: number; readonly length: number }
  | {
      readonly kind: 'bytes'
      readonly data: Uint8Array
      readonly starts: Int32Array
      readonly ends: Int32Array
    }
  /** A byte for each, 0 or 1. */
  | { readonly kind: 'bits'; readonly bits: Uint8Array }

/** How values are to be decoded: the column, the encoding, how many there are, and the budget for them. */
export interface Coding {
  readonly leaf: SchemaNode
  readonly encoding: string
  readonly count: number
  readonly budget: ReadBudget
}

const wordsOf: Readonly<Record<string, number>> = { INT32: 1, FLOAT: 1, INT64: 2, DOUBLE: 2, INT96: 3 }

export function lengthOf(values: Values): number {
  if (values.kind === 'words') return values.length
  return values.kind === 'bytes' ? values.starts.length : values.bits.length
}

/** Decodes values of any encoding but that of a dictionary. */
export function decodeValues(bytes: Uint8Array, coding: Coding): Values {
  const { leaf, encoding, count } = coding
  const size = wordsOf[leaf.type!]
  switch (encoding) {
    case 'PLAIN':
      return plain(bytes, leaf, count)
    case 'RLE':
      if (leaf.type !== 'BOOLEAN') break
      return runsOfBits(bytes, leaf, count)
    case 'DELTA_BINARY_PACKED':
      if (leaf.type !== 'INT32' && leaf.type !== 'INT64') break
      return {
        kind: 'words',
        words: deltas(bytes, leaf, count, leaf.type === 'INT64').words,
        size: size!,
        length: count,
      }
    case 'DELTA_LENGTH_BYTE_ARRAY':
      if (leaf.type !== 'BYTE_ARRAY') break
      return deltaLengths(bytes, leaf, count)
    case 'DELTA_BYTE_ARRAY':
      if (leaf.type !== 'BYTE_ARRAY' && leaf.type !== 'FIXED_LEN_BYTE_ARRAY') break
      return deltaBytes(bytes, coding)
    case 'BYTE_STREAM_SPLIT':
      if (leaf.type === 'BOOLEAN' || leaf.type === 'BYTE_ARRAY' || leaf.type === 'INT96') break
      return plain(joined(bytes, count, size === undefined ? leaf.length : size * 4, leaf), leaf, count)
  }
  throw unreadable(
    `has column ${leaf.label} of ${leaf.type} in the encoding ${encoding}`,
    'Write it with plain or dictionary encoding.',
  )
}

function cutOff(leaf: SchemaNode) {
  return damagedFile(`has values of column ${leaf.label} that are cut off`)
}

function plain(bytes: Uint8Array, leaf: SchemaNode, count: number): Values {
  const size = wordsOf[leaf.type!]
  if (size !== undefined) {
    const length = count * size * 4
    if (length > bytes.length) throw cutOff(leaf)
    const part = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes.subarray(0, length))
    return {
      kind: 'words',
      words: new Int32Array(part.buffer, part.byteOffset, count * size),
      size,
      length: count,
    }
  }
  if (leaf.type === 'BOOLEAN') {
    if (count > bytes.length * 8) throw cutOff(leaf)
    const bits = new Uint8Array(count)
    for (let i = 0; i < count; i++) bits[i] = (bytes[i >> 3]! >> (i & 7)) & 1
    return { kind: 'bits', bits }
  }
  const starts = new Int32Array(count)
  const ends = new Int32Array(count)
  let at = 0
  for (let i = 0; i < count; i++) {
    let length = leaf.length
    if (leaf.type === 'BYTE_ARRAY') {
      if (at + 4 > bytes.length) throw cutOff(leaf)
      length = (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
      at += 4
    }
    starts[i] = at
    at += length
    if (at > bytes.length) throw cutOff(leaf)
    ends[i] = at
  }
  return { kind: 'bytes', data: bytes, starts, ends }
}

function runsOfBits(bytes: Uint8Array, leaf: SchemaNode, count: number): Values {
  const length = bytes.length < 4 ? 0 : new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true)
  if (bytes.length < 4 + length) throw cutOff(leaf)
  const bits = new Uint8Array(count)
  decodeHybrid(bytes, 4, 4 + length, 1, bits)
  return { kind: 'bits', bits }
}

/** Joins the bytes of values, of which all first ones come first. */
function joined(bytes: Uint8Array, count: number, width: number, leaf: SchemaNode): Uint8Array {
  // How far the parts of a value lie apart follows from the number of values.
  if (count * width !== bytes.length)
    throw damagedFile(`has another number of values of column ${leaf.label} than it says`)
  const whole = new Uint8Array(count * width)
  for (let b = 0, at = 0; b < width; b++) for (let i = 0; i < count; i++) whole[i * width + b] = bytes[at++]!
  return whole
}

/** Blocks of more values, and of more parts, have no use and would take any memory. */
const maxBlock = 1 << 20

/** Decodes differences, and says where they end. */
function deltas(
  bytes: Uint8Array,
  leaf: SchemaNode,
  count: number,
  wide: boolean,
): { words: Int32Array; end: number } {
  const reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 }
  try {
    const [block, parts, total] = [readVarInt(reader), readVarInt(reader), readVarInt(reader)]
    if (total !== count || block < 1 || block > maxBlock || parts < 1 || block % (parts * 8) !== 0)
      throw damagedFile(`has differences of column ${leaf.label} in an impossible layout`)
    checkWidths(reader, block / parts, parts, count, wide ? 64 : 32)
    reader.offset = 0
    const values = wide ? new BigInt64Array(Math.max(1, count)) : new Int32Array(Math.max(1, count))
    deltaBinaryUnpack(reader, count, values)
    return { words: new Int32Array(values.buffer, 0, count * (wide ? 2 : 1)), end: reader.offset }
  } catch (cause) {
    if (cause instanceof RangeError) throw cutOff(leaf)
    throw cause
  }
}

/** Checks the bits that differences take. `reader` is behind the header. */
function checkWidths(
  reader: { view: DataView; offset: number },
  size: number,
  parts: number,
  count: number,
  max: number,
): void {
  readVarInt(reader)
  for (let left = count - 1; left > 0; ) {
    readVarInt(reader)
    const widths = reader.offset
    reader.offset += parts
    for (let i = 0; i < parts && left > 0; i++, left -= size) {
      const width = reader.view.getUint8(widths + i)
      if (width > max) throw damagedFile(`has differences of ${width} bits where at most ${max} are possible`)
      reader.offset += (size * width) / 8
    }
  }
}

function deltaLengths(bytes: Uint8Array, leaf: SchemaNode, count: number): Values {
  const { words: lengths, end } = deltas(bytes, leaf, count, false)
  const starts = new Int32Array(count)
  const ends = new Int32Array(count)
  let at = end
  for (let i = 0; i < count; i++) {
    if (lengths[i]! < 0 || at + lengths[i]! > bytes.length) throw cutOff(leaf)
    starts[i] = at
    at += lengths[i]!
    ends[i] = at
  }
  return { kind: 'bytes', data: bytes, starts, ends }
}

/** Decodes values that begin with a part of the one before. A few bytes may stand for any number of them. */
function deltaBytes(bytes: Uint8Array, { leaf, count, budget }: Coding): Values {
  const { words: prefixes, end } = deltas(bytes, leaf, count, false)
  const suffixes = deltaLengths(bytes.subarray(end), leaf, count)
  if (suffixes.kind !== 'bytes') throw new TypeError('no bytes')
  const starts = new Int32Array(count)
  const ends = new Int32Array(count)
  let size = 0
  for (let i = 0; i < count; i++) {
    const before = i === 0 ? 0 : ends[i - 1]! - starts[i - 1]!
    const prefix = prefixes[i]!
    if (prefix < 0 || prefix > before)
      throw damagedFile(`has a value of column ${leaf.label} without its beginning`)
    starts[i] = size
    size += prefix + suffixes.ends[i]! - suffixes.starts[i]!
    if (size > budget.max) budget.take(size, leaf.label)
    ends[i] = size
    if (leaf.type === 'FIXED_LEN_BYTE_ARRAY' && size - starts[i]! !== leaf.length)
      throw damagedFile(`has a value of column ${leaf.label} of another length than ${leaf.length}`)
  }
  budget.take(size, leaf.label)
  budget.release(size)
  const data = new Uint8Array(size)
  for (let i = 0; i < count; i++) {
    const prefix = prefixes[i]!
    if (prefix > 0) data.copyWithin(starts[i]!, starts[i - 1]!, starts[i - 1]! + prefix)
    data.set(suffixes.data.subarray(suffixes.starts[i]!, suffixes.ends[i]!), starts[i]! + prefix)
  }
  return { kind: 'bytes', data, starts, ends }
}

/** The numbers of values in their dictionary. */
export function decodeIndices(bytes: Uint8Array, { leaf, count }: Coding, entries: number): Int32Array {
  const indices = new Int32Array(count)
  if (count === 0 && bytes.length === 0) return indices
  if (bytes.length === 0) throw cutOff(leaf)
  decodeHybrid(bytes, 1, bytes.length, bytes[0]!, indices)
  for (let i = 0; i < count; i++) {
    if (indices[i]! >>> 0 >= entries)
      throw damagedFile(`has a value of column ${leaf.label} that its dictionary of ${entries} does not have`)
  }
  return indices
}
