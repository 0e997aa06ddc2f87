import type { OperationContext } from '../operations/framework/operation.ts'
import { runLong } from '../transactions/long-transaction.ts'
import type { Transact, TransactionOptions } from './handle.ts'
import { checkFunction, type FunctionRun, runFunction } from './transaction-function.ts'
import { aboutTransaction, TransactionRun } from './transaction-run.ts'
import { TransactionTurns } from './transaction-turns.ts'

/**
 * Runs a function whose operations are committed together, again when others change what it read. `wrap` may put
 * something around each run.
 */
export async function transact<T>(
  core: OperationContext,
  work: Parameters<Transact>[0],
  options: TransactionOptions = {},
  wrap: (run: FunctionRun, signal: AbortSignal) => FunctionRun = (run) => run,
): Promise<T> {
  const { attempts, isolation } = checkFunction(work, options)
  // The run writes the record before anything that a vacuum could take.
  const about = { ...aboutTransaction, vacuums: 'harmless' as const }
  return runLong(core, options, about, async (transaction, { signal }) => {
    const turns = new TransactionTurns(core, signal!)
    const { onProgress } = options
    try {
      return await runFunction<T>(work, attempts, signal!, async () => {
        await turns.beforeRun()
        return wrap(new TransactionRun(core, transaction, signal!, { onProgress, isolation, turns }), signal!)
      })
    } finally {
      turns.end()
    }
  })
}
