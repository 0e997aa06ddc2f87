import type { Transaction } from '../../src/index.ts'
import { Binding } from './binding.ts'
import { finalReads } from './final-reads.ts'
import { linearize, type World } from './linearize.ts'
import { type Command, type Outcome, predict } from './model/index.ts'
import { emptyState } from './model/state.ts'
import { call, resolve } from './run-history.ts'
import { type Seen, seenIn } from './script.ts'
import type { Stage } from './stages.ts'

/** Calls that are committed together, or given up together. */
export interface TransactionCommand {
  readonly calls: readonly Command[]
  readonly commits: boolean
}

/** What the calls of a transaction came to in its last run; undefined for a call that only a transaction refuses. */
type Outcomes = readonly (Outcome | undefined)[]

class GivenUp extends Error {}

/**
 * Runs groups of transactions, those of a group at the same time. What their calls came to must follow from doing the
 * transactions one after the other in some order, each as a whole. The catalog must then hold what the model holds.
 */
export async function runTransactions(
  stage: Stage,
  beginning: readonly Command[],
  history: readonly (readonly TransactionCommand[])[],
): Promise<void> {
  const { catalog, root } = stage
  const folders = ['x', 'y'].map((name) => [`#R/${name}`, `${root}data/${name}`] as const)
  let worlds: World[] = [{ state: emptyState(), binding: new Binding(folders) }]
  const seen: Seen[] = []
  const script: string[] = [`// on ${stage.name}`]

  async function runAlone(command: Command): Promise<void> {
    const real = worlds[0]!.binding.toReal(resolve(command, seen))
    const outcome = await call(catalog, real)
    note([[outcome]])
    script.push(JSON.stringify({ ...real, outcome }))
    keep(linearize(worlds, [{ command: real, outcome, start: 0, end: 0 }]))
  }

  async function runGroup(group: readonly TransactionCommand[]): Promise<void> {
    const real = group.map(({ calls, commits }) => ({
      calls: calls.map((command) => worlds[0]!.binding.toReal(resolve(command, seen))),
      commits,
    }))
    const outcomes = await Promise.all(real.map((one) => runOne(one)))
    script.push(JSON.stringify(real.map((one, i) => ({ ...one, outcomes: outcomes[i] }))))
    note(outcomes.filter((_, i) => real[i]!.commits))
    keep(inSomeOrder(worlds, real, outcomes))
  }

  async function runOne({ calls, commits }: TransactionCommand): Promise<Outcomes> {
    let outcomes: (Outcome | undefined)[] = []
    const work = async (tx: Transaction) => {
      outcomes = []
      for (const command of calls) outcomes.push(await callInside(tx, command))
      if (!commits) throw new GivenUp()
    }
    await catalog.transaction(work, { attempts: 1_000 }).catch((error: unknown) => {
      if (!(error instanceof GivenUp)) throw error
    })
    return outcomes
  }

  function note(outcomes: readonly Outcomes[]): void {
    for (const outcome of outcomes.flat()) {
      if (outcome && 'answer' in outcome) seen.push(...seenIn(outcome.answer, `r${seen.length}`))
    }
  }

  function keep(after: World[]): void {
    if (after.length > 0) worlds = after
    else throw new Error(`No order of the last step explains this history:\n${script.join('\n')}`)
  }

  for (const command of beginning) await runAlone(command)
  for (const group of history) if (group.length > 0) await runGroup(group)
  for (const read of finalReads(worlds[0]!.state)) await runAlone(read)
}

async function callInside(tx: Transaction, command: Command): Promise<Outcome | undefined> {
  let refusal = ''
  const watched = async (request: object) => {
    try {
      return await (tx[command.operation] as (request: object) => Promise<object>)(request)
    } catch (error) {
      refusal = (error as Error).message
      throw error
    }
  }
  const outcome = await call({ [command.operation]: watched } as never, command)
  return refusal.includes('removed after the commit') ? undefined : outcome
}

/** The worlds in which the outcomes follow from the transactions in some order. */
function inSomeOrder(
  worlds: readonly World[],
  left: readonly TransactionCommand[],
  outcomes: readonly Outcomes[],
): World[] {
  if (left.length === 0) return [...worlds]
  return left.flatMap((one, i) => {
    const after = worlds.flatMap((world) => stepAll(world, one, outcomes[i]!))
    if (after.length === 0) return []
    const without = <T>(list: readonly T[]) => list.filter((_, other) => other !== i)
    return inSomeOrder(after, without(left), without(outcomes))
  })
}

/** The world after a whole transaction; none when its calls would not have come to what they came to. */
function stepAll(before: World, { calls, commits }: TransactionCommand, outcomes: Outcomes): World[] {
  let { state } = before
  const binding = before.binding.copy()
  for (const [i, command] of calls.entries()) {
    const actual = outcomes[i]
    if (actual === undefined) continue
    const predicted = predict(state, binding.toSymbols(command), actual)
    if (!binding.matches(settled(command, predicted.outcome), settled(command, actual))) return []
    state = predicted.state
  }
  // What was given up is gone, and so are the ids that it was told.
  return [commits ? { state, binding } : before]
}

/** An outcome without what only the commit decides. */
function settled({ operation }: Command, outcome: Outcome): Outcome {
  if (!('answer' in outcome) || !/^(insert|delete)\w+Table$/.test(operation)) return outcome
  const { version: _, ...answer } = outcome.answer as { version?: number }
  return { answer }
}
