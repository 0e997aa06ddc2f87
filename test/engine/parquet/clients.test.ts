import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Table } from '@uwdata/flechette'
import { afterAll, expect, it } from 'vitest'
import { encodeArrow, joinParts } from '../../../src/engine/arrow/index.ts'
import { readParquet, writeParquet } from '../../../src/engine/parquet/index.ts'
import { describeWith } from '../../support/describe-with.ts'
import { parquetPython } from '../../support/parquet-clients.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(600)

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'tabularium-parquet-'))
const script = fileURLToPath(new URL('clients.py', import.meta.url))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs the clients, and answers with what they printed. */
async function clients(python: string, ...args: string[]): Promise<string> {
  return (await run(python, [script, ...args], { maxBuffer: 1 << 26 })).stdout
}

const compressions = ['snappy', 'gzip', 'none'] as const

/** Reads a file, writes what each batch is as Arrow data, and all of it as another Parquet file. */
async function readAndWriteAgain(base: string, number: number): Promise<void> {
  let part = 0
  for await (const given of readParquet(`${base}.parquet`, { batchRows: 40 })) {
    const { schema, children } = given as Table
    const bytes = encodeArrow(
      schema,
      children.map(({ data }) => data as never),
      'stream',
    )
    await writeFile(`${base}.out.${String(part++).padStart(4, '0')}`, joinParts(bytes))
  }
  const options = { groupRows: 1 + ((number * 37) % 150), compression: compressions[number % 3] }
  await writeFile(`${base}.ours`, writeParquet(readParquet(`${base}.parquet`), options))
}

describeWith('Parquet of pyarrow, DuckDB and polars', await parquetPython(), ({ python }) => {
  it('is read as they mean it, and they read what is written, in all types', async () => {
    await clients(python, 'write', folder, process.env.FC_SEED ?? '20261120')
    const names = readdirSync(folder).filter((name) => name.endsWith('.parquet'))
    for (const [i, name] of names.entries()) await readAndWriteAgain(join(folder, name.slice(0, -8)), i)
    const { files, found } = JSON.parse(await clients(python, 'check', folder))
    expect(found).toEqual([])
    expect(files).toBeGreaterThan(150)
  })

  it('finds the statistics that were written', async () => {
    const path = join(folder, 'statistics')
    const rows = [
      { n: -5n, s: 'ä', d: 1.5 },
      { n: 7n, s: 'z', d: null },
      { n: null, s: 'b', d: -2 },
    ]
    await writeFile(path, writeParquet([rows]))
    expect(JSON.parse(await clients(python, 'statistics', path))).toEqual({
      n: ['-5', '7', 1],
      s: ['b', 'ä', 0],
      d: ['-2.0', '1.5', 1],
    })
  })
})
