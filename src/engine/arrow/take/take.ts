import { type DataType, Type } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import {
  type AnyBatch,
  type BatchParts,
  dictionaryOf,
  emptyBytes,
  makeBatch,
  makeColumn,
  type Offsets,
  type Values,
} from '../batch.ts'
import { copyBits, countBits, fillBits } from '../bitmap.ts'
import { hasValidity, type Layout, layoutOf } from '../layout.ts'
import { nullWithin } from '../null-batch.ts'
import { copyBitRuns, copyRuns, shiftOffsets } from './copy-runs.ts'
import { DictionaryFull, mergeDictionaries } from './dictionary.ts'
import { RunBuilder, rowsOfRuns } from './runs.ts'
import { takeListViews, takeRunEnds, takeUnion, takeViews } from './special.ts'

/** Average run length, in rows, from which on bits are copied run by run. */
const shortRows = 16

/** Rows of one batch: runs of them, each from `runs[2i]` up to but not including `runs[2i + 1]`. */
export interface Piece {
  readonly batch: AnyBatch
  readonly runs: ArrayLike<number>
}

/** All rows of a batch. */
export function wholeOf(batch: AnyBatch): Piece {
  return { batch, runs: [0, batch.length] }
}

/** Rows of a batch from `start` up to `end`. */
export function sliceBatch(batch: AnyBatch, start: number, end: number): AnyBatch {
  return assemble(batch.type, [{ batch, runs: [start, end] }])
}

/** A field of a struct, null wherever the struct is. */
export function childWithin(struct: AnyBatch, index: number, name: string): AnyBatch {
  const child = sliceBatch(struct.children[index]!, 0, struct.length)
  if (struct.nullCount === 0 || child.type.typeId === Type.Null) return child
  if (!hasValidity(layoutOf(child.type))) {
    throw invalid(
      `Column ${JSON.stringify(name)} lies in a struct with nulls and cannot hold nulls itself. Ask for the struct.`,
    )
  }
  return nullWithin(struct, child)
}

/**
 * One batch of the pieces' rows, in the order given, of any Arrow type. The result shares buffers with the pieces where
 * possible: a whole batch is returned as it is, and a slice of a fixed-width batch copies no values. Throws
 * `DictionaryFull` when the dictionaries of the pieces do not fit into one.
 */
export function assemble(type: DataType, pieces: readonly Piece[]): AnyBatch {
  const only = pieces.length === 1 ? pieces[0] : undefined
  if (only?.runs.length === 2 && only.runs[0] === 0 && only.runs[1] === only.batch.length) {
    return only.batch
  }
  let length = 0
  for (const { runs } of pieces) length += rowsOfRuns(runs)
  const layout = layoutOf(type)
  const parts = takeParts(type, layout, pieces, length)
  const nulls = hasValidity(layout) ? takeValidity(pieces, length) : undefined
  return makeBatch(type, { length, ...nulls, ...parts })
}

function takeParts(
  type: DataType,
  layout: Layout,
  pieces: readonly Piece[],
  length: number,
): Partial<BatchParts> {
  switch (layout.kind) {
    case 'null':
      return { nullCount: length }
    case 'bits':
      return { values: takeBits(pieces, (batch) => batch.values as Uint8Array, length) }
    case 'fixed': {
      const values = (batch: AnyBatch) => batch.values as Values
      return {
        values: takeFixed(
          pieces,
          layout.bytes / layout.array.BYTES_PER_ELEMENT,
          layout.array,
          length,
          values,
        ),
      }
    }
    case 'bytes':
      return takeBytes(pieces, length, layout.offsets)
    case 'views':
      return takeViews(pieces, length)
    case 'list': {
      const { offsets, runs } = takeOffsets(pieces, length, layout.offsets)
      return { offsets, children: [takeChild(type, 0, pieces, runs)] }
    }
    case 'listView':
      return takeListViews(type, pieces, length, layout.offsets)
    case 'fixedList': {
      const runs = pieces.map((piece) => scaled(piece.runs, layout.stride))
      return { children: [takeChild(type, 0, pieces, runs)] }
    }
    case 'struct': {
      const runs = pieces.map((piece) => piece.runs)
      const children = type.typeId === Type.Struct ? type.children : []
      return { children: children.map((_, i) => takeChild(type, i, pieces, runs)) }
    }
    case 'dictionary':
      return takeDictionary(type, pieces, layout, length)
    case 'union':
      return takeUnion(type, pieces, length, layout.dense)
    case 'runEnds':
      return takeRunEnds(type, pieces, length)
  }
}

/** The runs of items of rows with a fixed number of items each. */
function scaled(runs: ArrayLike<number>, stride: number): ArrayLike<number> {
  let last = 0
  for (let i = 1; i < runs.length; i += 2) last = Math.max(last, runs[i]!)
  const times = (row: number) => row * stride
  return last * stride < 2 ** 31 ? Int32Array.from(runs, times) : Array.from(runs, times)
}

/** The child `index` of the pieces' batches, gathered by the runs given for each piece. */
export function takeChild(
  type: DataType,
  index: number,
  pieces: readonly Piece[],
  runs: readonly ArrayLike<number>[],
): AnyBatch {
  const fields = 'children' in type ? type.children : []
  return assemble(
    fields[index]!.type,
    pieces.map(({ batch }, i) => ({ batch: batch.children[index]!, runs: runs[i]! })),
  )
}

function takeValidity(pieces: readonly Piece[], length: number): { validity: Uint8Array; nullCount: number } {
  if (pieces.every(({ batch }) => batch.nullCount === 0)) return { validity: emptyBytes, nullCount: 0 }
  const validity = takeBits(
    pieces,
    ({ validity, nullCount }) => (nullCount > 0 ? validity : undefined),
    length,
  )
  const nullCount = length - countBits(validity, length)
  return nullCount === 0 ? { validity: emptyBytes, nullCount } : { validity, nullCount }
}

/** Gathers bits. In a batch without the buffer, all bits are set. */
function takeBits(
  pieces: readonly Piece[],
  bits: (batch: AnyBatch) => Uint8Array | undefined,
  length: number,
): Uint8Array {
  const only = pieces.length === 1 && pieces[0]!.runs.length === 2 ? pieces[0]! : undefined
  const shared = only && (only.runs[0]! & 7) === 0 ? bits(only.batch) : undefined
  if (only && shared) return shared.subarray(only.runs[0]! >> 3, Math.ceil(only.runs[1]! / 8))
  const target = new Uint8Array(Math.ceil(length / 8))
  let to = 0
  for (const { batch, runs } of pieces) {
    const source = bits(batch)
    const rows = rowsOfRuns(runs)
    if (source === undefined) fillBits(target, to, rows)
    else if (rows < runs.length * shortRows) copyBitRuns(source, runs, target, to)
    else copyLongRuns(source, runs, target, to)
    to += rows
  }
  return target
}

function copyLongRuns(source: Uint8Array, runs: ArrayLike<number>, target: Uint8Array, start: number): void {
  let to = start
  for (let i = 0; i < runs.length; i += 2) {
    const count = runs[i + 1]! - runs[i]!
    copyBits(source, runs[i]!, target, to, count)
    to += count
  }
}

/** Gathers values of `width` elements each. */
export function takeFixed<T extends Values>(
  pieces: readonly Piece[],
  width: number,
  array: new (length: number) => Values,
  length: number,
  valuesOf: (batch: AnyBatch) => T,
): T {
  if (pieces.length === 1 && pieces[0]!.runs.length === 2) {
    const { batch, runs } = pieces[0]!
    return valuesOf(batch).subarray(runs[0]! * width, runs[1]! * width) as T
  }
  const target = new array(length * width) as Values
  let to = 0
  for (const { batch, runs } of pieces) to = copyRuns(valuesOf(batch), runs, width, target, to)
  return target as T
}

/** Offsets that start at 0, and the runs of values that they refer to in each piece. */
function takeOffsets(
  pieces: readonly Piece[],
  length: number,
  array: typeof Int32Array | typeof BigInt64Array,
): { offsets: Offsets; runs: ArrayLike<number>[] } {
  const offsets = new array(length + 1)
  let at = 0
  let row = 0
  const all = pieces.map(({ batch, runs }) => {
    const source = batch.offsets
    if (source instanceof Int32Array && offsets instanceof Int32Array) {
      const list = runs instanceof Int32Array ? runs : Int32Array.from(runs)
      const shifted = shiftOffsets(source, list, offsets, row, at)
      row += rowsOfRuns(list)
      at = shifted.end
      return shifted.runs
    }
    const values = new RunBuilder()
    for (let i = 0; i < runs.length; i += 2) {
      const start = runs[i]!
      const end = runs[i + 1]!
      if (end <= start) continue
      const shift = BigInt(at) - (source as BigInt64Array)[start]!
      for (let r = start; r < end; r++) offsets[++row] = ((source as BigInt64Array)[r + 1]! + shift) as never
      const first = Number(source[start])
      const last = Number(source[end])
      at += last - first
      values.add(first, last)
    }
    return values.done()
  })
  if (array === Int32Array && at > 2 ** 31 - 1) throw new RangeError(`${at} values do not fit 32-bit offsets`)
  return { offsets, runs: all }
}

function takeBytes(
  pieces: readonly Piece[],
  length: number,
  array: typeof Int32Array | typeof BigInt64Array,
) {
  const { offsets, runs } = takeOffsets(pieces, length, array)
  const byteRuns = pieces.map(({ batch }, i) => ({ batch, runs: runs[i]! }))
  const size = Number(offsets[length])
  return { offsets, values: takeFixed(byteRuns, 1, Uint8Array, size, (batch) => batch.values as Uint8Array) }
}

function takeDictionary(
  type: DataType,
  pieces: readonly Piece[],
  layout: Layout & { kind: 'dictionary' },
  length: number,
): Partial<BatchParts> {
  if (type.typeId !== Type.Dictionary) throw new TypeError('no dictionary type')
  const { dictionary, moved } =
    pieces.length > 0
      ? mergeDictionaries(
          type.dictionary,
          pieces.map(({ batch }) => dictionaryOf(batch)),
        )
      : { dictionary: makeColumn(type.dictionary, [assemble(type.dictionary, [])]), moved: [] }
  const bits = type.indices.bitWidth - (type.indices.signed ? 1 : 0)
  if (moved.some(Boolean) && dictionary.length > 2 ** bits)
    throw new DictionaryFull(`${dictionary.length} entries, ${bits} bits`)
  const remapped = pieces.map((piece, i) => ({ ...piece, batch: remap(piece.batch, moved[i]) }))
  const values = takeFixed(remapped, 1, layout.array, length, (batch) => batch.values as Values)
  return { values, dictionary }
}

/** The batch with its indices mapped to the new indices of their entries. */
export function remap(
  batch: AnyBatch,
  moved: Int32Array | undefined,
  array?: new (length: number) => Values,
): AnyBatch {
  if (moved === undefined && array === undefined) return batch
  const source = batch.values as Int32Array
  const values = new (array ?? (source.constructor as new (length: number) => Values))(batch.length)
  const big = values instanceof BigInt64Array || values instanceof BigUint64Array
  for (let i = 0; i < batch.length; i++) {
    const index = Number(source[i])
    // A null row may hold any index.
    const newIndex = moved === undefined ? index : (moved[index] ?? 0)
    values[i] = big ? (BigInt(newIndex) as never) : newIndex
  }
  return makeBatch(batch.type, {
    length: batch.length,
    nullCount: batch.nullCount,
    validity: batch.validity,
    values,
    dictionary: dictionaryOf(batch),
  })
}
