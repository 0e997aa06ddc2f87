import { expect, it } from 'vitest'
import { pythonWith, releases } from './clients/python.ts'
import { LanceClients } from './clients/run.ts'

/* `npm run soak -- --only lance` does this for as long as it is told to, and brings Lance for Python. */

it('every change that is acknowledged is there once, whoever dies', { timeout: 150_000 }, async () => {
  const pythons = await Promise.all(releases.map(pythonWith))
  if (pythons.includes(undefined))
    console.warn('Lance for Python is left out: `npm run soak -- --only lance` brings it.')
  const clients = await LanceClients.begin({
    deaths: 0.05,
    pythons: pythons.filter((python) => python !== undefined),
  })
  try {
    await clients.round(40)
    expect(clients.model.done).toBeGreaterThanOrEqual(40)
  } finally {
    await clients.end()
  }
})
