import { setTimeout as sleep } from 'node:timers/promises'
import type { Content } from '../content/content.ts'
import { CatalogError, invalid } from '../errors.ts'
import { segmentsOf } from '../locations/locations.ts'
import { withoutHead } from '../lookup/versions.ts'
import type { AnyOperation, OperationOptions } from '../operations/framework/operation.ts'
import { runOperation, settle } from '../operations/framework/run.ts'
import { type RowsStep, rebase } from '../rows/rebase.ts'
import { keyedQueue } from '../scheduling/keyed-queue.ts'
import { keys, type RemovalRecord } from '../store/records.ts'
import { ReadsChanged } from '../store/staged/seen.ts'
import { StagedStore } from '../store/staged/staged-store.ts'
import type { TableEngine } from '../table/index.ts'
import type { LongTransaction } from '../transactions/long-transaction.ts'
import { LocationBusy } from '../transactions/retry.ts'
import type { Core, Participant } from './core.ts'
import { createHandle, type Transact, type Transaction } from './handle.ts'
import { RunProgress } from './transaction-progress.ts'

/** What stands between a transaction and its catalog, where something has to. */
export interface TransactionHooks {
  /** Runs an operation of the transaction. */
  readonly run?: typeof runOperation
  /**
   * Calls `commit`. A `ConcurrentModification` before that counts as a lost race. An error after it reaches the caller
   * of a transaction that is committed.
   */
  readonly aroundCommit?: (commit: () => Promise<void>, signal: AbortSignal) => Promise<void>
}

/** How often changes of rows are put on top of those of others, before that counts as a lost race. */
const mostRebases = 100

/** The result of a run that was committed, or the error by which it lost a race. */
type Ended = { readonly result: unknown } | { readonly lost: unknown }

/** One run of the function of a transaction. */
export class TransactionRun {
  readonly #core: Core
  readonly #transaction: LongTransaction
  readonly #hooks: TransactionHooks
  readonly #staged: StagedStore
  readonly #inner: Core
  /** Stops the transaction as a whole. */
  readonly #signal: AbortSignal
  /** Stops what is still under way when the function has ended. */
  readonly #stop = new AbortController()
  readonly #innerSignal: AbortSignal
  readonly #progress: RunProgress | undefined
  readonly #participants: Participant[] = []
  readonly #afterwards: ((core: Core) => unknown)[] = []
  readonly #steps: RowsStep[] = []
  /** The operations under way, with their names. */
  readonly #underWay = new Map<Promise<unknown>, string>()
  #ended = false

  constructor(
    core: Core,
    transaction: LongTransaction,
    signal: AbortSignal,
    onProgress: OperationOptions['onProgress'],
    hooks: TransactionHooks,
  ) {
    this.#core = core
    this.#transaction = transaction
    this.#hooks = hooks
    this.#signal = signal
    this.#innerSignal = AbortSignal.any([signal, this.#stop.signal])
    this.#progress = onProgress && new RunProgress(transaction.id, onProgress)
    this.#staged = new StagedStore(core.store, {
      soften: withoutHead,
      // Its lease is renewed meanwhile, and others may alter it.
      unremembered: keys.transaction(transaction.id),
    })
    // Optimizing in the background begins after the commit.
    const { background: _, ...rest } = core
    this.#inner = {
      ...rest,
      store: this.#staged,
      engine: enginesOf(core, transaction.id),
      inTurn: keyedQueue(),
      staging: {
        transactionId: transaction.id,
        outside: core,
        join: (participant) => {
          this.#participants.push(participant)
        },
        afterCommit: (work) => {
          this.#afterwards.push(work)
        },
        softly: () => this.#staged.softly(),
        changed: (step) => {
          this.#steps.push(step)
        },
        busy: (removal, error) => this.#busy(removal, error),
      },
    }
  }

  async once(work: Parameters<Transact>[0]): Promise<Ended> {
    let isCommitted = false
    try {
      const ended = await this.#once(work)
      isCommitted = 'result' in ended
      return ended
    } finally {
      if (!isCommitted) await Promise.allSettled(this.#participants.map((one) => one.givenUp()))
    }
  }

  async #once(work: Parameters<Transact>[0]): Promise<Ended> {
    let result: unknown
    try {
      result = await unlessAborted(this.#signal, async () => work(this.#handle()))
    } catch (error) {
      await this.#end()
      this.#signal.throwIfAborted()
      if (this.#staged.failure instanceof ReadsChanged) return { lost: this.#staged.failure }
      if (!(error instanceof LocationBusy)) throw error
      await this.#settle(error.removal)
      return { lost: error }
    }
    const left = new Set(this.#underWay.values())
    await this.#end()
    if (left.size > 0) {
      throw invalid(
        `The function of the transaction returned while ${[...left].join(', ')} was still running, so nothing was committed. Await every operation in it.`,
      )
    }
    if (this.#staged.failure instanceof ReadsChanged) return { lost: this.#staged.failure }
    const lost = await this.#commit()
    return lost === undefined ? { result } : { lost }
  }

  #handle(): Transaction {
    const handle: Partial<ReturnType<typeof createHandle>> = createHandle({
      run: (operation, request, options, done) => this.#run(operation, request, options, done),
      callsDone: true,
      transact: () => Promise.reject(nested()),
      close: async () => {},
    })
    // The transaction ends with its function, and not before.
    delete handle.close
    delete handle[Symbol.asyncDispose]
    return Object.assign(handle as Transaction, { transactionId: this.#transaction.id })
  }

  #run(
    operation: AnyOperation,
    request: unknown,
    given: OperationOptions,
    done: () => void,
  ): Promise<unknown> {
    if (this.#ended) {
      done()
      return Promise.reject(usedAfterEnd(operation.name))
    }
    const { run = runOperation } = this.#hooks
    const { signal, onProgress } = given
    const options = {
      ...given,
      signal: signal ? AbortSignal.any([signal, this.#innerSignal]) : this.#innerSignal,
      onProgress: this.#progress?.of(onProgress) ?? onProgress,
    }
    // Its own record is no part of what it changes.
    const core = isAboutRecord(operation, request, this.#transaction.id) ? this.#core : this.#inner
    const result = run(core, operation, request, options)
    this.#underWay.set(result, operation.name)
    const gone = () => {
      this.#underWay.delete(result)
      done()
    }
    result.then(gone, gone)
    return result
  }

  /** Refuses further operations, and stops those that are still under way. */
  async #end(): Promise<void> {
    this.#ended = true
    if (this.#underWay.size === 0) return
    this.#stop.abort(usedAfterEnd('The operation'))
    await Promise.allSettled(this.#underWay.keys())
  }

  /** Commits, and answers with the error by which that lost a race, if it did. */
  async #commit(): Promise<unknown> {
    const { aroundCommit } = this.#hooks
    if (aroundCommit === undefined) return this.#commitNow()
    let hasBegun = false
    let lost: unknown
    const commit = async () => {
      hasBegun = true
      lost = await this.#commitNow()
      if (lost !== undefined) throw lost
    }
    try {
      await aroundCommit(commit, this.#signal)
    } catch (error) {
      if (lost !== undefined) return lost
      if (!hasBegun && error instanceof CatalogError && error.code === 'ConcurrentModification') return error
      throw error
    }
    return undefined
  }

  async #commitNow(): Promise<unknown> {
    const refused = await this.#prepare()
    if (refused !== undefined) return refused
    const branches = this.#steps.map(({ found, change }) => `${found.table.id}/${change.branch}`)
    const lost = await inTurns(this.#core, [...new Set(branches)].sort(), () => this.#commitInTurn())
    if (lost === undefined) await this.#committed()
    return lost
  }

  /** Prepares what takes part in the commit. Answers with the error by which that lost a race, if it did. */
  async #prepare(): Promise<unknown> {
    try {
      await Promise.all(this.#participants.map((one) => one.prepare()))
      return undefined
    } catch (error) {
      if (error instanceof CatalogError && error.code === 'ConcurrentModification') return error
      throw error
    }
  }

  async #committed(): Promise<void> {
    try {
      await Promise.all(this.#participants.map((one) => one.committed()))
    } finally {
      await this.#afterCommit()
    }
  }

  async #commitInTurn(): Promise<unknown> {
    const staged = this.#staged
    for (let rebases = 0; ; rebases++) {
      this.#signal.throwIfAborted()
      let moved: ReadonlySet<string> = new Set()
      try {
        const isCommitted = await this.#transaction.commit(({ writer }) => {
          // What was only read was compared at each read, and all of it at the last one.
          if (staged.isUnchanged) return true
          moved = staged.check(writer)
          if (moved.size > 0) return undefined
          staged.apply(writer)
          return true
        })
        if (isCommitted) return undefined
      } catch (error) {
        if (error instanceof ReadsChanged) return error
        throw error
      }
      if (rebases === mostRebases) return new ReadsChanged()
      const lost = await this.#rebase(moved)
      if (lost !== undefined) return lost
      if (rebases > 0) await pause(Math.random() * Math.min(rebases, 20), this.#signal)
    }
  }

  /** Puts changes of rows on top of what others committed. Answers with the error by which that failed, if it did. */
  async #rebase(moved: ReadonlySet<string>): Promise<unknown> {
    this.#staged.forget(moved)
    const core: Core = { ...this.#inner, store: this.#staged.softly().store }
    const steps = this.#steps.filter(({ found }) => moved.has(found.table.id))
    try {
      await rebase(core, steps, { signal: this.#signal })
      return undefined
    } catch (error) {
      this.#signal.throwIfAborted()
      // The function finds out by itself what is the matter, when it runs again.
      if (error instanceof CatalogError) return error
      throw error
    }
  }

  /** Does what waited for the commit. The transaction has succeeded by then, so a failure here is no error. */
  async #afterCommit(): Promise<void> {
    const core = this.#core
    await Promise.allSettled(this.#afterwards.map(async (work) => work(core)))
    for (const { change, version } of this.#steps) core.background?.changed(change, version)
  }

  #busy(removal: RemovalRecord, error: Error): Error {
    if (!this.#staged.hasChanged(keys.location(segmentsOf(removal.removing)))) return error
    return invalid(
      `The content at ${removal.removing} belongs to a table that this transaction drops, and is removed after the commit. Use the location in a later transaction.`,
    )
  }

  /** Waits until the content of a dropped table is removed from a location. */
  async #settle({ removing }: RemovalRecord): Promise<void> {
    const key = keys.location(segmentsOf(removing))
    const mark = await this.#core.store.read((reader) => reader.get<string | RemovalRecord>(key))
    if (typeof mark === 'object') await settle(this.#core, mark)
  }
}

/**
 * Engines whose objects bear the mark of the transaction. Its operations have records of their own, but a vacuum cannot
 * see these before the commit.
 */
function enginesOf(core: Core, transactionId: string): Core['engine'] {
  const engines = new Map<Content, Promise<TableEngine>>()
  const make = async (content: Content): Promise<TableEngine> => {
    const marked = (await core.engine(content)).writtenBy(transactionId)
    return { ...marked, writtenBy: () => marked }
  }
  return (content) => {
    const engine = engines.get(content) ?? make(content)
    engines.set(content, engine)
    return engine
  }
}

/** Whether an operation is about the record of a transaction. */
function isAboutRecord({ name }: AnyOperation, request: unknown, transactionId: string): boolean {
  if (name !== 'describeTransaction' && name !== 'alterTransaction') return false
  const { id } = (request ?? {}) as { id?: unknown }
  return Array.isArray(id) && id.at(-1) === transactionId
}

/** Runs work while it has the turns of all these keys, taken in order so that nobody waits for each other. */
function inTurns<T>(core: Core, [key, ...others]: readonly string[], work: () => Promise<T>): Promise<T> {
  return key === undefined ? work() : core.inTurn(key, () => inTurns(core, others, work))
}

/** What work resolves to, unless the signal aborts first: then its reason. */
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
  await sleep(millis, undefined, { signal }).catch(() => {})
  signal.throwIfAborted()
}

function nested(): CatalogError {
  return new CatalogError(
    'Unsupported',
    'A transaction has no transactions inside of it. Call the operations on tx itself, or run the other one afterwards.',
  )
}

function usedAfterEnd(operation: string): CatalogError {
  return invalid(
    `${operation} came after the transaction of its handle had ended. Do everything within the function, and await it.`,
  )
}
