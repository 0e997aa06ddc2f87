import type { Schema, Table } from '@uwdata/flechette'
import { performance } from '../../base/time.ts'
import type { AnyBatch } from '../arrow/batch.ts'
import { decodeArrow, decodeSchema } from '../arrow/ipc/decode.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import { tooLarge } from '../table/read/answer.ts'
import type { NativeBatches, NativeQuery } from './native.ts'
import { addsRowId, type LanceQuery, mostRowsOf, rowId } from './query.ts'

/** Runs a query of Lance, in batches of so many rows. Answers with the bytes of one Arrow IPC file. */
export async function answerOf(
  query: Omit<NativeQuery, 'nearestTo'>,
  options: LanceQuery,
  batchRows: number | undefined,
): Promise<Uint8Array> {
  const { memory, onStep } = options
  const started = performance.now()
  const batches = await query.execute(batchRows)
  const found: Found = { tables: [], first: undefined, bytes: 0, rows: 0 }
  try {
    await readAll(batches, found, options)
  } catch (error) {
    // The query may be asked again.
    memory?.give(found.bytes)
    throw error
  } finally {
    batches.close?.()
  }
  const { tables, first, rows } = found
  onStep?.({ name: 'rows', rows, milliseconds: performance.now() - started })
  const schema = tables[0]?.schema ?? decodeSchema(await query.outputSchema())
  const all = columnsOf(schema, tables)
  if (!addsRowId(options)) {
    // A file of one batch is the answer, where its bytes are in memory alone.
    const isAlone = tables.length === 1 && first!.byteLength === first!.buffer.byteLength
    return isAlone ? new Uint8Array(first!.buffer) : joinParts(encodeArrow(schema, all))
  }
  const isAnswered = schema.fields.map(({ name }) => name !== rowId)
  const fields = schema.fields.filter((_, i) => isAnswered[i])
  return joinParts(
    encodeArrow(
      { ...schema, fields } as Schema,
      all.filter((_, i) => isAnswered[i]),
    ),
  )
}

interface Found {
  readonly tables: Table[]
  /** The file of the first batch. */
  first: Uint8Array | undefined
  /** Bytes that were taken of the memory. */
  bytes: number
  rows: number
}

async function readAll(batches: NativeBatches, found: Found, asked: LanceQuery): Promise<void> {
  const { signal, maxBytes = Number.POSITIVE_INFINITY, memory, onProgress } = asked
  const most = mostRowsOf(asked)
  // That there are no more rows after the last one would take Lance another call.
  while (found.rows < most) {
    // The work of Lance cannot be stopped. What it finds is left to it.
    signal?.throwIfAborted()
    const batch = await batches.next()
    if (batch === null) return
    if (found.bytes + batch.length > maxBytes) throw tooLarge(maxBytes)
    await memory?.take(batch.length)
    found.bytes += batch.length
    const table = await decodeArrow(batch)
    found.first ??= batch
    found.tables.push(table)
    found.rows += table.numRows
    onProgress?.({ rowsDone: found.rows, rowsTotal: 0 })
  }
}

/** The batches of each column. */
function columnsOf(schema: Schema, tables: readonly Table[]): AnyBatch[][] {
  return schema.fields.map((_, i) =>
    tables.flatMap(({ children }) => children[i]!.data as unknown as AnyBatch[]),
  )
}
