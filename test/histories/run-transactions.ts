import type { LocalCatalog, OperationOptions, Transaction } from '../../src/tabularium/index.ts'
import { withoutHeaderEntries } from '../client/over-http.ts'
import { finalReads } from './final-reads.ts'
import { emptyWorld, linearize, type Outcomes, type TransactionCommand, type World } from './linearize.ts'
import type { Command, ModelOperation, Outcome } from './model/index.ts'
import { call, resolve } from './run-history.ts'
import { type Seen, seenIn } from './script.ts'
import type { Stage } from './stages.ts'

class GivenUp extends Error {}

/**
 * Runs groups of transactions, each group concurrently. Some serial order of the transactions must explain the outcomes
 * of their calls. The final state of the catalog must equal that of the model.
 */
export async function runTransactions(
  stage: Stage,
  beginning: readonly Command[],
  history: readonly (readonly TransactionCommand[])[],
): Promise<void> {
  const { catalog, root } = stage
  const folders = ['x', 'y'].map((name) => [`#R/${name}`, `${root}data/${name}`] as const)
  let worlds: World[] = [emptyWorld(folders)]
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
    const outcomes = await Promise.all(real.map((one) => runTransaction(catalog, one)))
    script.push(JSON.stringify(real.map((one, i) => ({ ...one, outcomes: outcomes[i] }))))
    note(outcomes.filter((_, i) => real[i]!.commits))
    const calls = real.map((transaction, i) => ({ transaction, outcomes: outcomes[i]!, start: 0, end: 0 }))
    keep(linearize(worlds, calls))
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

/** Runs calls as one transaction, and returns their outcomes. */
export async function runTransaction(
  catalog: Pick<LocalCatalog, 'transaction'>,
  { calls, commits }: TransactionCommand,
): Promise<Outcomes> {
  let outcomes: (Outcome | null)[] = []
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

async function callInside(tx: Transaction, command: Command): Promise<Outcome | null> {
  return (await callWatched(tx, command)).outcome
}

/** Runs a call within a transaction: its outcome, null where only a transaction refuses it, and the error. */
export async function callWatched(
  catalog: Pick<Transaction, ModelOperation>,
  command: Command,
  options?: OperationOptions,
): Promise<{ readonly outcome: Outcome | null; readonly error?: unknown }> {
  let error: unknown
  const watched = async (request: object) => {
    try {
      const run = catalog[command.operation] as (request: object, options?: object) => Promise<object>
      return withoutHeaderEntries(await run(request, options))
    } catch (thrown) {
      error = thrown
      throw thrown
    }
  }
  const outcome = await call({ [command.operation]: watched } as never, command)
  const isOfTransactions = /removed after the commit|cannot be listed inside/.test((error as Error)?.message)
  return { outcome: isOfTransactions ? null : outcome, error }
}
