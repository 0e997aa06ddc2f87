import { duckdbRows, type Seeds } from '../predicates.ts'

/** Counts the rows of which a condition of SQL is true. */
type CountWhere = (condition: string) => Promise<number>

const piece = 2_048

/** What runs statements of SQL. */
interface Connection {
  run(statement: string): Promise<unknown>
  runAndReadAll(statement: string): Promise<{ getRows(): readonly (readonly unknown[])[] }>
  createAppender(table: string): Promise<{ appendDataChunk(chunk: unknown): void; closeSync(): void }>
}

/** DuckDB on two threads, in memory or in a file. */
export async function openDuckdb(path = ':memory:'): Promise<Connection> {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  return (await DuckDBInstance.create(path, { threads: '2' })).connect()
}

/** Makes a table of the rows that these seeds make, with a unique integer `id` before the other columns if wanted. */
export async function createRows(
  connection: Connection,
  name: string,
  seeds: Seeds,
  columns = '* EXCLUDE id',
): Promise<void> {
  const { DuckDBDataChunk, INTEGER, DOUBLE } = await import('@duckdb/node-api')
  await connection.run(
    'CREATE TEMP TABLE seeds (i INTEGER, a INTEGER, n INTEGER, x DOUBLE, code INTEGER, key INTEGER, moment INTEGER)',
  )
  const appender = await connection.createAppender('seeds')
  const types = [INTEGER, INTEGER, INTEGER, DOUBLE, INTEGER, INTEGER, INTEGER]
  const { a, n, present, x, code, key, at } = seeds
  for (let start = 0; start < a.length; start += piece) {
    const length = Math.min(piece, a.length - start)
    const each = <T>(value: (i: number) => T) => Array.from({ length }, (_, i) => value(start + i))
    const rows = DuckDBDataChunk.create(types)
    rows.setColumns([
      each((i) => i),
      each((i) => a[i]!),
      each((i) => (present[i] === 1 ? n[i]! : null)),
      each((i) => x[i]!),
      each((i) => code[i]!),
      each((i) => key[i]!),
      each((i) => at[i]!),
    ])
    appender.appendDataChunk(rows)
  }
  appender.closeSync()
  await connection.run(
    `CREATE TABLE ${name} AS SELECT ${columns} FROM (SELECT substr(name, 6)::INTEGER AS id, * FROM (${duckdbRows}))`,
  )
  await connection.run('DROP TABLE seeds')
}

/** The rows that these seeds make in DuckDB, in memory, counted on one thread or on two. */
export async function duckdbCounts(seeds: Seeds): Promise<{ one: CountWhere; two: CountWhere }> {
  const connection = await openDuckdb()
  await createRows(connection, 'rows', seeds)
  let threads = 2
  const on =
    (wanted: number): CountWhere =>
    async (condition) => {
      if (threads !== wanted) await connection.run(`SET threads = ${wanted}`)
      threads = wanted
      const reader = await connection.runAndReadAll(`SELECT count(*) FROM rows WHERE ${condition}`)
      return Number(reader.getRows()[0]![0])
    }
  return { one: on(1), two: on(2) }
}
