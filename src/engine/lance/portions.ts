import type { Table } from '@uwdata/flechette'
import type { AnyBatch } from '../arrow/batch.ts'
import { bytesInUse } from '../arrow/cast/cast-size.ts'
import type { RowStream } from '../arrow/input/row-stream.ts'

/** Some of the rows of a stream, which are in memory. */
export interface Portion {
  readonly rows: RowStream
  readonly count: number
  /** Whether the stream ended with them. */
  readonly isLast: boolean
}

/** About the most bytes of a portion. Lance makes a file of each. */
const portionBytes = 64 << 20
/** Lance makes several files of more rows. */
const portionRows = 1 << 20

/** Rows that arrive, in portions which Lance can take as a whole. The last one may have no rows. */
export async function* inPortions({ schema, tables }: RowStream): AsyncGenerator<Portion> {
  let held: Table[] = []
  let count = 0
  let size = 0
  for await (const table of tables) {
    const bytes = sizeOf(table)
    if (count > 0 && (size + bytes > portionBytes || count + table.numRows > portionRows)) {
      yield { rows: { schema, tables: inOrder(held) }, count, isLast: false }
      held = []
      count = 0
      size = 0
    }
    held.push(table)
    count += table.numRows
    size += bytes
  }
  yield { rows: { schema, tables: inOrder(held) }, count, isLast: true }
}

function sizeOf({ children }: Table): number {
  const batches = children.flatMap(({ data }) => data as unknown as readonly AnyBatch[])
  return batches.reduce((sum, batch) => sum + bytesInUse(batch), 0)
}

async function* inOrder(tables: readonly Table[]): AsyncGenerator<Table> {
  yield* tables
}
