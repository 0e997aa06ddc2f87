import { type DataType, Type } from '@uwdata/flechette'
import { type Bitmap, hasRow } from '../../arrow/bitmap.ts'
import type { Scalar } from '../plan/plan.ts'
import { checkTime } from '../work.ts'
import type { Frame } from './frame.ts'
import { Memo } from './memo.ts'
import { entryAt, isString, readWide } from './scalar.ts'
import type { Codes, Scalars, Vector } from './vector.ts'

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
      if (!isString(type)) return (row) => bytes.subarray(offsets[row]!, offsets[row + 1]!)
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      return (row) => buffer.toString('utf8', offsets[row]!, offsets[row + 1]!)
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

/** A vector of values computed one by one for the rows of `need`. */
export function scalarsFrom(
  frame: Frame,
  type: DataType,
  need: Bitmap,
  make: (row: number) => Scalar,
): Scalars {
  const values: Scalar[] = new Array(frame.length).fill(null)
  const valid = frame.noRows()
  for (let q = 0; q < frame.words; q++) {
    // Checked every 256 rows, as the size of a value is not known in advance.
    if ((q & 7) === 7) checkTime()
    for (let rest = need[q]!; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest
      const row = (q << 5) + 31 - Math.clz32(bit)
      const value = make(row)
      values[row] = value
      if (value !== null) valid[q]! |= bit
    }
  }
  return { kind: 'scalars', type, valid, values }
}
