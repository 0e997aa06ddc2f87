import { invoke, type OperationContext } from '../operations/framework/operation.ts'
import { runOperation } from '../operations/framework/run.ts'
import { recordedByCommit } from '../transactions/work-record.ts'
import { foundOnly } from './keyed-operation.ts'
import { transact } from './transaction.ts'

/*
 * A change with an idempotency key is a transaction of one operation, which also keeps the answer. Its commit compares that
 * there was none. So of two at once one runs again, and finds the answer of the other.
 */

/** Runs a change with an idempotency key, or answers as the first time. */
export const runOnce: OperationContext['once'] = async (core, operation, request, options) => {
  const { idempotencyKey, ...rest } = options
  // Most that come again come later, and need no transaction.
  const found = await runOperation(core, foundOnly(operation, idempotencyKey), request, rest)
  if (found !== undefined) return found
  const { signal, onProgress } = options
  return transact(core, (tx) => tx[invoke](operation, request, options), {
    signal,
    onProgress,
    [recordedByCommit]: true,
  })
}
