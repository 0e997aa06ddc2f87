import { isAscii, isUtf8 } from 'node:buffer'
import { type Field, Type } from '@uwdata/flechette'
import { type AnyBatch, dataOf, dictionaryOf, type Offsets, typeIdsOf } from './batch.ts'
import { countBits } from './bits.ts'
import { damaged } from './ipc/body.ts'
import { childFields, layoutOf } from './layout.ts'

/**
 * Checks the contents of a batch's buffers, so that no later read leads outside of them: null counts, offsets, sizes,
 * indices, type ids and run ends, and that text is UTF-8. Throws `InvalidInput` with the name of the column.
 * Dictionaries are checked when they are read.
 */
export function validateBatch(batch: AnyBatch, column: string): void {
  const { type, length } = batch
  const layout = layoutOf(type)
  if (layout.kind !== 'null' && layout.kind !== 'union' && layout.kind !== 'runEnds')
    checkNulls(batch, column)
  switch (layout.kind) {
    case 'bytes':
      checkOffsets(batch.offsets, length, batch.values.length, column)
      if (layout.text) checkText(batch, column)
      break
    case 'views':
      checkViews(batch, layout.text, column)
      break
    case 'list':
      checkOffsets(batch.offsets, length, batch.children[0]!.length, column)
      break
    case 'listView':
      checkListViews(batch, column)
      break
    case 'dictionary':
      checkIndices(batch, column)
      break
    case 'union':
      checkUnion(batch, layout.dense, column)
      break
    case 'runEnds':
      checkRunEnds(batch, column)
  }
  childFields(type).forEach((field: Field, i) => {
    validateBatch(batch.children[i]!, `${column}.${field.name}`)
  })
}

function checkNulls({ validity, nullCount, length }: AnyBatch, column: string): void {
  const nulls = validity.length === 0 ? 0 : length - countBits(validity, length)
  if (nulls !== nullCount)
    throw damaged(column, `claims ${nullCount} nulls where its validity bitmap shows ${nulls}`)
}

function isNull(batch: AnyBatch, row: number): boolean {
  return batch.nullCount > 0 && ((batch.validity[row >> 3]! >> (row & 7)) & 1) === 0
}

function checkOffsets(offsets: Offsets, length: number, end: number, column: string): void {
  if (offsets instanceof Int32Array) {
    let last = 0
    for (let i = 0; i <= length; i++) {
      const offset = offsets[i]!
      if (offset < last) throw damaged(column, `has offsets that go down at row ${i}`)
      last = offset
    }
    if (last > end) throw damaged(column, `has offsets up to ${last} over ${end} values`)
    return
  }
  let last = 0n
  for (let i = 0; i <= length; i++) {
    const offset = offsets[i]!
    if (offset < last) throw damaged(column, `has offsets that go down at row ${i}`)
    last = offset
  }
  if (last > BigInt(end)) throw damaged(column, `has offsets up to ${last} over ${end} values`)
}

function checkText(batch: AnyBatch, column: string): void {
  const offsets = batch.offsets as Offsets
  const values = batch.values as Uint8Array
  const used = values.subarray(Number(offsets[0]), Number(offsets[batch.length]))
  if (isAscii(used)) return
  // When all bytes together are valid, each value is valid, unless it begins in the middle of a character.
  let whole = isUtf8(used)
  for (let i = 0; whole && i < batch.length; i++) {
    const at = Number(offsets[i])
    whole = at >= values.length || (values[at]! & 0xc0) !== 0x80
  }
  if (whole) return
  for (let i = 0; i < batch.length; i++) {
    if (!isNull(batch, i) && !isUtf8(values.subarray(Number(offsets[i]), Number(offsets[i + 1])))) {
      throw damaged(column, `holds text that is not UTF-8 in row ${i} of a batch`)
    }
  }
}

function checkViews(batch: AnyBatch, text: boolean, column: string): void {
  const views = batch.values as Uint8Array
  const data = dataOf(batch)
  const ints = new DataView(views.buffer, views.byteOffset, views.byteLength)
  for (let i = 0; i < batch.length; i++) {
    if (isNull(batch, i)) continue
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
    if (text && !isUtf8(bytes)) throw damaged(column, `holds text that is not UTF-8 in row ${i} of a batch`)
  }
}

function checkListViews(batch: AnyBatch, column: string): void {
  const end = batch.children[0]!.length
  for (let i = 0; i < batch.length; i++) {
    if (isNull(batch, i)) continue
    const start = Number(batch.offsets[i])
    const size = Number(batch.sizes[i])
    if (start < 0 || size < 0 || start + size > end) {
      throw damaged(column, `has a list outside of its values in row ${i} of a batch`)
    }
  }
}

function checkIndices(batch: AnyBatch, column: string): void {
  const end = dictionaryOf(batch).length
  const indices = batch.values as Int32Array
  for (let i = 0; i < batch.length; i++) {
    // Comparing works for the 64-bit indices too.
    if ((indices[i]! < 0 || indices[i]! >= end) && !isNull(batch, i)) {
      throw damaged(column, `has index ${indices[i]} into a dictionary of ${end} values`)
    }
  }
}

function checkUnion(batch: AnyBatch, dense: boolean, column: string): void {
  const { type } = batch
  const typeIds = typeIdsOf(batch)
  const lengths = new Map<number, number>()
  if (type.typeId === Type.Union) {
    for (const [i, id] of type.typeIds.entries()) lengths.set(id, batch.children[i]!.length)
  }
  for (let i = 0; i < batch.length; i++) {
    const end = lengths.get(typeIds[i]!)
    if (end === undefined) throw damaged(column, `has unknown type id ${typeIds[i]} in row ${i} of a batch`)
    const at = dense ? (batch.offsets[i] as number) : i
    if (at < 0 || at >= end)
      throw damaged(column, `has a value outside of its children in row ${i} of a batch`)
  }
}

function checkRunEnds(batch: AnyBatch, column: string): void {
  const [ends, values] = batch.children as [AnyBatch, AnyBatch]
  if (ends.nullCount > 0) throw damaged(column, 'has a null among its run ends')
  if (values.length < ends.length)
    throw damaged(column, `has ${ends.length} runs and ${values.length} values`)
  const runs = ends.values as Int32Array
  let last = 0
  for (let i = 0; i < ends.length; i++) {
    const end = Number(runs[i])
    if (end <= last) throw damaged(column, `has run ends that do not go up at run ${i}`)
    last = end
  }
  if (last < batch.length) throw damaged(column, `has runs for ${last} of ${batch.length} rows`)
}
