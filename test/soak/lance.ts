import { lanceForJava } from '../catalog/lance/clients/java.ts'
import { releases, setUp } from '../catalog/lance/clients/python.ts'
import { LanceClients } from '../catalog/lance/clients/run.ts'
import type { Scenario } from './scenario.ts'

/** Writers of several Lance releases on one table, and in transactions on two, through a server that restarts. */
export async function lance(): Promise<Scenario> {
  const pythons: string[] = []
  for (const release of releases) {
    const python = await setUp(release)
    if (python !== undefined) pythons.push(python)
  }
  const java = await lanceForJava()
  if (typeof java === 'string') console.warn(`Lance for Java is left out: ${java}`)
  const clients = await LanceClients.begin({
    deaths: 0.03,
    pythons,
    ...(typeof java !== 'string' && { java }),
  })
  const counts = { changes: 0, transactions: 0, 'not acknowledged': 0, 'ends of the server': 0 }
  return {
    counts,
    async round() {
      await clients.round(100)
      counts.changes = clients.model.done
      counts.transactions = clients.model.transactions
      counts['not acknowledged'] = clients.model.failed
      counts['ends of the server'] = clients.deaths
    },
    end: () => clients.end(),
  }
}
