import { runLong } from '../transactions/long-transaction.ts'
import type { Core } from './core.ts'
import type { Transact, TransactionOptions } from './handle.ts'
import { checkFunction, runFunction } from './transaction-function.ts'
import { aboutTransaction, type TransactionHooks, TransactionRun } from './transaction-run.ts'

/** Runs a function whose operations are committed together, again when others change what it read. */
export async function transact<T>(
  core: Core,
  work: Parameters<Transact>[0],
  options: TransactionOptions = {},
  hooks: TransactionHooks = {},
): Promise<T> {
  const { attempts, isolation } = checkFunction(work, options)
  return runLong(core, options, aboutTransaction, (transaction, { signal }) =>
    runFunction<T>(work, attempts, signal!, () => {
      const { onProgress } = options
      return new TransactionRun(core, transaction, signal!, { onProgress, isolation, hooks })
    }),
  )
}
