import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { type CatalogOptions, openCatalog } from '../../src/tabularium/index.ts'
import { attackIceberg, settleIceberg } from '../iceberg/attack.ts'
import { attackThrough, inProcess, overHttp } from '../server/auth/attack.ts'
import { temporaryDirectory } from '../support/folders.ts'
import type { Scenario } from './scenario.ts'

/** The attacks of one round: several for each operation. */
const attacksPerRound = 480

/** One tenant attacks another by every operation, and by every endpoint of Iceberg. Each round has a new catalog. */
export async function tenants(seed: number): Promise<Scenario> {
  const counts = { rounds: 0, attacks: 0, 'operations that were done': 0 }
  const everDone = new Set<string>()
  return {
    counts,
    async round() {
      const directory = counts.rounds % 2 === 0 ? undefined : await temporaryDirectory()
      const open = (options?: CatalogOptions) => openCatalog(directory ?? 'memory:', options)
      const attack = [attackAtServer, attackAtIceberg, attackAtCatalog][Math.floor(counts.rounds / 2) % 3]!
      const done = await attack(open, seed + counts.attacks)
      if (directory !== undefined) await rm(directory, { recursive: true })
      counts.rounds++
      counts.attacks += attacksPerRound
      for (const name of done) everDone.add(name)
      counts['operations that were done'] = everDone.size
      // Attacks that are all refused for another reason would show nothing.
      const least = attack === attackAtIceberg ? 8 : 30
      assert(done.size > least, `only ${[...done]} were done from seed ${seed} on`)
    },
    async end() {},
  }
}

type Open = (options?: CatalogOptions) => ReturnType<typeof openCatalog>

async function attackAtServer(open: Open, seed: number): Promise<Set<string>> {
  await using catalog = await open()
  await using door = await overHttp(catalog)
  return await attackThrough(door, attacksPerRound, seed)
}

async function attackAtIceberg(open: Open, seed: number): Promise<Set<string>> {
  await using catalog = await open()
  await using attacked = await settleIceberg(catalog)
  const done = await attackIceberg(attacked, attacksPerRound, seed)
  return new Set(Array.from(done, (name) => `iceberg.${name}`))
}

async function attackAtCatalog(open: Open, seed: number): Promise<Set<string>> {
  let catalog: Awaited<ReturnType<Open>> | undefined
  try {
    const door = await inProcess(async (options) => {
      catalog = await open(options)
      return catalog
    })
    return await attackThrough(door, attacksPerRound, seed)
  } finally {
    await catalog?.close()
  }
}
