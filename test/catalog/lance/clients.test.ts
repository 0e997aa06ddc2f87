import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { serve } from '../../../src/server/index.ts'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { pythonWith, releases, requirePython } from './clients/python.ts'
import { LanceClients } from './clients/run.ts'

// Processes write by clients in Python, which take seconds to start.
limitEach(120)

/* `npm run soak -- --only lance` does this for as long as it is told to, and brings Lance for Python. */

it('every change that is acknowledged is there once, whoever dies', async () => {
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

it.for(releases)('Lance %s for Python and the catalog share branches and tags', async (release, { skip }) => {
  const python = await requirePython(release, skip)
  const catalog = closedAfterwards(await openCatalog(await freshFolder(), { managedVersioning: true }))
  const server = await serve(catalog, {
    limits: { eventLoopDelay: 0 },
    auth: false,
    listing: 'children',
    port: 0,
  })
  onTestFinished(() => server.close())
  const script = fileURLToPath(new URL('clients/branches.py', import.meta.url))
  expect((await promisify(execFile)(python, [script, server.url])).stdout).toBe('done\n')
})
