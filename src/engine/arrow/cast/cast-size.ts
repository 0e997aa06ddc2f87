import { type DataType, Type } from '@uwdata/flechette'
import {
  type AnyBatch,
  type AnyColumn,
  byteLength,
  dictionaryBytes,
  dictionaryOf,
  isNullAt,
} from '../batch.ts'
import { childFields, layoutOf } from '../layout.ts'
import { entryPositions, hasViews } from './layouts.ts'

/**
 * About how many bytes a batch takes in another type. A few bytes may expand to very many: each row of a dictionary may
 * repeat one long text, and each null list of fixed size takes the room of a whole vector.
 */
export function castSize(batch: AnyBatch, to: DataType): number {
  const from = batch.type
  if (from.typeId === Type.Dictionary) return decodedSize(batch, to)
  const layout = layoutOf(to)
  if (hasViews(from)) return Math.max(batch.length * widthOf(to), sizesOf(batch)[batch.length]!)
  if (layout.kind === 'fixed') return batch.length * layout.bytes
  const fields = childFields(to)
  if (fields.length === 0 || batch.children?.length !== fields.length)
    return byteLength(batch) + batch.length * 8
  const within = batch.children.reduce((sum, child, i) => sum + castSize(child, fields[i]!.type), 0)
  const least = layout.kind === 'fixedList' ? batch.length * layout.stride * widthOf(fields[0]!.type) : 0
  return batch.length * 8 + Math.max(within, least)
}

/** Fewer bytes of entries than these are counted as they are, whether rows use them or not. */
const fewBytes = 1 << 16

/** The bytes of a batch, with those entries of its dictionary that its rows use, unless the dictionary is known. */
export function bytesInUse(batch: AnyBatch, known?: Set<AnyColumn>): number {
  const whole = dictionaryBytes(batch, known)
  if (whole < fewBytes || batch.type.typeId !== Type.Dictionary) return byteLength(batch) + whole
  let used = 0
  for (const size of entrySizes(batch)) used += size
  return byteLength(batch) + Math.min(whole, used)
}

function decodedSize(batch: AnyBatch, to: DataType): number {
  const layout = layoutOf(to)
  if (layout.kind === 'fixed') return batch.length * layout.bytes
  let sum = batch.length * 8
  for (const size of entrySizes(batch)) sum += size
  return sum
}

/** For each row of a dictionary-encoded batch, the bytes of its value. */
function* entrySizes(batch: AnyBatch): Generator<number> {
  const sizes = new Map<AnyBatch, (at: number) => number>()
  for (const entries of dictionaryOf(batch).data as readonly AnyBatch[]) {
    const { offsets } = entries
    const layout = layoutOf(entries.type)
    const each = layout.kind === 'fixed' ? layout.bytes : byteLength(entries)
    const isText = layout.kind === 'bytes' && offsets !== undefined
    sizes.set(entries, (at) => (isText ? Number(offsets[at + 1]) - Number(offsets[at]) : each))
  }
  for (const [entries, at] of entryPositions(batch)) yield entries ? sizes.get(entries)!(at) : 0
}

/**
 * For each value of a batch, the bytes of all values before it, and the total at the end. Views count in full: each
 * list and each text by itself, even if many share the same bytes.
 */
function sizesOf(batch: AnyBatch): Float64Array {
  const { length, type, children } = batch
  const sums = new Float64Array(length + 1)
  const add = (sizeAt: (i: number) => number) => {
    for (let i = 0; i < length; i++) sums[i + 1] = sums[i]! + (isNullAt(batch, i) ? 8 : sizeAt(i))
    return sums
  }
  const layout = layoutOf(type)
  switch (layout.kind) {
    case 'fixed':
      return add(() => layout.bytes)
    case 'bytes': {
      const { offsets } = batch
      return add((i) => 8 + Number(offsets[i + 1]) - Number(offsets[i]))
    }
    case 'views': {
      const views = batch.values as Uint8Array
      const ints = new DataView(views.buffer, views.byteOffset, views.byteLength)
      return add((i) => 8 + ints.getInt32(i * 16, true))
    }
    case 'list':
    case 'listView': {
      const { offsets, sizes } = batch
      const within = sizesOf(children[0]!)
      const end = (i: number) => (sizes ? Number(offsets[i]) + Number(sizes[i]) : Number(offsets[i + 1]))
      return add((i) => 8 + within[end(i)]! - within[Number(offsets[i])]!)
    }
    case 'fixedList': {
      const within = sizesOf(children[0]!)
      const { stride } = layout
      return add((i) => within[(i + 1) * stride]! - within[i * stride]!)
    }
    case 'struct': {
      const within = children.map(sizesOf)
      return add((i) => within.reduce((sum, sizes) => sum + sizes[i + 1]! - sizes[i]!, 0))
    }
    case 'bits':
    case 'null':
      return add(() => 1)
    case 'dictionary': {
      const entries = Float64Array.from(entrySizes(batch))
      return add((i) => 8 + entries[i]!)
    }
    default: {
      // The bytes of single values are not determined: each counts as the whole batch.
      const whole = byteLength(batch)
      return add(() => whole)
    }
  }
}

/** The bytes of one value of a fixed-width type. For other types, at least the bytes of its offsets. */
export function widthOf(type: DataType): number {
  const layout = layoutOf(type)
  if (layout.kind === 'fixed') return layout.bytes
  return layout.kind === 'fixedList' ? layout.stride * widthOf(childFields(type)[0]!.type) : 8
}
