import type { AnyBatch } from './batch.ts'
import { layoutOf } from './layout.ts'

/** About how many bytes one value takes. Dictionary values are stored once, so only the indices count. */
export function bytesOfRow(batch: AnyBatch, row: number): number {
  const layout = layoutOf(batch.type)
  switch (layout.kind) {
    case 'null':
    case 'bits':
      return 1
    case 'fixed':
    case 'dictionary':
      return layout.bytes
    case 'bytes':
      return Number(batch.offsets[row + 1]!) - Number(batch.offsets[row]!) + 4
    case 'views':
      // The length comes first in the 16 bytes of a view.
      return (
        (batch.values as Uint8Array).subarray(row * 16, row * 16 + 4).reduceRight((n, b) => n * 256 + b, 0) +
        16
      )
    case 'list':
      return bytesOfRows(batch.children[0]!, Number(batch.offsets[row]!), Number(batch.offsets[row + 1]!)) + 4
    case 'listView': {
      const start = Number(batch.offsets[row]!)
      const { sizes } = batch as unknown as { readonly sizes: Int32Array | BigInt64Array }
      return bytesOfRows(batch.children[0]!, start, start + Number(sizes[row]!)) + 8
    }
    case 'fixedList':
      return bytesOfRows(batch.children[0]!, row * layout.stride, (row + 1) * layout.stride)
    case 'struct':
      return batch.children.reduce((sum, child) => sum + bytesOfRow(child, row), 0)
    default:
      return 8
  }
}

function bytesOfRows(items: AnyBatch, start: number, end: number): number {
  const layout = layoutOf(items.type)
  if (layout.kind === 'fixed' || layout.kind === 'dictionary') return (end - start) * layout.bytes
  if (layout.kind === 'bytes' && end > start)
    return Number(items.offsets[end]!) - Number(items.offsets[start]!) + 4 * (end - start)
  let bytes = 0
  for (let row = start; row < end; row++) bytes += bytesOfRow(items, row)
  return bytes
}
