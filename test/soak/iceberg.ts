import { pythonOf } from '../iceberg/clients/programs.ts'
import { DuckDbRun } from '../iceberg/kills/duckdb-run.ts'
import { PairRun } from '../iceberg/kills/pair-run.ts'
import { onDisk } from '../iceberg/kills/places.ts'
import { TripleRun } from '../iceberg/kills/triple-run.ts'
import type { Scenario } from './scenario.ts'

/** The acknowledged commits on the same tables before the next ones. */
const commitsEach = 600
const othersEach = 100

/** Writers of several Iceberg tables at once, DuckDB and tables of other formats among them, whose server is killed. */
export async function iceberg(seed: number): Promise<Scenario> {
  const place = await onDisk(['--managed-versioning'])
  const found = await pythonOf('duckdb')
  const pairs = new PairRun(place, seed)
  const triples = new TripleRun(place, seed)
  const duckDb = typeof found === 'string' ? undefined : new DuckDbRun(place, found.python, seed)
  return {
    get counts() {
      const { acknowledged: ofDuckDb = 0 } = duckDb?.counts ?? {}
      const { acknowledged: ofTriples } = triples.counts
      const others = { 'of DuckDB': ofDuckDb, 'over three formats': ofTriples }
      return { ...pairs.counts, ...others, ...place.servers[0]!.counts }
    },
    notes: typeof found === 'string' ? [`DuckDB is left out: ${found}`] : [],
    async round() {
      await pairs.round(commitsEach)
      await triples.round(othersEach)
      await duckDb?.round(othersEach)
    },
    end: () => place.dispose(),
  }
}
