import assert from 'node:assert/strict'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { runApart } from '../processes/clock-run.ts'
import { databasePlace } from '../processes/database-place.ts'
import { type ConcurrentHistory, concurrentHistory, LinearProcesses } from '../processes/linear-run.ts'
import { countOverBadNetwork } from '../stores/postgres/bad-network-run.ts'
import { count, counted } from '../stores/postgres/counting.ts'
import { missingPostgres, PostgresServer } from '../support/postgres.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import type { Scenario } from './scenario.ts'
import { tryRandomly } from './try-randomly.ts'

const processCount = 4
const writers = 8

/** Histories in PostgreSQL, and writers whose connections are cut and whose server is killed. */
export async function postgres(seed: number): Promise<Scenario> {
  if (missingPostgres !== undefined) throw new Error(missingPostgres)
  const processes = new LinearProcesses(processCount, databasePlace)
  const server = await PostgresServer.start()
  const proxy = await TcpProxy.start(server.port)
  const counts = { histories: 0, calls: 0, changes: 0, cuts: 0, kills: 0, resets: 0, silences: 0, apart: 0 }
  let rounds = 0
  let answers = 0
  // Opening a catalog is not retried.
  let isOpening = false
  proxy.onAnswered = () => {
    if (!isOpening && ++answers % 60 === 0) {
      counts.cuts++
      proxy.cut()
    }
    return undefined
  }

  const hurt = async () => {
    isOpening = true
    const url = await server.freshUrl(proxy.port)
    const stores = await Promise.all([openPostgresStore(url), openPostgresStore(url)])
    isOpening = false
    const acknowledged: string[] = []
    const work = Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; i < 150; i++) {
        await count(stores[writer % 2]!, `${writer}-${i}`)
        acknowledged.push(`${writer}-${i}`)
      }
    })
    const killing = (async () => {
      while (acknowledged.length < writers * 50) await new Promise((resolve) => setTimeout(resolve, 5))
      await server.kill()
      await server.resume()
      counts.kills++
    })()
    await Promise.all([...work, killing])
    assert.deepEqual((await counted(stores[0]!)).sort(), acknowledged.sort())
    counts.changes += acknowledged.length
    for (const store of stores) await store.close()
  }

  return {
    counts,
    async round(until) {
      const check = async (history: ConcurrentHistory) => {
        counts.calls += await processes.check(history)
      }
      const trial = { numRuns: 5, seed: seed + counts.histories, until }
      await Promise.all([tryRandomly(concurrentHistory(processCount), check, trial), hurt()])
      counts.histories += trial.numRuns
      const round = seed + rounds++
      const network = { delay: 15, held: { share: 0.02, millis: 500 }, resets: 0.01, silences: 0.005 }
      const { changes, resets, silences } = await countOverBadNetwork(server, round, network)
      counts.changes += changes
      counts.resets += resets
      counts.silences += silences
      counts.apart += await runApart(server, round, 15, { ...network, silences: 0 })
    },
    async end() {
      processes[Symbol.dispose]()
      proxy.close()
      await server.stop()
    },
  }
}
