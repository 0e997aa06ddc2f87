import type { Mutation } from './fleet.ts'
import { type Run, simulate } from './run.ts'
import { type Script, scriptOf } from './script.ts'

/** A script that violates an invariant, and the violation. */
export interface Found {
  readonly script: Script
  readonly run: Run & { readonly failure: Error }
}

/** Runs the scripts of seeds in sequence, and returns the first that violates an invariant, if any. */
export async function firstViolation(
  from: number,
  count: number,
  mutation: Mutation = {},
): Promise<Found | undefined> {
  for (let seed = from; seed < from + count; seed++) {
    const found = await violated(scriptOf(seed), mutation)
    if (found) return found
  }
  return undefined
}

async function violated(script: Script, mutation: Mutation): Promise<Found | undefined> {
  const run = await simulate(script, mutation)
  return run.failure ? { script, run: { ...run, failure: run.failure } } : undefined
}

/** Removes parts of a script as long as it still violates an invariant. Tries a limited number of scripts. */
export async function shrink(found: Found, mutation: Mutation = {}, mostTries = 200): Promise<Found> {
  let smallest = found
  let tries = 0
  for (let size = Number.POSITIVE_INFINITY; sizeOf(smallest.script) < size; ) {
    size = sizeOf(smallest.script)
    for (const smaller of smallerOnes(smallest.script)) {
      if (++tries > mostTries) return smallest
      const still = await violated(smaller, mutation)
      if (still === undefined) continue
      smallest = still
      break
    }
  }
  return smallest
}

/** The size of a script. */
export function sizeOf({ servers, clients, faults }: Script): number {
  return servers + faults.length + clients.reduce((sum, { steps }) => sum + 1 + steps.length, 0)
}

/** Without a half of the faults or a client, then without one fault, one server or one step. */
function* smallerOnes(script: Script): Generator<Script> {
  const { clients, faults, servers } = script
  const half = Math.ceil(faults.length / 2)
  if (faults.length > 1) {
    yield { ...script, faults: faults.slice(half) }
    yield { ...script, faults: faults.slice(0, half) }
  }
  for (const i of clients.keys()) if (clients.length > 1) yield { ...script, clients: without(clients, i) }
  for (const [i, client] of clients.entries()) {
    const middle = Math.ceil(client.steps.length / 2)
    if (client.steps.length < 2) continue
    const halves = [client.steps.slice(middle), client.steps.slice(0, middle)]
    for (const steps of halves) yield { ...script, clients: clients.with(i, { ...client, steps }) }
  }
  for (const i of faults.keys()) yield { ...script, faults: without(faults, i) }
  if (servers > 1) yield { ...script, servers: servers - 1 }
  for (const [i, client] of clients.entries()) {
    for (const at of client.steps.keys()) {
      if (client.steps.length > 1)
        yield { ...script, clients: clients.with(i, { ...client, steps: without(client.steps, at) }) }
    }
  }
}

function without<T>(items: readonly T[], index: number): readonly T[] {
  return items.filter((_, i) => i !== index)
}

/** The violation, its seed, and the shortest script that reproduces it. */
export function report({ script, run }: Found, { script: short, run: shortRun }: Found): string {
  return [
    `The simulation violates an invariant with the seed ${script.seed}: ${run.failure.message}`,
    `A shorter script of it: ${shortRun.failure.message}`,
    JSON.stringify(short),
    'What happened last:',
    ...shortRun.recent.slice(-60),
    String(shortRun.failure.stack),
  ].join('\n')
}
