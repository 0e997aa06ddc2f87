import { isAscii, isUtf8 } from 'node:buffer'
import { Type } from '@uwdata/flechette'
import type { TimeSlice } from '../../base/scheduling/time-slice.ts'
import { type AnyBatch, dataOf, dictionaryOf, isNullAt, type Offsets, typeIdsOf } from './batch.ts'
import { countBits } from './bitmap.ts'
import { damaged } from './ipc/body.ts'
import { childFields, hasValidity, layoutOf } from './layout.ts'

/** Rows, and bytes of text, that are checked at a time. */
const sliceRows = 65_536
const sliceBytes = 4 << 20

/** A check that may take long. It yields from time to time, so that other work can continue. */
type Check<Result = void> = Generator<undefined, Result>

/**
 * Checks the contents of a batch's buffers, so that no later read leads outside of them: null counts, offsets, sizes,
 * indices, type ids and run ends, and that text is UTF-8. Throws `InvalidInput` with the name of the column.
 * Dictionaries are checked when they are read.
 */
export async function validateBatch(batch: AnyBatch, column: string, timeSlice: TimeSlice): Promise<void> {
  for (const _ of checkBatch(batch, column)) if (timeSlice.due) await timeSlice.rest()
}

/** Checks a batch that is small, at once. */
export function requireValid(batch: AnyBatch, column: string): void {
  for (const _ of checkBatch(batch, column));
}

function* checkBatch(batch: AnyBatch, column: string): Check {
  const { type, length } = batch
  const layout = layoutOf(type)
  if (hasValidity(layout)) checkNulls(batch, column)
  switch (layout.kind) {
    case 'bytes':
      yield* checkOffsets(batch.offsets, length, batch.values.length, column)
      if (layout.text) yield* checkText(batch, column)
      break
    case 'views':
      yield* checkViews(batch, layout.text, column)
      break
    case 'list':
      yield* checkOffsets(batch.offsets, length, batch.children[0]!.length, column)
      break
    case 'listView':
      yield* checkListViews(batch, column)
      break
    case 'dictionary':
      yield* checkIndices(batch, column)
      break
    case 'union':
      yield* checkUnion(batch, layout.dense, column)
      break
    case 'runEnds':
      yield* checkRunEnds(batch, column)
  }
  for (const [i, field] of childFields(type).entries()) {
    yield* checkBatch(batch.children[i]!, `${column}.${field.name}`)
  }
}

function checkNulls({ validity, nullCount, length }: AnyBatch, column: string): void {
  const nulls = validity.length === 0 ? 0 : length - countBits(validity, length)
  if (nulls !== nullCount)
    throw damaged(column, `claims ${nullCount} nulls where its validity bitmap shows ${nulls}`)
}

function* checkOffsets(offsets: Offsets, length: number, end: number, column: string): Check {
  for (let start = 0; start <= length; start += sliceRows) {
    checkOrder(offsets, start, Math.min(start + sliceRows, length + 1), column)
    yield
  }
  const last = Number(offsets[length] ?? 0)
  if (last > end) throw damaged(column, `has offsets up to ${last} over ${end} values`)
}

/** Checks that offsets from `start` up to `end` never decrease, starting from the one before them. */
function checkOrder(offsets: Offsets, start: number, end: number, column: string): void {
  if (offsets instanceof Int32Array) {
    let last = start === 0 ? 0 : offsets[start - 1]!
    for (let i = start; i < end; i++) {
      const offset = offsets[i]!
      if (offset < last) throw damaged(column, `has offsets that go down at row ${i}`)
      last = offset
    }
    return
  }
  let last = start === 0 ? 0n : offsets[start - 1]!
  for (let i = start; i < end; i++) {
    const offset = offsets[i]!
    if (offset < last) throw damaged(column, `has offsets that go down at row ${i}`)
    last = offset
  }
}

function* checkText(batch: AnyBatch, column: string): Check {
  const offsets = batch.offsets as Offsets
  const values = batch.values as Uint8Array
  const used = values.subarray(Number(offsets[0]), Number(offsets[batch.length]))
  const kind = yield* textKind(used)
  if (kind === 'ascii') return
  // If all bytes together are valid, a value is invalid only if it begins in the middle of a character.
  let whole = kind === 'utf8'
  for (let i = 0; whole && i < batch.length; i++) {
    const at = Number(offsets[i])
    whole = at >= values.length || (values[at]! & 0xc0) !== 0x80
    if (i % sliceRows === 0) yield
  }
  if (whole) return
  for (let i = 0; i < batch.length; i++) {
    if (i % sliceRows === 0) yield
    if (!isNullAt(batch, i) && !isUtf8(values.subarray(Number(offsets[i]), Number(offsets[i + 1])))) {
      throw damaged(column, `holds text that is not UTF-8 in row ${i} of a batch`)
    }
  }
}

/** Whether bytes are ASCII, or other UTF-8; undefined for neither. */
function* textKind(bytes: Uint8Array): Check<'ascii' | 'utf8' | undefined> {
  let kind: 'ascii' | 'utf8' = 'ascii'
  for (let at = 0, end = 0; at < bytes.length; at = end) {
    end = Math.min(at + sliceBytes, bytes.length)
    // Chunks are cut between characters: a character has at most three continuation bytes.
    for (let back = 0; end < bytes.length && back < 3 && (bytes[end]! & 0xc0) === 0x80; back++) end--
    const part = bytes.subarray(at, end)
    if (!isAscii(part)) {
      if (!isUtf8(part)) return undefined
      kind = 'utf8'
    }
    yield
  }
  return kind
}

function* checkViews(batch: AnyBatch, text: boolean, column: string): Check {
  const views = batch.values as Uint8Array
  const data = dataOf(batch)
  const ints = new DataView(views.buffer, views.byteOffset, views.byteLength)
  let seen = 0
  for (let i = 0; i < batch.length; i++) {
    // Many values may share the same bytes, so the number of bytes does not bound the work.
    if (i % sliceRows === 0 || seen > sliceBytes) {
      seen = 0
      yield
    }
    if (isNullAt(batch, i)) continue
    const at = i * 16
    const size = ints.getInt32(at, true)
    let bytes: Uint8Array
    if (size < 0) throw damaged(column, `has a value of negative size in row ${i} of a batch`)
    if (size <= 12) {
      bytes = views.subarray(at + 4, at + 4 + size)
    } else {
      const buffer = data[ints.getInt32(at + 8, true)]
      const start = ints.getInt32(at + 12, true)
      if (buffer === undefined || start < 0 || start + size > buffer.length) {
        throw damaged(column, `has a value outside of its buffers in row ${i} of a batch`)
      }
      bytes = buffer.subarray(start, start + size)
      for (let b = 0; b < 4; b++) {
        if (bytes[b] !== views[at + 4 + b]) throw damaged(column, `has a wrong prefix in row ${i} of a batch`)
      }
    }
    if (text) seen += size
    if (text && !isUtf8(bytes)) throw damaged(column, `holds text that is not UTF-8 in row ${i} of a batch`)
  }
}

function* checkListViews(batch: AnyBatch, column: string): Check {
  const end = batch.children[0]!.length
  for (let i = 0; i < batch.length; i++) {
    if (i % sliceRows === 0) yield
    if (isNullAt(batch, i)) continue
    const start = Number(batch.offsets[i])
    const size = Number(batch.sizes[i])
    if (start < 0 || size < 0 || start + size > end) {
      throw damaged(column, `has a list outside of its values in row ${i} of a batch`)
    }
  }
}

function* checkIndices(batch: AnyBatch, column: string): Check {
  const end = dictionaryOf(batch).length
  const indices = batch.values as Int32Array
  for (let i = 0; i < batch.length; i++) {
    if (i % sliceRows === 0) yield
    // Comparisons work for 64-bit indices, too.
    if ((indices[i]! < 0 || indices[i]! >= end) && !isNullAt(batch, i)) {
      throw damaged(column, `has index ${indices[i]} into a dictionary of ${end} values`)
    }
  }
}

function* checkUnion(batch: AnyBatch, dense: boolean, column: string): Check {
  const { type } = batch
  const typeIds = typeIdsOf(batch)
  const lengths = new Map<number, number>()
  if (type.typeId === Type.Union) {
    for (const [i, id] of type.typeIds.entries()) lengths.set(id, batch.children[i]!.length)
  }
  for (let i = 0; i < batch.length; i++) {
    if (i % sliceRows === 0) yield
    const end = lengths.get(typeIds[i]!)
    if (end === undefined) throw damaged(column, `has unknown type id ${typeIds[i]} in row ${i} of a batch`)
    const at = dense ? (batch.offsets[i] as number) : i
    if (at < 0 || at >= end)
      throw damaged(column, `has a value outside of its children in row ${i} of a batch`)
  }
}

function* checkRunEnds(batch: AnyBatch, column: string): Check {
  const [ends, values] = batch.children as [AnyBatch, AnyBatch]
  if (ends.nullCount > 0) throw damaged(column, 'has a null among its run ends')
  if (values.length < ends.length)
    throw damaged(column, `has ${ends.length} runs and ${values.length} values`)
  const runs = ends.values as Int32Array
  let last = 0
  for (let i = 0; i < ends.length; i++) {
    if (i % sliceRows === 0) yield
    const end = Number(runs[i])
    if (end <= last) throw damaged(column, `has run ends that do not go up at run ${i}`)
    last = end
  }
  if (last < batch.length) throw damaged(column, `has runs for ${last} of ${batch.length} rows`)
}
