import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'

/** Validity of values, in a buffer of just the bytes it takes. */
function validityOf(values: readonly Scalar[]): { validity: Uint8Array; nullCount: number } {
  const validity = new Uint8Array(Math.ceil(values.length / 8))
  let nullCount = 0
  values.forEach((value, i) => {
    if (value === null) nullCount++
    else validity[i >> 3]! |= 1 << (i & 7)
  })
  return { validity: nullCount === 0 ? new Uint8Array(0) : validity, nullCount }
}

/**
 * A batch of values in a layout of Arrow, written buffer by buffer. What lies under nulls is not zero, and
 * buffers have no padding, since other writers' have none either.
 */
export function batchOf(type: DataType, values: readonly Scalar[]): AnyBatch {
  const nulls = validityOf(values)
  const length = values.length
  const common = { length, ...nulls }
  switch (type.typeId) {
    case Type.Null:
      return makeBatch(type, { length })
    case Type.Bool: {
      const bits = new Uint8Array(Math.ceil(length / 8))
      values.forEach((value, i) => {
        if (value !== false) bits[i >> 3]! |= 1 << (i & 7)
      })
      return makeBatch(type, { ...common, values: bits })
    }
    case Type.Float: {
      if (type.precision !== 0) return makeBatch(type, { ...common, values: filled(type.values, values, 7) })
      const bits = new Uint16Array(length)
      values.forEach((value, i) => {
        bits[i] = halfBits((value as number | null) ?? 7)
      })
      return makeBatch(type, { ...common, values: bits })
    }
    case Type.Int:
    case Type.Date:
    case Type.Time:
    case Type.Timestamp:
    case Type.Duration:
      return makeBatch(type, { ...common, values: filled(type.values, values, 7) })
    case Type.Decimal: {
      const words = type.bitWidth / 32
      const target = new Uint32Array(length * words)
      values.forEach((value, i) => {
        for (let w = 0; w < words; w++) {
          target[i * words + w] = Number(
            BigInt.asUintN(32, ((value as bigint | null) ?? 7n) >> BigInt(32 * w)),
          )
        }
      })
      return makeBatch(type, { ...common, values: new type.values(target.buffer) })
    }
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Binary:
    case Type.LargeBinary: {
      // Nulls may span bytes, too.
      const pieces = values.map((value) => bytesOf(value ?? (type.typeId === Type.Utf8 ? 'apple' : '')))
      const ends = [0]
      for (const piece of pieces) ends.push(ends.at(-1)! + piece.length)
      const offsets = new type.offsets(length + 1) as Int32Array
      ends.forEach((end, i) => {
        offsets[i] = (type.offsets === BigInt64Array ? BigInt(end) : end) as number
      })
      return makeBatch(type, { ...common, offsets, values: joined(pieces) })
    }
    case Type.Utf8View:
    case Type.BinaryView: {
      const views = new Uint8Array(length * 16)
      const view = new DataView(views.buffer)
      const data: Uint8Array[] = [new Uint8Array(0)]
      values.forEach((value, i) => {
        const bytes = bytesOf(value ?? '')
        view.setInt32(i * 16, bytes.length, true)
        views.set(bytes.subarray(0, bytes.length <= 12 ? 12 : 4), i * 16 + 4)
        if (bytes.length <= 12) return
        view.setInt32(i * 16 + 8, data.length - 1, true)
        view.setInt32(i * 16 + 12, data.at(-1)!.length, true)
        data[data.length - 1] = joined([data.at(-1)!, bytes])
        if (data.length < 3) data.push(new Uint8Array(0))
      })
      return makeBatch(type, { ...common, values: views, data })
    }
    case Type.FixedSizeBinary:
      return makeBatch(type, {
        ...common,
        values: joined(values.map((value) => (value as Uint8Array) ?? new Uint8Array(type.stride).fill(7))),
      })
    case Type.Dictionary: {
      const distinct = [...new Set(values)].filter((value) => value !== null)
      // An entry no row has, a null one, and two batches.
      const entries = [...distinct.slice(0, 2), null, ...distinct.slice(2)]
      const batches = [entries.slice(0, 2), entries.slice(2)].map((part) => batchOf(type.dictionary, part))
      const codes = values.map((value, i) =>
        value === null
          ? i % 3 === 0 && distinct.length > 1
            ? 2
            : null
          : entries.findIndex((entry) => Object.is(entry, value)),
      )
      const indices = filled(
        type.indices.values,
        codes.map((code) => code),
        0,
      )
      const codeNulls = validityOf(codes)
      return makeBatch(type, {
        length,
        ...codeNulls,
        values: indices,
        dictionary: makeColumn(type.dictionary, batches),
      })
    }
    case Type.RunEndEncoded: {
      const ends: number[] = []
      const runs: Scalar[] = []
      values.forEach((value, i) => {
        if (i > 0 && value === runs.at(-1) && i % 5 !== 0) ends[ends.length - 1] = i + 1
        else {
          runs.push(value)
          ends.push(i + 1)
        }
      })
      const [endType, valueType] = type.children
      return makeBatch(type, {
        length,
        children: [batchOf(endType.type, ends), batchOf(valueType.type, runs)],
      })
    }
    case Type.List:
    case Type.LargeList: {
      const lists = values.map((value) => (value as readonly Scalar[] | null) ?? ['x'])
      const ends = [0]
      for (const list of lists) ends.push(ends.at(-1)! + list.length)
      const large = type.typeId === Type.LargeList
      const offsets = large ? BigInt64Array.from(ends.map(BigInt)) : Int32Array.from(ends)
      return makeBatch(type, { ...common, offsets, children: [batchOf(type.children[0].type, lists.flat())] })
    }
    case Type.ListView: {
      const lists = values.map((value) => (value as readonly Scalar[] | null) ?? [])
      const sizes = Int32Array.from(lists, (list) => list.length)
      // Lists lie in reverse order, as views may.
      const offsets = new Int32Array(length)
      let end = 0
      for (let i = length - 1; i >= 0; i--) {
        offsets[i] = end
        end += sizes[i]!
      }
      return makeBatch(type, {
        ...common,
        offsets,
        sizes,
        children: [batchOf(type.children[0].type, lists.toReversed().flat())],
      })
    }
    case Type.FixedSizeList: {
      const lists = values.map(
        (value) => (value as readonly Scalar[] | null) ?? new Array(type.stride).fill('x'),
      )
      return makeBatch(type, { ...common, children: [batchOf(type.children[0]!.type, lists.flat())] })
    }
    default:
      throw new TypeError(`no builder for type ${type.typeId}`)
  }
}

/** A struct that is null in the given rows. Its children may have values there. */
export function structOf(
  type: DataType,
  length: number,
  isNull: readonly boolean[],
  children: AnyBatch[],
): AnyBatch {
  const nulls = validityOf(isNull.map((value) => (value ? null : 1)))
  return makeBatch(type, { length, ...nulls, children })
}

function filled<T extends { new (length: number): { [index: number]: number | bigint } }>(
  array: T,
  values: readonly Scalar[],
  underNull: number,
): InstanceType<T> & Int32Array {
  const target = new array(values.length)
  const isLong = target instanceof BigInt64Array || target instanceof BigUint64Array
  values.forEach((value, i) => {
    const given = value === null ? underNull : (value as number | bigint)
    target[i] = isLong ? BigInt(given) : Number(given)
  })
  return target as InstanceType<T> & Int32Array
}

function bytesOf(value: Scalar): Uint8Array {
  return typeof value === 'string' ? new TextEncoder().encode(value) : (value as Uint8Array)
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const target = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    target.set(piece, at)
    at += piece.length
  }
  return target
}

/** The bits of a number that a 16-bit float can hold. */
function halfBits(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0
  const size = Math.abs(value)
  if (Number.isNaN(value)) return 0x7e00
  if (size === Infinity) return sign | 0x7c00
  if (size < 2 ** -14) return sign | (size * 2 ** 24)
  const exponent = Math.floor(Math.log2(size))
  return sign | ((exponent + 15) << 10) | (size / 2 ** (exponent - 10) - 1024)
}
