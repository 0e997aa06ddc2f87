import { expect, test } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { pythonOf } from '../clients/programs.ts'
import { DuckDbRun } from './duckdb-run.ts'
import { onBadNetwork, onSmallDisk } from './faults.ts'
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
    await run.round(100)
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
      expect(place.servers[0]!.counts.kills).toBeGreaterThan(0)
      expect(run.counts.acknowledged).toBeGreaterThan(0)
    } finally {
      await place.dispose()
    }
  },
)

test('transactions over tables of Arrow, Lance and Iceberg are in all or in none, when either server is killed', async () => {
  const place = await onDisk(['--managed-versioning'], 2)
  try {
    const run = new TripleRun(place, 28)
    await run.round(60)
    expect(place.servers.reduce((sum, { counts }) => sum + counts.kills, 0)).toBeGreaterThan(0)
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
    await run.round(50)
    expect(place.servers.reduce((sum, { counts }) => sum + counts.kills + counts.pauses, 0)).toBeGreaterThan(
      0,
    )
    expect(run.counts.acknowledged).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})

test('transactions over the three formats hold in PostgreSQL and S3, when either of two servers is killed or paused', async ({
  skip,
}) => {
  const place = await onServices(['--managed-versioning'])
  if (typeof place === 'string') return skip(place)
  try {
    const run = new TripleRun(place, 28)
    await run.round(12)
    expect(place.servers.reduce((sum, { counts }) => sum + counts.kills + counts.pauses, 0)).toBeGreaterThan(
      0,
    )
    expect(run.counts.acknowledged).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})

test('no commit fails for its client that was made, or the other way round, on a disk that runs full', async ({
  skip,
}) => {
  const place = await onSmallDisk()
  if (typeof place === 'string') return skip(place)
  try {
    const run = new PairRun(place, 28)
    await run.round(60)
    expect(place.faults.full).toBeGreaterThan(0)
    expect(run.counts.refused).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})

test('nor where connections to clients, to PostgreSQL and to S3 are cut', async ({ skip }) => {
  const place = await onBadNetwork(28)
  if (typeof place === 'string') return skip(place)
  try {
    const run = new PairRun(place, 28)
    // Whether an answer is lost depends on chance.
    for (let round = 0; round < 5 && run.counts.unknown === 0; round++) await run.round(60)
    for (const [what, count] of Object.entries(place.faults)) expect([what, count > 0]).toEqual([what, true])
    expect(run.counts.unknown).toBeGreaterThan(0)
  } finally {
    await place.dispose()
  }
})
