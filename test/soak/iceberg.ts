import { pythonOf } from '../iceberg/clients/programs.ts'
import { DuckDbRun } from '../iceberg/kills/duckdb-run.ts'
import { onBadNetwork, onSmallDisk } from '../iceberg/kills/faults.ts'
import { PairRun } from '../iceberg/kills/pair-run.ts'
import { onDisk, onServices, type Place } from '../iceberg/kills/places.ts'
import { TripleRun } from '../iceberg/kills/triple-run.ts'
import type { Scenario } from './scenario.ts'

/** The acknowledged commits on the same tables before the next ones. */
const commitsEach = 600
const othersEach = 100

/** Writers of several Iceberg tables at once, DuckDB and tables of other formats among them, while much goes wrong. */
export async function iceberg(seed: number): Promise<Scenario> {
  const notes: string[] = []
  const place = await onDisk(['--managed-versioning'], 2)
  const places: Place[] = [place]
  const pairs = new PairRun(place, seed)
  const triples = new TripleRun(place, seed)
  const python = await pythonOf('duckdb')
  if (typeof python === 'string') notes.push(`DuckDB is left out: ${python}`)
  const duckDb = typeof python === 'string' ? undefined : new DuckDbRun(place, python.python, seed)
  const elsewhere: PairRun[] = []
  for (const other of [await onServices(), await onSmallDisk(), await onBadNetwork(seed)]) {
    if (typeof other === 'string') {
      notes.push(other)
      continue
    }
    places.push(other)
    elsewhere.push(new PairRun(other, seed))
  }
  return {
    notes,
    get counts() {
      const { acknowledged: ofDuckDb = 0 } = duckDb?.counts ?? {}
      const all = [pairs, ...elsewhere].map(({ counts }) => counts)
      const sum = (name: keyof PairRun['counts']) => all.reduce((total, counts) => total + counts[name], 0)
      return {
        acknowledged: sum('acknowledged'),
        refused: sum('refused'),
        'of unknown state': sum('unknown'),
        'of DuckDB': ofDuckDb,
        'over three formats': triples.counts.acknowledged,
        kills: places.reduce(
          (total, { servers }) => servers.reduce((n, { counts }) => n + counts.kills, total),
          0,
        ),
      }
    },
    async round() {
      await pairs.round(commitsEach)
      await triples.round(othersEach)
      await duckDb?.round(othersEach)
      for (const run of elsewhere) await run.round(othersEach)
    },
    async end() {
      for (const { dispose } of places) await dispose()
    },
  }
}
