import { type DataType, Type } from '@uwdata/flechette'
import { type AnyBatch, byteLength, dictionaryOf } from '../batch.ts'
import { childFields, layoutOf } from '../layout.ts'
import { places } from './decoded.ts'

/**
 * About how many bytes a batch takes in another type. A few bytes may stand for very many: each row of a dictionary for
 * the same long text, and each list that is null for a whole vector.
 */
export function castSize(batch: AnyBatch, to: DataType): number {
  const from = batch.type
  if (from.typeId === Type.Dictionary) return decodedSize(batch, to)
  const layout = layoutOf(to)
  if (layout.kind === 'fixed') return batch.length * layout.bytes
  if (layout.kind === 'fixedList') return batch.length * layout.stride * widthOf(childFields(to)[0]!.type)
  if (layout.kind === 'list' && batch.children.length === 1)
    return batch.length * 8 + castSize(batch.children[0]!, childFields(to)[0]!.type)
  return byteLength(batch) + batch.length * 8
}

function decodedSize(batch: AnyBatch, to: DataType): number {
  const dictionary = dictionaryOf(batch)
  const layout = layoutOf(to)
  if (layout.kind === 'fixed') return batch.length * layout.bytes
  const sizes = new Map<AnyBatch, (at: number) => number>()
  for (const entries of dictionary.data as readonly AnyBatch[]) {
    const { offsets } = entries
    const whole = byteLength(entries)
    const isText = layoutOf(entries.type).kind === 'bytes' && offsets !== undefined
    sizes.set(entries, (at) => (isText ? Number(offsets[at + 1]) - Number(offsets[at]) : whole))
  }
  let sum = batch.length * 8
  for (const [entries, at] of places(batch)) if (entries) sum += sizes.get(entries)!(at)
  return sum
}

/** The bytes of one value of a type of fixed width; of others, at least as many as its offsets take. */
function widthOf(type: DataType): number {
  const layout = layoutOf(type)
  if (layout.kind === 'fixed') return layout.bytes
  return layout.kind === 'fixedList' ? layout.stride * widthOf(childFields(type)[0]!.type) : 8
}
