import { isAboutTransactions } from '../../catalog/operations/framework/inside.ts'
import { runOperation } from '../../catalog/operations/framework/run.ts'

/**
 * Runs operations one after the other, in the order of their calls. Long work lets others go ahead after some
 * milliseconds, and on a busy machine short work does, too: then the clock would decide which of several calls is first.
 * What is about a transaction does not wait, since it may be about the operation under way.
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
