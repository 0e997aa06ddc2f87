import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { limitEach } from '../../support/time-limit.ts'
import { foundPythons, releases, requirePython } from './clients/python.ts'
import { LanceClients } from './clients/run.ts'
import { servedForLance } from './served.ts'

// Processes write by clients in Python, which take seconds to start.
limitEach(120)

/* `npm run soak -- --only lance` does this for as long as it is told to, and brings Lance for Python. */

it('every change that is acknowledged is there once, whoever dies', async () => {
  const clients = await LanceClients.begin({ deaths: 0.05, pythons: await foundPythons() })
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
  const { url } = await servedForLance(catalog)
  const script = fileURLToPath(new URL('clients/branches.py', import.meta.url))
  expect((await promisify(execFile)(python, [script, url])).stdout).toBe('done\n')
})
