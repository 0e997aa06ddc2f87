import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import type { Table } from '@uwdata/flechette'
import { CatalogError } from '../../../../src/base/errors.ts'
import { encodeArrow, joinParts } from '../../../../src/engine/arrow/index.ts'
import { readParquet } from '../../../../src/engine/parquet/index.ts'

/*
 * Reads the Parquet files of a folder, NAME.parquet, and writes their rows as the Arrow streams NAME.ours. Prints how
 * many were refused, the errors that are none of the catalog's, and the most memory that the process had, in MiB.
 */

const folder = process.argv[2]!
const names = readdirSync(folder).filter((name) => name.endsWith('.parquet'))
const faults: string[] = []
let refused = 0

async function rowsOf(file: Uint8Array): Promise<Uint8Array> {
  const tables: Table[] = []
  for await (const table of readParquet(file, { maxBytes: 16 << 20 })) tables.push(table as Table)
  const { schema } = tables[0]!
  const columns = schema.fields.map((_, i) => tables.flatMap(({ children }) => children[i]!.data))
  return joinParts(encodeArrow(schema, columns as never, 'stream'))
}

for (const name of names) {
  const path = join(folder, name)
  try {
    await writeFile(path.replace(/parquet$/, 'ours'), await rowsOf(new Uint8Array(readFileSync(path))))
  } catch (error) {
    refused++
    if (!(error instanceof CatalogError)) faults.push(`${name}: ${(error as Error).stack}`)
  }
}
const peak = Math.round(process.resourceUsage().maxRSS / 1024)
process.stdout.write(JSON.stringify({ files: names.length, refused, faults, peak }))
