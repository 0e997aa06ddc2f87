import type { Table } from '@uwdata/flechette'
import { invalid } from '../../base/errors.ts'
import { type AnyBatch, byteLength, dictionaryBytes } from '../arrow/batch.ts'
import { encodeArrow, joinParts } from '../arrow/ipc/encode.ts'
import { type ParquetReadOptions, readParquet } from './read/read.ts'
import type { ParquetSource } from './read/source.ts'

/**
 * All rows of a Parquet file as the bytes of an Arrow IPC file, for what takes rows as a whole. Refuses a file whose rows
 * take more than `maxRowBytes` in memory.
 */
export async function parquetToArrow(
  source: ParquetSource,
  { maxRowBytes, ...options }: ParquetReadOptions & { readonly maxRowBytes: number },
): Promise<Uint8Array> {
  const tables: Table[] = []
  let bytes = 0
  for await (const given of readParquet(source, options)) {
    const table = given as Table
    for (const { data } of table.children)
      for (const batch of data as readonly AnyBatch[]) bytes += byteLength(batch) + dictionaryBytes(batch)
    if (bytes > maxRowBytes) {
      throw invalid(
        `The rows of the Parquet file take more than ${maxRowBytes.toLocaleString('en')} bytes, the most at once. Insert them in parts.`,
      )
    }
    tables.push(table)
  }
  const { schema } = tables[0]!
  return joinParts(
    encodeArrow(
      schema,
      schema.fields.map((_, i) => tables.flatMap(({ children }) => children[i]!.data as readonly AnyBatch[])),
    ),
  )
}
