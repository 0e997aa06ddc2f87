import { invalid } from '../../../base/errors.ts'
import { type AnyBatch, emptyBytes, makeBatch, partsOf } from '../batch.ts'
import { countBits } from '../bits.ts'
import { layoutOf } from '../layout.ts'
import { sliceBatch } from './take.ts'

/** A field of a struct, null wherever the struct is. */
export function childWithin(struct: AnyBatch, index: number, name: string): AnyBatch {
  const child = sliceBatch(struct.children[index]!, 0, struct.length)
  if (struct.nullCount === 0) return child
  const { kind } = layoutOf(child.type)
  if (kind === 'null') return child
  if (kind === 'union' || kind === 'runEnds') {
    throw invalid(
      `Column ${JSON.stringify(name)} lies in a struct with nulls and cannot hold nulls itself. Ask for the struct.`,
    )
  }
  const outer = struct.validity
  const inner = child.nullCount > 0 ? child.validity : emptyBytes
  const validity = new Uint8Array(Math.ceil(child.length / 8))
  for (let i = 0; i < validity.length; i++) validity[i] = outer[i]! & (inner.length > 0 ? inner[i]! : 255)
  return makeBatch(child.type, {
    ...partsOf(child),
    validity,
    nullCount: child.length - countBits(validity, child.length),
  })
}
