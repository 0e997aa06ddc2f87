import type { OperationContext } from '../operations/framework/operation.ts'
import { runLong } from '../transactions/long-transaction.ts'
import { TargetReplaced } from '../transactions/retry.ts'
import { recordedByCommit, type VacuumsBefore, vacuumsBegun } from '../transactions/work-record.ts'
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
  // Without the number of vacuums, the run writes the record before anything that a vacuum could take.
  const attempt = (vacuums: VacuumsBefore) => {
    const isRecorded = vacuums !== 'harmless'
    return runLong(core, options, { ...aboutTransaction, vacuums }, async (transaction, { signal }) => {
      const turns = new TransactionTurns(core, signal!)
      const { onProgress } = options
      try {
        return await runFunction<T>(work, attempts, signal!, async () => {
          await turns.beforeRun()
          const given = { onProgress, isolation, isRecorded, turns }
          return wrap(new TransactionRun(core, transaction, signal!, given), signal!)
        })
      } finally {
        turns.end()
      }
    })
  }
  if (!(recordedByCommit in options)) return attempt('harmless')
  try {
    return await attempt(await core.store.read(vacuumsBegun))
  } catch (error) {
    // A vacuum has begun, and may have taken what was written.
    if (!(error instanceof TargetReplaced)) throw error
    return attempt('harmless')
  }
}
