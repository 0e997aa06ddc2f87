import { spawnSync } from 'node:child_process'
import { expect } from 'vitest'
import { type FlowStep, runFlow } from './flow.ts'
import { type IcebergClient, icebergForSpark, pythonOf } from './programs.ts'
import { referenceFails } from './reference.ts'
import { chosenServer, type IcebergServer } from './server.ts'

/** How many steps each flow has, so that none is lost. */
const steps: Record<IcebergClient, number> = { pyiceberg: 72, duckdb: 31, spark: 98 }

/** A client that is set up. `judge` runs its whole flow against a server, and throws with all that went wrong. */
export interface Judge {
  judge(server: Pick<IcebergServer, 'url' | 'warehouse'>): Promise<void>
}

/** Sets a client up at its first use, or tells why that cannot be. */
export async function judgeOf(client: IcebergClient): Promise<Judge | string> {
  if (client === 'spark' && spawnSync('java', ['-version']).status !== 0) return 'there is no program java'
  const found = await pythonOf(client)
  if (typeof found === 'string') return found
  const iceberg = client === 'spark' ? await icebergForSpark() : undefined
  if (typeof iceberg === 'string') return iceberg
  const options = { args: iceberg === undefined ? [] : [iceberg.jar], timeout: 1_100_000 }
  return {
    async judge(server) {
      expectFlow(client, await runFlow(found.python, `${client}_flow.py`, server, options))
    },
  }
}

/** What a client or a suite of the kit may fail, each with the reason: nothing, unless the server is the reference. */
export function knownFailures(client: string): Readonly<Record<string, string>> {
  return chosenServer === 'reference' ? (referenceFails[client] ?? {}) : {}
}

function expectFlow(client: IcebergClient, all: readonly FlowStep[]): void {
  const known = knownFailures(client)
  const failed = all.filter(({ ok }) => !ok)
  const unknown = failed.filter(({ step }) => known[step] === undefined)
  expect(unknown.map(({ step, detail }) => `${step}: ${detail}`)).toEqual([])
  expect(all).toHaveLength(steps[client])
}
