import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, dataOf, dictionaryOf, isNullAt, makeBatch, type Offsets, partsOf } from '../batch.ts'
import { childFields, layoutOf } from '../layout.ts'
import { nullBatch } from '../null-batch.ts'
import { assemble, type Piece } from '../take/take.ts'

/** Whether a type has views at any depth: many of them may share the same bytes. */
export function hasViews(type: DataType): boolean {
  const { kind } = layoutOf(type)
  if (kind === 'views' || kind === 'listView') return true
  if (type.typeId === Type.Dictionary) return hasViews(type.dictionary)
  return childFields(type).some((field) => hasViews(field.type))
}

/** Longer values are stored outside of their view. */
const maxInline = 12

/** Texts or bytes of a batch of views, copied one after the other as offset types need them. */
export function laidOut(batch: AnyBatch, to: DataType): AnyBatch {
  const layout = layoutOf(to)
  if (layout.kind !== 'bytes') throw new TypeError('a type without offsets')
  const views = batch.values as Uint8Array
  const ints = new DataView(views.buffer, views.byteOffset, views.byteLength)
  const sizeAt = (i: number) => (isNullAt(batch, i) ? 0 : ints.getInt32(i * 16, true))
  const offsets = new layout.offsets(batch.length + 1)
  let bytes = 0
  for (let i = 0; i < batch.length; i++) {
    bytes += sizeAt(i)
    offsets[i + 1] = (layout.offsets === BigInt64Array ? BigInt(bytes) : bytes) as never
  }
  if (layout.offsets === Int32Array && bytes >= 2 ** 31)
    throw new RangeError(`${bytes} bytes do not fit 32-bit offsets`)
  const values = new Uint8Array(bytes)
  const buffers = dataOf(batch)
  let used = 0
  for (let i = 0; i < batch.length; i++) {
    const size = sizeAt(i)
    const [source, start] =
      size <= maxInline
        ? [views, i * 16 + 4]
        : [buffers[ints.getInt32(i * 16 + 8, true)]!, ints.getInt32(i * 16 + 12, true)]
    values.set(source.subarray(start, start + size), used)
    used += size
  }
  const { data: _, ...parts } = partsOf(batch)
  return makeBatch(to, { ...parts, offsets, values })
}

/** Views of the texts or bytes of a batch with offsets. They share its buffer. */
export function viewed(batch: AnyBatch, to: DataType): AnyBatch {
  const source = batch.values as Uint8Array
  const offsets = batch.offsets as Offsets
  const values = new Uint8Array(batch.length * 16)
  const ints = new DataView(values.buffer)
  for (let i = 0; i < batch.length; i++) {
    if (isNullAt(batch, i)) continue
    const start = Number(offsets[i])
    const size = Number(offsets[i + 1]) - start
    ints.setInt32(i * 16, size, true)
    const shown = size <= maxInline ? size : 4
    values.set(source.subarray(start, start + shown), i * 16 + 4)
    if (size > maxInline) ints.setInt32(i * 16 + 12, start, true)
  }
  const { offsets: _, ...parts } = partsOf(batch)
  return makeBatch(to, { ...parts, values, data: [source] })
}

/** The offsets and items of a batch of list views in the layout of lists: in order, and each item once. */
export function listsOf(batch: AnyBatch): { readonly offsets: Int32Array; readonly items: AnyBatch } {
  const offsets = new Int32Array(batch.length + 1)
  const runs: number[] = []
  for (let i = 0; i < batch.length; i++) {
    const size = isNullAt(batch, i) ? 0 : Number(batch.sizes[i])
    offsets[i + 1] = offsets[i]! + size
    if (size === 0) continue
    const start = Number(batch.offsets[i])
    if (runs.at(-1) === start) runs[runs.length - 1] = start + size
    else runs.push(start, start + size)
  }
  const [child] = batch.children
  return { offsets, items: assemble(child!.type, [{ batch: child!, runs }]) }
}

/** The values of a dictionary-encoded batch in plain form. */
export function decoded(batch: AnyBatch): AnyBatch {
  if (batch.type.typeId !== Type.Dictionary) return batch
  const none = nullBatch(batch.type.dictionary, 1)
  const pieces: { batch: AnyBatch; runs: number[] }[] = []
  for (const [entries, at] of entryPositions(batch)) {
    const from = entries ?? none
    const last = pieces.at(-1)
    if (last?.batch === from) last.runs.push(at, at + 1)
    else pieces.push({ batch: from, runs: [at, at + 1] })
  }
  return assemble(batch.type.dictionary, pieces satisfies Piece[])
}

/** For each row, the part of the dictionary that has its value, and the index there; no part for a null row. */
export function* entryPositions(
  batch: AnyBatch,
): Generator<readonly [entries: AnyBatch | undefined, at: number]> {
  const parts = dictionaryOf(batch).data as readonly AnyBatch[]
  const indices = batch.values as ArrayLike<number | bigint>
  for (let i = 0; i < batch.length; i++) {
    if (batch.nullCount > 0 && !batch.isValid(i)) {
      yield [undefined, 0]
      continue
    }
    let at = Number(indices[i])
    let part = 0
    while (at >= parts[part]!.length) at -= parts[part++]!.length
    yield [parts[part]!, at]
  }
}
