import { CatalogError, invalid } from '../errors.ts'
import { type OptionNames, requireKnown } from '../model/options.ts'
import type { Semaphore } from '../scheduling/semaphore.ts'
import { runLong } from '../transactions/long-transaction.ts'
import type { Core } from './core.ts'
import type { Transact, TransactionOptions } from './handle.ts'
import { pause, type TransactionHooks, TransactionRun } from './transaction-run.ts'

const optionNames: OptionNames<TransactionOptions> = { attempts: true, signal: true, onProgress: true }
const mostAttempts = 10_000

/** A transaction waits for no slot: it may hold one for as long as its function likes. Its operations take them. */
const noSlots: Semaphore = { acquire: () => undefined, release: () => {} }

/** Runs a function whose operations are committed together, again when others change what it read. */
export async function transact<T>(
  core: Core,
  work: Parameters<Transact>[0],
  options: TransactionOptions = {},
  hooks: TransactionHooks = {},
): Promise<T> {
  requireKnown('transaction', options, optionNames)
  const { attempts = 50 } = options
  if (typeof work !== 'function') {
    throw invalid(
      'transaction takes a function, such as async (tx) => { await tx.dropTable({ id: ["t"] }) }.',
    )
  }
  if (!(Number.isSafeInteger(attempts) && attempts >= 1 && attempts <= mostAttempts)) {
    throw invalid(`attempts must be a whole number from 1 to ${mostAttempts.toLocaleString('en')}.`)
  }
  const about = { operation: 'Transaction', subject: [] }
  return runLong({ ...core, slots: noSlots }, options, about, async (transaction, { signal }) => {
    for (let attempt = 1; ; attempt++) {
      const run = new TransactionRun(core, transaction, signal!, options.onProgress, hooks)
      const ended = await run.once(work)
      if ('result' in ended) return ended.result as T
      if (attempt === attempts) throw lost(attempts, ended.lost)
      await pause(Math.random() * Math.min(2 * attempt, 50), signal!)
    }
  })
}

function lost(attempts: number, cause: unknown): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `Others changed what the transaction read, in each of ${attempts} runs, so nothing of it was committed. Try again when there is less going on, or read less in it.`,
    { cause },
  )
}
