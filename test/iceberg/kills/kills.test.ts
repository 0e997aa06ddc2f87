import { expect, test } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { pythonOf } from '../clients/programs.ts'
import { DuckDbRun } from './duckdb-run.ts'
import { onBadNetwork, onSmallDisk } from './faults.ts'
import { PairRun } from './pair-run.ts'
import { onDisk, onServices, type Place } from './places.ts'
import { TripleRun } from './triple-run.ts'

const found = await pythonOf('duckdb')
if (typeof found === 'string') console.warn(`DuckDB is left out: ${found}`)

// Servers are killed and begin anew all the while.
limitEach(240)

/** Rounds of a run, the first always, until the faults have struck: chance decides when they do. */
async function rounds(run: { round(size: number): Promise<void> }, size: number, struck: () => boolean) {
  for (let round = 0; round < 5 && (round === 0 || !struck()); round++) await run.round(size)
  expect(struck()).toBe(true)
}

const killed = ({ servers }: Place) => servers.some(({ counts }) => counts.kills > 0)
const killedOrPaused = (place: Place) =>
  killed(place) || place.servers.some(({ counts }) => counts.pauses > 0)

test('commits of two tables are there as they were acknowledged, once and in both, when the server is killed', async () => {
  const place = await onDisk()
  try {
    const run = new PairRun(place, 28)
    await rounds(run, 100, () => killed(place))
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
      await rounds(run, 60, () => killed(place))
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
    await rounds(run, 60, () => killed(place))
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
    await rounds(run, 50, () => killedOrPaused(place))
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
    await rounds(run, 12, () => killedOrPaused(place))
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
    await rounds(run, 60, () => place.faults.full! > 0 && run.counts.refused > 0)
  } finally {
    await place.dispose()
  }
})

test('nor where connections to clients, to PostgreSQL and to S3 are cut', async ({ skip }) => {
  const place = await onBadNetwork(28)
  if (typeof place === 'string') return skip(place)
  try {
    const run = new PairRun(place, 28)
    const struck = () => run.counts.unknown > 0 && Object.values(place.faults).every((count) => count > 0)
    await rounds(run, 60, struck)
  } finally {
    await place.dispose()
  }
})
