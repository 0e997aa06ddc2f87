import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Backoff } from '../../../src/stores/postgres/backoff.ts'
import type { BadNetwork } from '../../support/bad-network.ts'
import { missingPostgres, sharedServer } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { countOverBadNetwork, impatient } from './bad-network-run.ts'
import { count, counted } from './counting.ts'

const factor = Number(process.env.HISTORY_RUNS ?? 1)
const calm = { delay: 0, held: { share: 0, millis: 0 }, resets: 0, silences: 0 }

/** Counts over a bad network, again where that was no worse than others: how many faults there are depends on the timing. */
async function untilTried(
  network: BadNetwork,
  faultsOf: (counts: Awaited<ReturnType<typeof countOverBadNetwork>>) => number,
): Promise<void> {
  for (let seed = 1, faults = 0; seed <= factor || faults === 0; seed++)
    faults += faultsOf(await countOverBadNetwork(await sharedServer(), seed, network))
}

describe.skipIf(missingPostgres)('over a network', { timeout: 60_000 * factor }, () => {
  test('that is slow, every change happens once', async () => {
    const network = { ...calm, delay: 20, held: { share: 0.05, millis: 300 } }
    await untilTried(network, ({ held }) => held)
  })

  test('that loses connections at any byte, every change happens once', async () => {
    const network = { ...calm, delay: 5, resets: 0.02 }
    await untilTried(network, ({ resets }) => resets)
  })

  test('whose connections fall silent without a word, every change happens once', async () => {
    const network = { ...calm, delay: 5, silences: 0.02 }
    await untilTried(network, ({ silences }) => silences)
  })

  test('whose connection fell silent, a read and a change are done on another one, be it late', async () => {
    const server = await sharedServer()
    const proxy = await TcpProxy.start(server.port)
    onTestFinished(() => proxy.close())
    const store = await impatient(await server.freshUrl(proxy.port))
    onTestFinished(() => store.close())
    await count(store, 'first')
    const silence = () => {
      let isOver = false
      // One connection, the one that gets the next answer.
      proxy.beforeAnswer = () => {
        if (isOver) return undefined
        isOver = true
        return new Promise(() => {})
      }
    }
    silence()
    expect(await counted(store)).toEqual(['first'])
    silence()
    expect(await count(store, 'second')).toBe(2)
    expect(await counted(store)).toEqual(['first', 'second'])
  })
})

test('who waited for a silent connection tries another one, however late it is', async () => {
  const lost = Object.assign(new Error('lost'), { code: 'ECONNRESET' })
  const backoff = new Backoff(1)
  // Longer than all of its patience, which is a millisecond.
  await sleep(5)
  await backoff.waitOrThrow(lost)
  await expect(backoff.waitOrThrow(lost)).rejects.toBe(lost)
  await expect(new Backoff().waitOrThrow(new Error('something else'))).rejects.toThrow('something else')
})
