import { Type } from '@uwdata/flechette'
import { CatalogError } from '../../../base/errors.ts'
import { type AnyBatch, dataOf, dictionaryOf } from '../../arrow/batch.ts'
import { type Bitmap, intersect, readBits, subtract } from '../../arrow/bitmap.ts'
import { halves } from '../../arrow/half.ts'
import type { ColumnPlan, Scalar } from '../plan/plan.ts'
import { chargeReadBytes, checkTime } from '../work.ts'
import { eachNeeded, type Frame } from './frame.ts'
import type { ValueNode } from './node.ts'
import { bytesOf, hasValidity, isBitSet, isLong, runOf, scalarAt, wordsOf } from './scalar.ts'
import type { Codes, NumberArray, Vector } from './vector.ts'

/** A column, or a field of a struct in it. The field is null wherever a struct around it is. */
export function columnNode(plan: ColumnPlan): ValueNode {
  const { path } = plan
  return {
    cost: 1,
    raises: false,
    located: (frame) => locate(frame, path),
    vector(frame, need) {
      const { batch, valid } = locate(frame, path)
      return vectorOf(frame, batch, need, valid)
    },
    validRows(frame, need) {
      const { batch, valid } = locate(frame, path)
      return validRowsOf(frame, batch, need, valid)
    },
  }
}

function locate(frame: Frame, path: readonly number[]): { batch: AnyBatch; valid: Bitmap | null } {
  let batch = frame.rows.columns[path[0]!]
  let valid: Bitmap | null = null
  for (let depth = 0; ; depth++) {
    if (batch === undefined) {
      const names = path.slice(0, depth + 1).join('.')
      throw new CatalogError('Internal', `Column ${names} was not given to the evaluator. Read it first.`)
    }
    valid = addValidity(frame, batch, valid)
    if (depth === path.length - 1) return { batch, valid }
    batch = batch.children[path[depth + 1]!]
  }
}

/** Rows of `valid` that are not null by the batch's own bitmap. */
export function addValidity(frame: Frame, batch: AnyBatch, valid: Bitmap | null): Bitmap | null {
  if (!hasValidity(batch) || batch.nullCount === 0) return valid
  const own = readBits(batch.validity, frame.start, frame.length, frame.bitmap())
  if (valid !== null) intersect(own, valid, own, frame.words)
  return own
}

/** Rows of `need` that are not null. Unions and encoded values have nulls that bitmaps do not show. */
export function validRowsOf(frame: Frame, batch: AnyBatch, need: Bitmap, valid: Bitmap | null): Bitmap {
  const { typeId } = batch.type
  if (typeId === Type.Null) return frame.noRows()
  const rows = frame.copyOf(need)
  if (valid !== null) intersect(rows, valid, rows, frame.words)
  if (typeId !== Type.Union && typeId !== Type.RunEndEncoded) {
    if (typeId !== Type.Dictionary) return rows
    if (dictionaryOf(batch).data.every((entries) => entries.nullCount === 0)) return rows
  }
  // Rare types, which may have nulls at any depth.
  for (let q = 0; q < frame.words; q++) {
    for (let word = rows[q]!; word !== 0; word &= word - 1) {
      const bit = word & -word
      const row = frame.start + (q << 5) + 31 - Math.clz32(bit)
      if (scalarAt(batch, row) === null) rows[q]! &= ~bit
    }
  }
  return rows
}

/** The frame's slice of a batch. `valid` has the rows not null by bitmaps, the batch's own included. */
export function vectorOf(frame: Frame, batch: AnyBatch, need: Bitmap, valid: Bitmap | null): Vector {
  const { type } = batch
  const { start } = frame
  const end = start + frame.length
  switch (type.typeId) {
    case Type.Bool:
      return {
        kind: 'booleans',
        type,
        valid,
        values: readBits(batch.values as Uint8Array, start, frame.length, frame.bitmap()),
      }
    case Type.Float: {
      if (type.precision !== 0) break
      const values = frame.array(Float32Array, frame.length)
      const table = halves()
      const halfBits = batch.values as Uint16Array
      for (let i = 0; i < values.length; i++) values[i] = table[halfBits[start + i]!]!
      return { kind: 'numbers', type, valid, values }
    }
    case Type.Decimal:
      if (type.bitWidth > 64) {
        const stride = type.bitWidth / 32
        return {
          kind: 'wide',
          type,
          valid,
          stride,
          values: wordsOf(batch).subarray(start * stride, end * stride),
        }
      }
      if (type.bitWidth === 64) {
        const { buffer, byteOffset } = batch.values as BigUint64Array
        const values = new BigInt64Array(buffer as ArrayBuffer, byteOffset + start * 8, frame.length)
        return { kind: 'longs', type, valid, values }
      }
      break
    case Type.Int:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      break
    case Type.Utf8:
    case Type.Binary: {
      const bytes = batch.values as Uint8Array
      return {
        kind: 'texts',
        type,
        valid,
        bytes,
        offsets: (batch.offsets as Int32Array).subarray(start, end + 1),
      }
    }
    case Type.LargeUtf8:
    case Type.LargeBinary:
      return { kind: 'texts', type, valid, ...relativeOffsets(frame, batch) }
    case Type.FixedSizeBinary: {
      const offsets = frame.array(Int32Array, frame.length + 1)
      for (let i = 0; i < offsets.length; i++) offsets[i] = i * type.stride
      const bytes = (batch.values as Uint8Array).subarray(start * type.stride, end * type.stride)
      return { kind: 'texts', type, valid, bytes, offsets }
    }
    case Type.Utf8View:
    case Type.BinaryView:
      return { kind: 'texts', type, valid, ...gatherViews(frame, batch, need) }
    case Type.Dictionary: {
      const dictionary = dictionaryOf(batch)
      const codes = codesOf(frame, batch.values as Int32Array | BigInt64Array)
      const parts = { codes, entries: dictionary.data, key: dictionary }
      return { kind: 'codes', type, ...parts, valid: validCodes(frame, parts, valid) }
    }
    case Type.RunEndEncoded: {
      const parts = { codes: runsOf(frame, batch), entries: [batch.children[1]!], key: batch }
      return { kind: 'codes', type, ...parts, valid: validCodes(frame, parts, valid) }
    }
    default:
      return scalarsOf(frame, batch, need, valid)
  }
  if (isLong(type)) {
    return { kind: 'longs', type, valid, values: (batch.values as BigInt64Array).subarray(start, end) }
  }
  return { kind: 'numbers', type, valid, values: (batch.values as NumberArray).subarray(start, end) }
}

function scalarsOf(frame: Frame, batch: AnyBatch, need: Bitmap, valid: Bitmap | null): Vector {
  const values: Scalar[] = new Array(frame.length).fill(null)
  for (let q = 0; q < frame.words; q++) {
    if ((q & 7) === 7) checkTime()
    for (let word = valid === null ? need[q]! : need[q]! & valid[q]!; word !== 0; word &= word - 1) {
      const row = (q << 5) + 31 - Math.clz32(word & -word)
      const value = scalarAt(batch, frame.start + row)
      values[row] = value
      if (typeof value === 'object') chargeReadBytes(bytesOf(value))
    }
  }
  // Unions and null columns have no validity bitmap, so one is created.
  const known = frame.noRows()
  for (let i = 0; i < values.length; i++) if (values[i] !== null) known[i >>> 5]! |= 1 << (i & 31)
  return { kind: 'scalars', type: batch.type, valid: known, values }
}

/** The slice's indices into a dictionary, as numbers. */
export function codesOf(frame: Frame, codes: NumberArray | BigInt64Array | BigUint64Array): NumberArray {
  const slice = codes.subarray(frame.start, frame.start + frame.length)
  if (!(slice instanceof BigInt64Array) && !(slice instanceof BigUint64Array)) return slice
  const narrow = frame.array(Int32Array, frame.length)
  const words = new Int32Array(slice.buffer as ArrayBuffer, slice.byteOffset, slice.length * 2)
  for (let i = 0; i < narrow.length; i++) narrow[i] = words[2 * i]!
  return narrow
}

/** The index of the run of each row of the slice. */
export function runsOf(frame: Frame, batch: AnyBatch): Int32Array {
  const ends = batch.children[0]!.values as Int32Array | BigInt64Array
  const runs = frame.array(Int32Array, frame.length)
  let run = runOf(batch, frame.start)
  for (let i = 0; i < frame.length; i++) {
    while (ends[run]! <= frame.start + i) run++
    runs[i] = run
  }
  return runs
}

const nullEntries = new WeakMap<object, Uint8Array>()

/** Rows of `valid` whose entry is not null either. */
function validCodes(
  frame: Frame,
  { codes, entries, key }: Pick<Codes, 'codes' | 'entries' | 'key'>,
  valid: Bitmap | null,
): Bitmap | null {
  if (entries.every((batch) => batch.nullCount === 0 && hasValidity(batch))) return valid
  let table = nullEntries.get(key)
  if (table === undefined) {
    table = new Uint8Array(entries.reduce((sum, { length }) => sum + length, 0))
    let entry = 0
    for (const batch of entries) {
      for (let i = 0; i < batch.length; i++) table[entry++] = scalarAt(batch, i) === null ? 1 : 0
    }
    nullEntries.set(key, table)
  }
  const known = valid ?? frame.allRows()
  const isNull = frame.bitmap()
  const nulls = table
  eachNeeded(frame.length, known, isNull, (row) => nulls[codes[row]!] === 1)
  subtract(known, isNull, isNull, frame.words)
  return isNull
}

/** Converts texts of other layouts to that of `Utf8`, so that text tests support one layout only. */
interface Plain {
  readonly bytes: Uint8Array
  readonly offsets: Int32Array
}

/** Offsets of 64 bits, relative to the start of the slice. */
function relativeOffsets(frame: Frame, batch: AnyBatch): Plain {
  const wide = batch.offsets as BigInt64Array
  // Halves of 32 bits: a BigInt for each row would cost more than the comparison.
  const words = new Uint32Array(
    wide.buffer as ArrayBuffer,
    wide.byteOffset + frame.start * 8,
    (frame.length + 1) * 2,
  )
  const base = words[0]! + words[1]! * 0x100000000
  const offsets = frame.array(Int32Array, frame.length + 1)
  for (let i = 0; i < offsets.length; i++) {
    offsets[i] = words[2 * i]! + words[2 * i + 1]! * 0x100000000 - base
  }
  const last = Number(wide[frame.start + frame.length]!)
  checkSize(last - base, frame.length)
  return { bytes: (batch.values as Uint8Array).subarray(base, last), offsets }
}

/**
 * Converts view types to one buffer, so that text tests support one layout only. Source of the layout:
 * https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-view-layout
 */
function gatherViews(frame: Frame, batch: AnyBatch, need: Bitmap): Plain {
  const { buffer, byteOffset } = batch.values as Uint8Array
  const views = new DataView(buffer, byteOffset + frame.start * 16, frame.length * 16)
  const isValid = (row: number) => batch.nullCount === 0 || isBitSet(batch.validity, frame.start + row)
  const offsets = frame.array(Int32Array, frame.length + 1)
  let total = 0
  for (let i = 0; i < frame.length; i++) {
    offsets[i] = total
    if (((need[i >>> 5]! >>> (i & 31)) & 1) === 1 && isValid(i)) total += views.getInt32(i * 16, true)
  }
  offsets[frame.length] = total
  // Many views may share the same bytes.
  chargeReadBytes(total)
  checkSize(total, frame.length)
  const bytes = new Uint8Array(total + 8)
  const inline = new Uint8Array(buffer, views.byteOffset, views.byteLength)
  const data = dataOf(batch)
  for (let i = 0; i < frame.length; i++) {
    const length = offsets[i + 1]! - offsets[i]!
    if (length === 0) continue
    const at = offsets[i]!
    if (length <= 12) {
      for (let j = 0; j < length; j++) bytes[at + j] = inline[i * 16 + 4 + j]!
    } else {
      const from = views.getInt32(i * 16 + 12, true)
      bytes.set(data[views.getInt32(i * 16 + 8, true)]!.subarray(from, from + length), at)
    }
  }
  return { bytes, offsets }
}

/** Offsets are of 32 bits within a slice. */
function checkSize(bytes: number, rows: number): void {
  if (bytes <= 0x7fffffff) return
  throw new CatalogError(
    'InvalidTableState',
    `A column has ${bytes} bytes of text in ${rows} rows, more than can be searched at once. ` +
      'Write it in shorter values.',
  )
}
