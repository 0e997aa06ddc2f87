import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { describeWith } from '../../support/describe-with.ts'
import { limitEach } from '../../support/time-limit.ts'
import { type FlowStep, runFlow } from './flow.ts'
import { type IcebergClient, icebergForSpark, pythonOf } from './programs.ts'
import { referenceFails, referenceFailsByChance } from './reference.ts'
import { chosenServer, type IcebergServer, startIceberg } from './server.ts'

/** How many steps each flow has, so that none is lost. */
const steps: Record<IcebergClient, number> = { pyiceberg: 72, duckdb: 31, spark: 98 }

/** A client that is set up. `judge` runs its whole flow against a server, and throws with all that went wrong. */
export interface Judge {
  judge(server: Pick<IcebergServer, 'url' | 'warehouse'>): Promise<void>
}

/**
 * Tests that a client does all that its flow asks of these servers, or of the one that somebody chose. Where the client cannot be set up,
 * the tests say why, and are left out.
 */
export async function testClient(
  client: IcebergClient,
  title: string,
  ours: readonly string[],
): Promise<void> {
  limitEach(600)
  const servers = chosenServer === 'ours' ? ours : [chosenServer]
  describeWith(`${title}, a client of Iceberg REST`, await judgeOf(client), (judge) => {
    it.each(servers)('does all that its flow asks of the server: %s', async (chosen) => {
      const server = await startIceberg(chosen)
      await judge.judge(server).finally(() => server.close())
    })
  })
}

/** Sets a client up at its first use, or tells why that cannot be. */
async function judgeOf(client: IcebergClient): Promise<Judge | string> {
  if (client === 'spark' && spawnSync('java', ['-version']).status !== 0) return 'there is no program java'
  const found = await pythonOf(client)
  if (typeof found === 'string') return found
  const iceberg = client === 'spark' ? await icebergForSpark() : undefined
  if (typeof iceberg === 'string') return iceberg
  const options = { args: iceberg === undefined ? [] : [iceberg.jar], timeout: 500_000 }
  return {
    async judge(server) {
      expectFlow(client, await runFlow(found.python, `${client}_flow.py`, server, options))
    },
  }
}

/** What a client or a suite of the kit always fails, each with the reason: nothing, unless the server is the reference. */
export function knownFailures(client: string): Readonly<Record<string, string>> {
  return chosenServer === 'reference' ? (referenceFails[client] ?? {}) : {}
}

/** What it may fail by chance besides. */
function failuresByChance(client: string): Readonly<Record<string, string>> {
  return chosenServer === 'reference' ? (referenceFailsByChance[client] ?? {}) : {}
}

function expectFlow(client: IcebergClient, all: readonly FlowStep[]): void {
  const known = { ...knownFailures(client), ...failuresByChance(client) }
  const failed = all.filter(({ ok }) => !ok)
  const unknown = failed.filter(({ step }) => known[step] === undefined)
  expect(unknown.map(({ step, detail }) => `${step}: ${detail}`)).toEqual([])
  expect(all).toHaveLength(steps[client])
}
