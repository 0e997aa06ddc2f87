import { isAboutTransactions } from '../../catalog/operations/framework/inside.ts'

/** Runs an operation of that name after those that were called before it. */
export type InOrder = <T>(operation: string, run: () => Promise<T>) => Promise<T>

/**
 * Runs operations one at a time, in the order of their calls. Otherwise an operation yields after some milliseconds, so
 * the load of the machine would decide the order. Operations on transactions do not wait, since they may concern the
 * running operation.
 */
export function inOrder(): InOrder {
  let last: Promise<unknown> | undefined
  return (operation, run) => {
    if (isAboutTransactions(operation)) return run()
    const result = last === undefined ? run() : last.then(run, run)
    last = result
    const forget = () => {
      if (last === result) last = undefined
    }
    result.then(forget, forget)
    return result
  }
}
