import type { Table } from '@uwdata/flechette'
import { isInline } from '../../../base/content/path.ts'
import type { AnyBatch } from '../../arrow/batch.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { wholeOf } from '../../arrow/take/take.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { TableFiles } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { RowWriter } from './row-writer.ts'
import { matchSchema } from './schema-match.ts'

/**
 * Writes rows that arrive as tables, as fragments. A fragment is written once its rows are there, so that memory does not
 * grow with the rows. The next table is asked for only when there is room for it. If the rows fail, the fragments
 * written before are removed.
 */
export async function writeStream(
  job: Job,
  files: TableFiles,
  tables: AsyncIterable<Table>,
): Promise<readonly FragmentEntry[]> {
  const writer = new RowWriter(files)
  try {
    for await (const table of tables) {
      if (table.numRows === 0) {
        await matchSchema(table, files.schema, job, writer.rows)
        continue
      }
      for (const batches of await matchedBatches(job, files, table, writer.rows)) {
        await writer.add(job, batches)
        job.report(batches[0]!.length, 0)
        if (job.due) await job.rest()
      }
    }
    return await writer.allFragments(job)
  } catch (error) {
    await removeWritten(job, files.prefix, writer.paths)
    throw error
  }
}

/** The rows of a table as batches of the schema, one for each column and cut at the same rows. */
async function matchedBatches(
  job: Job,
  { schema }: TableFiles,
  table: Table,
  firstRow: number,
): Promise<AnyBatch[][]> {
  const columns = await matchSchema(table, schema, job, firstRow)
  const batches = columns.map(({ data }) => data as readonly AnyBatch[])
  if (batches.every((column) => column.length === 1)) return [batches.map(([batch]) => batch!)]
  return assembleColumns(
    schema.fields,
    batches.map((column) => column.map(wholeOf)),
  )
}

/** Removes objects of work that failed. What cannot be removed is left to a vacuum. */
async function removeWritten(job: Job, prefix: string, paths: readonly string[]): Promise<void> {
  const { writer } = job.storage
  const files = paths.filter((path) => !isInline(path))
  await Promise.allSettled(files.map(async (path) => writer.remove(prefix + path)))
}
