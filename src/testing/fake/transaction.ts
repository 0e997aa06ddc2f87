import { CatalogError } from '../../base/errors.ts'
import type { Core, FunctionRun, Transact, TransactionOptions } from '../../catalog/index.ts'

/** What surrounds the calls from a transaction to its catalog. */
interface Around {
  /** Runs an operation of the transaction by `perform`. */
  run(perform: FunctionRun['run'], ...call: Parameters<FunctionRun['run']>): Promise<unknown>
  /**
   * Calls `commit`. A `ConcurrentModification` before that counts as a lost race. An error after it reaches the caller
   * of a transaction that is committed.
   */
  commit(commit: () => Promise<void>, signal: AbortSignal): Promise<void>
}

/** Runs a function as `transaction` of a catalog does, with something around each of its calls. */
export async function transactWithin<T>(
  core: Core,
  work: Parameters<Transact>[0],
  options: TransactionOptions,
  around: Around,
): Promise<T> {
  const { transact } = await import('../../catalog/handle/transaction.ts')
  return transact<T>(core, work, options, (run, signal) => runWithin(run, around, signal))
}

function runWithin(run: FunctionRun, around: Around, signal: AbortSignal): FunctionRun {
  return {
    transactionId: run.transactionId,
    announce: () => run.announce?.(),
    run: (operation, request, options) =>
      around.run((...call) => run.run(...call), operation, request, options),
    lostBy: (error) => run.lostBy(error),
    commit: () => commitWithin(run, around, signal),
    giveUp: (error) => run.giveUp!(error),
  }
}

async function commitWithin(run: FunctionRun, around: Around, signal: AbortSignal): Promise<unknown> {
  let hasBegun = false
  let lost: unknown
  const commit = async () => {
    hasBegun = true
    lost = await run.commit()
    if (lost !== undefined) throw lost
  }
  try {
    await around.commit(commit, signal)
  } catch (error) {
    if (lost !== undefined) return lost
    if (!hasBegun && error instanceof CatalogError && error.code === 'ConcurrentModification') return error
    throw error
  }
  return undefined
}
