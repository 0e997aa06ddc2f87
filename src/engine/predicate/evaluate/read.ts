import { type DataType, Type } from '@uwdata/flechette'
import { addRow, type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { NonNullScalar, Scalar } from '../plan/plan.ts'
import { checkTime } from '../work.ts'
import { isAscii } from './ascii.ts'
import type { Frame } from './frame.ts'
import { Memo } from './memo.ts'
import { entryAt, isLong, isString, readWide } from './scalar.ts'
import type { Codes, NumberArray, Texts, Vector } from './vector.ts'

/** Reads single rows of a vector in the form of plan values; null where the vector is null. */
export function readerOf(vector: Vector): (row: number) => Scalar {
  const { valid } = vector
  const read = valueReader(vector)
  return valid === null ? read : (row) => (hasRow(valid, row) ? read(row) : null)
}

function valueReader(vector: Vector): (row: number) => Scalar {
  switch (vector.kind) {
    case 'numbers': {
      const { values, type } = vector
      return type.typeId === Type.Decimal ? (row) => BigInt(values[row]!) : (row) => values[row]!
    }
    case 'longs': {
      const { values } = vector
      return (row) => values[row]!
    }
    case 'wide': {
      const { values, stride } = vector
      return (row) => readWide(values, row, stride)
    }
    case 'texts': {
      const { bytes, offsets, type } = vector
      return isString(type) ? stringReader(vector) : (row) => bytes.subarray(offsets[row]!, offsets[row + 1]!)
    }
    case 'booleans': {
      const { values } = vector
      return (row) => hasRow(values, row)
    }
    case 'codes': {
      const { codes } = vector
      const entries = entriesOf(vector)
      return (row) => entries(codes[row]!)
    }
    case 'scalars': {
      const { values } = vector
      return (row) => values[row]!
    }
  }
}

/** Strings that are read one by one before all of a slice are decoded, and the most bytes of that. */
const readOneByOne = 1024
const maxDecoded = 1 << 22

/** Texts as strings. A part of a decoded slice takes a tenth of the time of decoding a text. */
function stringReader({ bytes, offsets }: Texts): (row: number) => string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const rows = offsets.length - 1
  const [start, end] = [offsets[0]!, offsets[rows]!]
  let left = rows > readOneByOne && end - start <= maxDecoded ? readOneByOne : Number.POSITIVE_INFINITY
  let decoded: string | undefined
  return (row) => {
    if (decoded !== undefined) return decoded.slice(offsets[row]! - start, offsets[row + 1]! - start)
    if (left-- === 0 && isAscii({ bytes, offsets }, rows)) decoded = buffer.toString('latin1', start, end)
    return buffer.toString('utf8', offsets[row]!, offsets[row + 1]!)
  }
}

const remembered = new WeakMap<object, Memo>()

/** Entries of a dictionary in the form of plan values. Each is read once while there is room in the cache. */
function entriesOf({ key, entries }: Codes): (code: number) => Scalar {
  let known = remembered.get(key)
  if (known === undefined) {
    known = new Memo()
    remembered.set(key, known)
  }
  const cache = known
  return (code) => {
    let value = cache.get(code)
    if (value === undefined) {
      value = entryAt(entries, code)
      cache.set(code, value)
    }
    return value
  }
}

/**
 * A vector of values computed one by one for the rows of `need`, in an array of their type where there is one. A year
 * may be too large for that: then all values are made again, as they are.
 */
export function valuesFrom(
  frame: Frame,
  type: DataType,
  need: Bitmap,
  make: (row: number) => Scalar,
  asTheyAre = false,
): Vector {
  const valid = frame.noRows()
  const vector: Vector = asTheyAre
    ? { kind: 'scalars', type, valid, values: new Array(frame.length).fill(null) }
    : vectorFor(frame, type, valid)
  const write = writerOf(vector)
  for (let q = 0; q < frame.words; q++) {
    // Checked every 256 rows, as the size of a value is not known in advance.
    if ((q & 7) === 7) checkTime()
    for (let rest = need[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      const row = (q << 5) + 31 - Math.clz32(bit)
      const value = make(row)
      if (value === null) continue
      if (!write(row, value)) return valuesFrom(frame, type, need, make, true)
      valid[q]! |= bit
    }
  }
  return vector
}

/** A vector in scratch memory, for values of a type that are written one by one. */
export function vectorFor(frame: Frame, type: DataType, valid: Bitmap): Vector {
  if (type.typeId === Type.Bool) return { kind: 'booleans', type, valid, values: frame.noRows() }
  if (type.typeId !== Type.Decimal && isLong(type)) {
    const array = type.typeId === Type.Int && !type.signed ? BigUint64Array : BigInt64Array
    return { kind: 'longs', type, valid, values: frame.array(array, frame.length) }
  }
  const array = arrayOf(type)
  if (array !== undefined) {
    return { kind: 'numbers', type, valid, values: frame.array(array, frame.length) as NumberArray }
  }
  return { kind: 'scalars', type, valid, values: new Array(frame.length).fill(null) }
}

/** The array type for values that are numbers in JavaScript. */
function arrayOf(type: DataType): typeof Int32Array | undefined {
  switch (type.typeId) {
    case Type.Float:
      return (type.precision === 2 ? Float64Array : Float32Array) as never
    case Type.Int:
    case Type.Date:
    case Type.Time:
      return type.values as never
    default:
      return undefined
  }
}

/** Writes values that are not null into a vector of `vectorFor`. False if an integer does not fit its array. */
export function writerOf(vector: Vector): (row: number, value: NonNullScalar) => boolean {
  if (vector.kind === 'booleans') {
    return (row, value) => {
      if (value === true) addRow(vector.values, row)
      return true
    }
  }
  const values = (vector as { readonly values: unknown }).values as Scalar[]
  const isInteger = vector.kind === 'numbers' && vector.type.typeId !== Type.Float
  return (row, value) => {
    values[row] = value
    return !isInteger || values[row] === value
  }
}
