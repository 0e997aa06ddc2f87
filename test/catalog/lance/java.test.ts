import { expect, it } from 'vitest'
import { limitEach } from '../../support/time-limit.ts'
import { lanceForJava } from './clients/java.ts'
import { foundPythons } from './clients/python.ts'
import { LanceClients } from './clients/run.ts'

// A client in Java starts again and again beside those in Node and Python. Maven may fetch it first.
limitEach(300)

const java = await lanceForJava()
if (typeof java === 'string') console.warn(`Lance for Java is not tried: ${java}`)

it.skipIf(typeof java === 'string')(
  'what Lance for Java, Python and Node change at once is there once, for each of them, whoever dies',
  async () => {
    if (typeof java === 'string') return
    const pythons = await foundPythons()
    const clients = await LanceClients.begin({ deaths: 0.03, pythons, java })
    try {
      await clients.round(60)
      expect(clients.done.get('java')).toBeGreaterThan(0)
    } finally {
      await clients.end()
    }
  },
)
