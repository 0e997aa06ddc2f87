import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as lancedb from '@lancedb/lancedb'
import { type Table as ArrowTable, tableToIPC } from '@uwdata/flechette'
import { tableFromIPC } from 'apache-arrow'
import { it } from 'vitest'
import type { CatalogOptions } from '../../src/tabularium/index.ts'
import { freshFolder } from './catalogs.ts'

/** Lance's package, which is optional. Undefined, and said aloud, where it is not installed. */
const found: typeof lancedb | undefined = await import('@lancedb/lancedb').catch(() => undefined)
if (found === undefined) {
  console.warn('Tests of rows of Lance are left out: npm install @lancedb/lancedb brings it.')
}

/** A test that needs Lance's package. */
export const lanceIt = it.skipIf(found === undefined)

/** Lance's package, for a {@link lanceIt}. */
export const lance = found!

/** How the catalogs of these tests run Lance: in this process, unless a suite says otherwise. */
export const howLanceRuns: { lance?: NonNullable<CatalogOptions['lance']> } = {}

type Rows = Record<string, unknown>[] | ArrowTable

const inItsArrow = (rows: Rows) =>
  Array.isArray(rows) ? rows : tableFromIPC(tableToIPC(rows, { format: 'file' })!)

/**
 * Writes a dataset without a catalog, as LanceDB does by itself, and gives its folder that path. Answers with its
 * location. `change` may go on with it first.
 */
export async function datasetAt(
  path: string,
  rows: Rows,
  change: (table: lancedb.Table) => Promise<unknown> = async () => {},
): Promise<string> {
  const folder = await freshFolder()
  const db = await lance.connect(folder)
  const table = await db.createTable('made', inItsArrow(rows))
  await change(table)
  table.close()
  db.close()
  await rename(join(folder, 'made.lance'), path)
  return pathToFileURL(path).href
}
