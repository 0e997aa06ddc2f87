import type { Schema, Table } from '@uwdata/flechette'
import { performance } from '../../base/time.ts'
import type { AnyBatch } from '../arrow/batch.ts'
import { decodeArrow, decodeSchema } from '../arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import { tooLarge } from '../table/read/answer.ts'
import type { QueryOptions } from '../table/table-engine.ts'
import type { NativeQuery } from './native.ts'

/** Runs a query of Lance. Answers with the bytes of one Arrow IPC file. */
export async function answerOf(
  query: Omit<NativeQuery, 'nearestTo'>,
  { signal, maxBytes = Number.POSITIVE_INFINITY, memory, onStep, onProgress }: QueryOptions,
): Promise<Uint8Array> {
  const started = performance.now()
  const tables: Table[] = []
  let bytes = 0
  let rows = 0
  const batches = await query.execute()
  for (;;) {
    // The work of Lance cannot be stopped. What it finds is left to it.
    signal?.throwIfAborted()
    const batch = await batches.next()
    if (batch === null) break
    bytes += batch.length
    if (bytes > maxBytes) throw tooLarge(maxBytes)
    await memory?.take(batch.length)
    const table = await decodeArrow(batch)
    tables.push(table)
    rows += table.numRows
    onProgress?.({ rowsDone: rows, rowsTotal: 0 })
  }
  onStep?.({ name: 'rows', rows, milliseconds: performance.now() - started })
  const schema = tables[0]?.schema ?? decodeSchema(await query.outputSchema())
  return joinParts(encodeArrow(schema, columnsOf(schema, tables)))
}

/** The batches of each column. */
function columnsOf(schema: Schema, tables: readonly Table[]): AnyBatch[][] {
  return schema.fields.map((_, i) =>
    tables.flatMap(({ children }) => children[i]!.data as unknown as AnyBatch[]),
  )
}
