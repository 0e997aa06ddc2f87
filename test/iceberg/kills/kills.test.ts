import { expect, test } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { pythonOf } from '../clients/programs.ts'
import { DuckDbRun } from './duckdb-run.ts'
import { PairRun } from './pair-run.ts'
import { onDisk, onServices } from './places.ts'
import { TripleRun } from './triple-run.ts'

const found = await pythonOf('duckdb')
if (typeof found === 'string') console.warn(`DuckDB is left out: ${found}`)

// Servers are killed and begin anew all the while.
limitEach(240)

test('commits of two tables are there as they were acknowledged, once and in both, when the server is killed', async () => {
  const place = await onDisk()
  try {
    const run = new PairRun(place, 28)
    await run.round(150)
    console.log(
      run.counts,
      place.servers.map(({ counts }) => counts),
    )
    expect(place.servers[0]!.counts.kills).toBeGreaterThan(0)
    expect(run.counts.acknowledged).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})

test.skipIf(typeof found === 'string')(
  'transactions of DuckDB are in both tables or in none, when the server is killed',
  async () => {
    const place = await onDisk()
    try {
      const run = new DuckDbRun(place, (found as { python: string }).python, 28)
      await run.round(60)
      console.log(
        run.counts,
        run.failures,
        place.servers.map(({ counts }) => counts),
      )
      expect(place.servers[0]!.counts.kills).toBeGreaterThan(0)
      expect(run.counts.acknowledged).toBeGreaterThan(0)
    } finally {
      await place.dispose()
    }
  },
)

test('transactions over tables of Arrow, Lance and Iceberg are in all or in none, when the server is killed', async () => {
  const place = await onDisk(['--managed-versioning'])
  try {
    const run = new TripleRun(place, 28)
    await run.round(60)
    console.log(
      run.counts,
      place.servers.map(({ counts }) => counts),
    )
    expect(place.servers[0]!.counts.kills).toBeGreaterThan(0)
    expect(run.counts.acknowledged).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})

test('commits of two tables hold in PostgreSQL and S3, when either of two servers is killed or paused', async ({
  skip,
}) => {
  const place = await onServices()
  if (typeof place === 'string') return skip(place)
  try {
    const run = new PairRun(place, 28)
    await run.round(100)
    expect(place.servers.reduce((sum, { counts }) => sum + counts.kills + counts.pauses, 0)).toBeGreaterThan(
      0,
    )
    expect(run.counts.acknowledged).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})
