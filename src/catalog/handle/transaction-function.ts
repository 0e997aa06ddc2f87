import { CatalogError, invalid, unsupported } from '../../base/errors.ts'
import { type OptionNames, requireKnown } from '../../base/model/options.ts'
import { isSignal, noSignal } from '../../base/scheduling/signals.ts'
import { sleep } from '../../base/time.ts'
import { beginsOrEnds, nested, requireSame } from '../operations/framework/inside.ts'
import { type AnyOperation, isolations, type OperationOptions } from '../operations/framework/operation.ts'
import { createHandle, type Transact, type Transaction, type TransactionOptions } from './handle.ts'
import { UnderWay } from './under-way.ts'

/*
 * A transaction whose operations a function calls. It is the same for a catalog in this process and for one behind a
 * server: the function gets a handle, and runs again when it lost a race.
 */

/** What one run of the function works on. */
export interface FunctionRun {
  readonly transactionId: string
  /** Called when the function learns the id, which it may pass on. */
  announce?(): void
  run(operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown>
  /** The error by which the run lost a race, if it did. `error` is what the function failed with, if it failed. */
  lostBy(error: unknown): unknown
  /** Commits. Returns the error of a lost race, if any. */
  commit(): Promise<unknown>
  /** Gives up, after the run failed or lost a race. It never fails. */
  giveUp?(error: unknown): Promise<void>
}

const optionNames: OptionNames<TransactionOptions> = {
  attempts: true,
  isolation: true,
  signal: true,
  onProgress: true,
}
const maxAttempts = 10_000

/** Checks the arguments of `transaction`. Returns its options with defaults. */
export function checkFunction(work: unknown, options: TransactionOptions) {
  requireKnown('transaction', options, optionNames)
  const { attempts = 50, isolation = 'Serializable', signal } = options
  if (signal !== undefined && !isSignal(signal)) throw noSignal('transaction')
  if (typeof work !== 'function') {
    throw invalid(
      'transaction takes a function, such as async (tx) => { await tx.dropTable({ id: ["t"] }) }.',
    )
  }
  if (!(Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= maxAttempts)) {
    throw invalid(`attempts must be a whole number from 1 to ${maxAttempts.toLocaleString('en')}.`)
  }
  if (!isolations.includes(isolation)) throw invalid(`isolation must be one of ${isolations.join(', ')}.`)
  return { attempts, isolation }
}

/** Runs a function until a run of it is committed, for `attempts` runs at most. */
export async function runFunction<T>(
  work: Parameters<Transact>[0],
  attempts: number,
  signal: AbortSignal,
  begin: () => FunctionRun | Promise<FunctionRun>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const run = await begin()
    try {
      const ended = await runOnce(run, work, signal)
      if ('result' in ended) return ended.result as T
      if (attempt === attempts) throw lostEachTime(attempts, ended.lost)
      await run.giveUp?.(ended.lost)
    } catch (error) {
      await run.giveUp?.(error)
      throw error
    }
    await pause(Math.random() * Math.min(2 * attempt, 50), signal)
  }
}

/** The result of a run that was committed, or the error by which it lost a race. */
type Ended = { readonly result: unknown } | { readonly lost: unknown }

async function runOnce(run: FunctionRun, work: Parameters<Transact>[0], signal: AbortSignal): Promise<Ended> {
  const underWay = new UnderWay(signal)
  const state = { ended: false }
  const end = async () => {
    state.ended = true
    if (!underWay.isEmpty) await underWay.stop(usedAfterEnd('The operation'))
  }
  let result: unknown
  try {
    result = await unlessAborted(signal, async () => work(handleOf(run, underWay, state)))
  } catch (error) {
    await end()
    signal.throwIfAborted()
    const lost = await run.lostBy(error)
    if (lost !== undefined) return { lost }
    throw error
  }
  const left = underWay.names
  await end()
  if (left.length > 0) {
    throw invalid(
      `The function of the transaction returned while ${left.join(', ')} was still running, so nothing was committed. Await every operation in it.`,
    )
  }
  const lost = (await run.lostBy(undefined)) ?? (await run.commit())
  return lost === undefined ? { result } : { lost }
}

function handleOf(run: FunctionRun, underWay: UnderWay, state: { readonly ended: boolean }): Transaction {
  const handle: Partial<ReturnType<typeof createHandle>> = createHandle({
    // Not async, which would add waits to each operation.
    run: (operation, request, options) => {
      try {
        if (state.ended) throw usedAfterEnd(operation.name)
        // The function's own end ends the transaction.
        if (beginsOrEnds(operation.name)) throw nested()
        requireSame(run.transactionId, operation, request, options)
        return underWay.run(operation.name, options, (given) => run.run(operation, request, given))
      } catch (error) {
        return Promise.reject(error)
      }
    },
    title: () => `Transaction ${run.transactionId}`,
    transact: () => Promise.reject(nested()),
    watch: () => {
      throw watchedInside()
    },
    close: async () => {},
  })
  // The transaction ends with its function, and not before.
  delete handle.close
  delete handle[Symbol.asyncDispose]
  const get = () => {
    run.announce?.()
    return run.transactionId
  }
  return Object.defineProperty(handle as Transaction, 'transactionId', { get, enumerable: true })
}

/** Resolves as `work` does, unless the signal aborts first: then rejects with its reason. */
function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}

/** Waits, unless the signal aborts: then fails with its reason. */
export async function pause(millis: number, signal: AbortSignal): Promise<void> {
  await sleep(millis, { signal }).catch(() => {})
  signal.throwIfAborted()
}

function watchedInside(): CatalogError {
  return unsupported(
    'A transaction sees one moment, so there is nothing to watch in it.',
    'Call watch on the catalog.',
  )
}

function usedAfterEnd(operation: string): CatalogError {
  return invalid(
    `${operation} came after the transaction of its handle had ended. Do everything within the function, and await it.`,
  )
}

function lostEachTime(attempts: number, cause: unknown): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Others changed what the transaction read, in each of ${attempts} runs, so nothing of it was committed. Try again when there is less going on, or read less in it.`,
    { cause },
  )
}
