import { Type } from '@uwdata/flechette'
import { type AnyBatch, dictionaryOf } from '../../arrow/batch.ts'
import { type Bitmap, readBits } from '../../arrow/bitmap.ts'
import { halves } from '../../arrow/half.ts'
import type { Scalar } from '../plan/plan.ts'
import { chargeReadBytes, checkTime } from '../work.ts'
import { codesOf, runsOf, validCodes } from './encoded.ts'
import type { Frame } from './frame.ts'
import { isLong, scalarAt, sizeOf, wordsOf } from './scalar.ts'
import { gatherViews, relativeOffsets } from './text-layouts.ts'
import type { NumberArray, Vector } from './vector.ts'

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

/** Bytes of an item of a list that was read. */
const bytesOfItem = 8

function scalarsOf(frame: Frame, batch: AnyBatch, need: Bitmap, valid: Bitmap | null): Vector {
  const values: Scalar[] = new Array(frame.length).fill(null)
  for (let q = 0; q < frame.words; q++) {
    if ((q & 7) === 7) checkTime()
    for (let word = valid === null ? need[q]! : need[q]! & valid[q]!; word !== 0; word &= word - 1) {
      const row = (q << 5) + 31 - Math.clz32(word & -word)
      const value = scalarAt(batch, frame.start + row)
      values[row] = value
      if (typeof value === 'object') chargeReadBytes(sizeOf(value) * bytesOfItem)
    }
  }
  // Unions and null columns have no validity bitmap, so one is created.
  const known = frame.noRows()
  for (let i = 0; i < values.length; i++) if (values[i] !== null) known[i >>> 5]! |= 1 << (i & 31)
  return { kind: 'scalars', type: batch.type, valid: known, values }
}
