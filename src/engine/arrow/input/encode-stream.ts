import { type Schema, Table } from '@uwdata/flechette'
import { type AnyBatch, makeColumn } from '../batch.ts'
import { encodeArrow, joinParts } from '../ipc/encode.ts'
import { readEncapsulatedMessage } from '../ipc/message.ts'
import type { RowsSource } from '../types.ts'
import { openRowStream, type RowStreamOptions } from './row-stream.ts'

/** The marker that ends a stream of messages. */
const endLength = 8

/**
 * Rows as the bytes of an Arrow IPC stream, made as they are asked for. Rows with other columns than those before begin
 * another stream. Throws as `openRowStream` does.
 */
export async function* encodeStream(
  source: RowsSource,
  options: RowStreamOptions,
): AsyncGenerator<Uint8Array> {
  const { schema, tables } = await openRowStream(source, options)
  let head: Uint8Array | undefined
  let end: Uint8Array | undefined
  for await (const table of tables) {
    const bytes = encoded(table)
    const headLength = readEncapsulatedMessage(bytes, 0)!.end
    const isSame = head !== undefined && isEqual(head, bytes.subarray(0, headLength))
    if (!isSame && end) yield end
    head = bytes.slice(0, headLength)
    end = bytes.slice(-endLength)
    const body = bytes.subarray(isSame ? headLength : 0, -endLength)
    if (body.length > 0) yield body
  }
  yield end ?? encoded(emptyTable(schema))
}

function encoded({ schema, children }: Table): Uint8Array {
  return joinParts(
    encodeArrow(
      schema,
      children.map(({ data }) => data as readonly AnyBatch[]),
      'stream',
    ),
  )
}

function emptyTable(schema: Schema): Table {
  return new Table(
    schema,
    schema.fields.map(({ type }) => makeColumn(type, [])),
  )
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i])
}
