import { isAboutTransactions } from '../../catalog/operations/framework/inside.ts'
import { runOperation } from '../../catalog/operations/framework/run.ts'

/**
 * Runs operations one at a time, in the order of their calls. Otherwise an operation yields after some milliseconds, so
 * the load of the machine would decide the order. Operations on transactions do not wait, since they may concern the
 * running operation.
 */
export function inOrder(): typeof runOperation {
  let last: Promise<unknown> | undefined
  return (core, operation, request, options) => {
    if (isAboutTransactions(operation.name)) return runOperation(core, operation, request, options)
    const run = () => runOperation(core, operation, request, options)
    const result = last === undefined ? run() : last.then(run, run)
    last = result
    const forget = () => {
      if (last === result) last = undefined
    }
    result.then(forget, forget)
    return result
  }
}
