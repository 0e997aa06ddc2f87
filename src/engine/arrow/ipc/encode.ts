import { type Schema, Table, tableToIPC } from '@uwdata/flechette'
import type { AnyBatch } from '../batch.ts'
import { makeColumn } from '../batch.ts'
import { nullBatch } from '../null-batch.ts'
import { counter, prepareBatches } from './prepare.ts'

/**
 * The table as an Arrow IPC file or stream, in parts to be written in order. Buffers are not copied, and begin at
 * multiples of 8 bytes. `columns` has the batches of each column, cut at the same rows.
 */
export function encodeArrow(
  schema: Schema,
  columns: readonly (readonly AnyBatch[])[],
  format: 'file' | 'stream' = 'file',
): Uint8Array[] {
  const nextId = counter()
  const prepared = columns.map((batches, i) => {
    const { type } = schema.fields[i]!
    // arrow-rs only reads a file whose footer lists at least one batch.
    return prepareBatches(
      type,
      batches.length > 0 || format !== 'file' ? batches : [nullBatch(type, 0)],
      nextId,
    )
  })
  const fields = schema.fields.map((field, i) => ({ ...field, type: prepared[i]!.type }))
  const table = new Table(
    { ...schema, fields },
    prepared.map(({ type, batches }) => makeColumn(type, batches)),
  )
  const sink = new PartSink()
  tableToIPC(table, { format, sink } as Parameters<typeof tableToIPC>[1])
  return sink.parts
}

/** Collects the parts that flechette's encoder writes. */
class PartSink {
  readonly parts: Uint8Array[] = []

  write(bytes: Uint8Array): void {
    if (bytes.length > 0) this.parts.push(bytes)
  }

  pad(count: number): void {
    this.write(new Uint8Array(count))
  }

  finish(): null {
    return null
  }
}

/** Joins parts to one array. */
export function joinParts(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  let size = 0
  for (const part of parts) size += part.length
  const bytes = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}
