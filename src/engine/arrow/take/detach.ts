import { type AnyBatch, makeBatch, partsOf } from '../batch.ts'

/** Copies the batch if it views small parts of large buffers, which it would keep in memory. */
export function detach(batch: AnyBatch): AnyBatch {
  const parts: Record<string, unknown> = { ...partsOf(batch) }
  for (const name of ['validity', 'values', 'offsets', 'sizes', 'typeIds']) {
    const buffer = parts[name] as Uint8Array | undefined
    if (buffer && buffer.byteLength * 2 < buffer.buffer.byteLength) parts[name] = buffer.slice()
  }
  if (batch.children) parts.children = batch.children.map((child) => detach(child as AnyBatch))
  return makeBatch(batch.type, parts as never)
}
