import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cache.ts'

const run = promisify(execFile)

/* Clients of Iceberg, each with its packages in a Python of its own. */

const clients = {
  pyiceberg: {
    packages: ['pyiceberg[pyarrow,pyiceberg-core]==0.12.0'],
    check: 'import pyiceberg.catalog.rest, pyarrow, pyiceberg_core',
  },
  duckdb: {
    packages: [
      'duckdb==1.5.5',
      ...['iceberg', 'avro', 'httpfs'].map((name) => `duckdb-extension-${name}==1.5.5`),
    ],
    check: 'import duckdb, duckdb_extension_iceberg, duckdb_extension_avro, duckdb_extension_httpfs',
  },
  /** PyIceberg with what sends its requests to S3 through a signer. */
  signing: {
    packages: ['pyiceberg[pyarrow,pyiceberg-core,s3fs]==0.12.0'],
    check: 'import pyiceberg.catalog.rest, pyarrow, s3fs',
  },
  spark: { packages: ['pyspark==3.5.9'], check: 'import pyspark' },
}

/** The jar that makes Spark a client of Iceberg. */
const sparkJar = { group: 'org.apache.iceberg', name: 'iceberg-spark-runtime-3.5_2.12', release: '1.11.0' }

/** Those that do what their flow asks of any server. */
export type IcebergClient = Exclude<keyof typeof clients, 'signing'>

/** The program of a Python that has a client's packages, or the reason why there is none. */
export async function pythonOf(client: keyof typeof clients): Promise<{ readonly python: string } | string> {
  const { packages, check } = clients[client]
  const name = `${client}-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 12)}`
  const made = await cached(name, async (folder) => {
    await run('python3', ['-m', 'venv', '--clear', folder])
    const options = ['install', '--quiet', '--disable-pip-version-check', ...packages]
    await run(`${folder}/bin/pip`, options, { timeout: 900_000 })
    await run(`${folder}/bin/python`, ['-c', check])
  })
  return typeof made === 'string' ? made : { python: `${made.folder}/bin/python` }
}

/** The path of the jar that makes Spark a client of Iceberg, or the reason why there is none. */
export async function icebergForSpark(): Promise<{ readonly jar: string } | string> {
  const { group, name, release } = sparkJar
  const file = `${name}-${release}.jar`
  const made = await cached(`${name}-${release}`, async (folder) => {
    const copy = [`-Dartifact=${group}:${name}:${release}`, `-DoutputDirectory=${folder}`]
    await run('mvn', ['-q', '-B', 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy', ...copy], {
      timeout: 900_000,
    })
    if (!existsSync(join(folder, file))) throw new Error(`Maven wrote no ${file}`)
  })
  return typeof made === 'string' ? made : { jar: join(made.folder, file) }
}
