import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { madeOnce } from './made-once.ts'

const run = promisify(execFile)

const packages = ['pyarrow==26.0.1', 'duckdb==2.0.1', 'polars==2.1.0', 'numpy==2.4.6', 'pandas==3.1.1']

/** A Python that has readers and writers of Parquet files, or the reason why there is none. */
export function parquetPython(): Promise<{ readonly python: string } | string> {
  const name = `parquet-clients-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 12)}`
  return madeOnce(name, async (folder) => {
    await run('python3', ['-m', 'venv', '--clear', folder])
    const options = ['install', '--quiet', '--disable-pip-version-check', ...packages]
    await run(`${folder}/bin/pip`, options, { timeout: 230_000 })
    await run(`${folder}/bin/python`, ['-c', 'import pyarrow, duckdb, polars, numpy, pandas'])
  }).then(
    (folder) => ({ python: `${folder}/bin/python` }),
    (error: Error) => `${name} cannot be set up: ${error.message.slice(0, 500)}`,
  )
}
