import { CatalogError, invalid } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { keyedQueue } from '../../base/scheduling/keyed-queue.ts'
import { keys, type RemovalRecord } from '../../base/store/records.ts'
import { ReadsChanged } from '../../stores/staged/read-set.ts'
import { StagedStore } from '../../stores/staged/staged-store.ts'
import { segmentsOf } from '../locations/locations.ts'
import { lookUpTable } from '../lookup/names.ts'
import { branchOf, madeAtCommit, withoutHead } from '../lookup/versions.ts'
import { isAbout, isKeyed } from '../operations/framework/inside.ts'
import type {
  AnyOperation,
  Isolation,
  OperationContext,
  OperationOptions,
} from '../operations/framework/operation.ts'
import { awaitRemoval, runOperation } from '../operations/framework/run.ts'
import { versionedTables } from '../operations/framework/versioned-tables.ts'
import type { RowsStep } from '../rows/change-types.ts'
import { HeldAppends } from '../rows/held-appends.ts'
import { rebase } from '../rows/rebase.ts'
import type { Participant } from '../transactions/context.ts'
import { Heartbeat } from '../transactions/heartbeat.ts'
import type { LongTransaction, LongWork } from '../transactions/long-transaction.ts'
import { TransactionPins } from '../transactions/pins.ts'
import { LocationBusy } from '../transactions/retry.ts'
import { onceInside } from './keyed-operation.ts'
import { pause } from './transaction-function.ts'
import type { TransactionTurns } from './transaction-turns.ts'
import { WritingEngines } from './writing-engines.ts'

/**
 * The record of a transaction over many operations. It takes no slot, since it may last for as long as its caller
 * likes. Its operations take slots.
 */
export const aboutTransaction: LongWork = { operation: 'Transaction', subject: [], takesSlot: false }

/** The most rebases of changes of rows, before that counts as a lost race. */
const maxRebases = 100

/** Operations that write nothing but objects of the engine. The engine itself awaits the record before it writes a file. */
const changesOfRows: ReadonlySet<string> = new Set([
  'insertIntoTable',
  'deleteFromTable',
  'updateTable',
  'mergeInsertIntoTable',
])

export interface RunOptions {
  readonly onProgress?: OperationOptions['onProgress']
  /** Default: `Serializable`. */
  readonly isolation?: Isolation | undefined
  /** Whether its commit is a record enough, whatever it writes. Default: false. */
  readonly isRecorded?: boolean | undefined
  /** Fails when this transaction exceeds a shared bound. Called with all bytes that it holds. */
  readonly requireRoom?: ((bytes: number) => void) | undefined
  /** The turns of the transaction. They may last for several runs, so its caller ends them. */
  readonly turns: TransactionTurns
}

/** The operations of a transaction up to its commit. When it lost a race, another run has to begin from the start. */
export class TransactionRun {
  readonly #core: OperationContext
  readonly #transaction: LongTransaction
  readonly #turns: TransactionTurns
  readonly #engines: WritingEngines
  readonly #staged: StagedStore
  readonly #inner: OperationContext
  /** The core of operations that change nothing. */
  readonly #reading: OperationContext
  /** Stops the transaction as a whole. */
  readonly #signal: AbortSignal
  readonly #progress: RunProgress | undefined
  readonly #participants: Participant[] = []
  readonly #afterwards: (() => unknown)[] = []
  readonly #steps: RowsStep[] = []
  readonly #appends: HeldAppends
  readonly #pins: TransactionPins
  #isRecorded: boolean
  /** Operations with the same idempotency key, one after the other. */
  readonly #inOrder = keyedQueue()
  /** Whether it keeps answers, which a rebase could make wrong. */
  #keepsAnswers = false

  constructor(
    core: OperationContext,
    transaction: LongTransaction,
    signal: AbortSignal,
    { onProgress, isolation, isRecorded = false, requireRoom, turns }: RunOptions,
  ) {
    this.#core = core
    this.#transaction = transaction
    this.#pins = new TransactionPins(core, transaction)
    this.#engines = new WritingEngines(core, transaction)
    this.#turns = turns
    this.#isRecorded = isRecorded
    this.#signal = signal
    this.#progress = onProgress && new RunProgress(transaction.id, onProgress)
    this.#staged = new StagedStore(core.store, {
      soften: withoutHead,
      // Its lease is renewed meanwhile, and others may alter it.
      unremembered: keys.transaction(transaction.id),
      requireRoom,
    })
    this.#appends = new HeldAppends({
      signal,
      requireRoom: (bytes) => requireRoom?.(this.#staged.bytes + bytes),
      failed: (error) => this.#staged.end(error),
    })
    let ordinal = 0
    // Optimizing in the background begins after the commit.
    const { background: _, ...rest } = core
    this.#inner = {
      ...rest,
      store: this.#staged,
      heartbeat: new Heartbeat(this.#staged, core.now),
      engine: this.#engines.engine,
      inTurn: keyedQueue(),
      branches: new Map(),
      contended: new Map(),
      staging: {
        transactionId: transaction.id,
        nextOrdinal: () => ++ordinal,
        outside: core,
        join: (participant) => {
          this.#participants.push(participant)
        },
        afterCommit: (work) => {
          this.#afterwards.push(work)
        },
        partialReads: () => this.#staged.partialReads(),
        changed: (step) => {
          this.#steps.push(step)
        },
        appends: this.#appends,
        inlineOf: (content) => this.#engines.inlineOf(content),
        busy: (removal, error) => this.#busy(removal, error),
      },
    }
    this.#reading =
      isolation === 'ReadCommitted' ? { ...this.#inner, store: this.#staged.untrackedReads() } : this.#inner
  }

  get transactionId(): string {
    return this.#transaction.id
  }

  announce(): void {
    void this.#transaction.record()
  }

  /** About how many bytes of changes and reads wait for the commit. */
  get bytes(): number {
    return this.#staged.bytes + this.#appends.bytes + this.#engines.smallBytes
  }

  run(operation: AnyOperation, request: unknown, given: OperationOptions): Promise<unknown> {
    const named = versionedTables(operation, request)
    if (named.length > 0) return this.#pin(named).then(() => this.#run(operation, request, given))
    // Others may write files at the location of a new table, and a vacuum spares these for the record.
    if (this.#isRecorded || !operation.changes || changesOfRows.has(operation.name))
      return this.#run(operation, request, given)
    return this.#transaction.record().then(() => {
      this.#isRecorded = true
      return this.#run(operation, request, given)
    })
  }

  /** Keeps all versions of tables until the end of the transaction. */
  async #pin(named: readonly Identifier[]): Promise<void> {
    const staged = this.#staged.untrackedReads()
    await this.#pins.add(
      await staged.read((reader) => named.flatMap((id) => lookUpTable(reader, id)?.id ?? [])),
    )
  }

  #run(operation: AnyOperation, request: unknown, given: OperationOptions): Promise<unknown> {
    const options = this.#progress ? { ...given, onProgress: this.#progress.of(given.onProgress) } : given
    if (isAbout(operation, request, this.#transaction.id))
      return runOperation(this.#core, operation, request, options)
    const { idempotencyKey: key } = options
    if (key === undefined || !isKeyed(operation))
      return this.#inside(operation, (core) => runOperation(core, operation, request, options))
    const once = onceInside(operation, key, this.#transaction.id)
    return this.#inOrder(key, async () => {
      this.#keepsAnswers = true
      return this.#inside(operation, (core) => runOperation(core, once, request, options))
    })
  }

  #inside(operation: AnyOperation, work: (core: OperationContext) => Promise<unknown>): Promise<unknown> {
    const core = operation.changes ? this.#inner : this.#reading
    return operation.name === 'insertIntoTable' ? work(core) : this.#appends.alone(() => work(core))
  }

  /** The error by which this run lost a race, if it did. `error` is that of an operation or of a function, if one failed. */
  async lostBy(error: unknown): Promise<unknown> {
    if (this.#staged.failure instanceof ReadsChanged) {
      this.#core.counts.lostTransactions++
      return this.#lostTo(this.#staged.failure)
    }
    if (!(error instanceof LocationBusy)) return undefined
    await this.#awaitRemoval(error)
    return error
  }

  /** Removes what waits outside of the store for a commit that failed, or that will not come. It never fails. */
  async giveUp(): Promise<void> {
    this.#engines.release()
    await Promise.allSettled(this.#participants.map((one) => one.givenUp()))
  }

  /** Commits. Returns the error of a lost race, if any. */
  async commit(): Promise<unknown> {
    const refused = (await this.#writeHeld()) ?? (await this.#prepare())
    if (refused !== undefined) return refused
    const lost = await this.#turns.atCommit(branchesOf(this.#steps), () => this.#commitInTurn())
    if (lost !== undefined) {
      this.#core.counts.lostTransactions++
      return lost
    }
    this.#turns.end(branchesOf(this.#steps))
    this.#engines.release()
    await this.#committed()
    return undefined
  }

  /** Notes where this run lost a race. The next run is as likely to lose at the branches that this one changes. */
  #lostTo(error: ReadsChanged): ReadsChanged {
    const { key, value } = error.changed ?? { key: [] }
    const branch = branchOf(key, value)
    if (branch !== undefined) this.#turns.lose([branch, ...branchesOf(this.#steps)])
    return error
  }

  /** Writes the rows of inserts that are held. Returns the error of a lost race, if any. */
  async #writeHeld(): Promise<unknown> {
    try {
      await this.#appends.flush()
    } catch (error) {
      const lost = await this.lostBy(error)
      if (lost === undefined) throw error
      return lost
    }
    // An earlier operation could not write the rows of an answered insert.
    if (this.#staged.failure) throw this.#staged.failure
    return undefined
  }

  /** Prepares the participants of the commit. Returns the error of a lost race, if any. */
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
      await this.#engines.sync()
      this.#signal.throwIfAborted()
      let moved: ReadonlySet<string> = new Set()
      try {
        const isCommitted = await this.#transaction.commit(({ writer, now }) => {
          this.#pins.remove(writer)
          // Each read compared the reads before it, so nothing is left to compare.
          if (staged.isUnchanged) return true
          moved = staged.check(writer)
          if (moved.size > 0) return undefined
          const isOwn = (id: string) => staged.hasChanged(keys.stagedChange(id))
          staged.apply(writer, (key, value) => madeAtCommit(key, value, isOwn, now))
          this.#engines.record(
            writer,
            this.#steps.map(({ manifest }) => manifest),
          )
          return true
        })
        if (isCommitted) return undefined
      } catch (error) {
        if (error instanceof ReadsChanged) return this.#lostTo(error)
        throw error
      }
      const mayRebase = !this.#keepsAnswers && rebases < maxRebases
      const lost = mayRebase ? await this.#rebase(moved) : new ReadsChanged()
      if (lost !== undefined) {
        this.#turns.lose(branchesOf(this.#steps))
        return lost
      }
      if (rebases > 0) await pause(Math.random() * Math.min(rebases, 20), this.#signal)
    }
  }

  /** Rebases changes of rows onto what others committed. Returns the error of a failed rebase, if any. */
  async #rebase(moved: ReadonlySet<string>): Promise<unknown> {
    this.#staged.forget(moved)
    const core: OperationContext = { ...this.#inner, store: this.#staged.partialReads().store }
    const steps = this.#steps.filter(({ found }) => moved.has(found.table.id))
    this.#core.counts.lostRows += steps.length
    try {
      await rebase(core, steps, { signal: this.#signal })
      return undefined
    } catch (error) {
      this.#signal.throwIfAborted()
      // The function meets the cause itself when it runs again.
      if (error instanceof CatalogError) return error
      throw error
    }
  }

  /** Runs what was deferred to the commit. The transaction has succeeded by then, so a failure here is no error. */
  async #afterCommit(): Promise<void> {
    const waits: unknown[] = []
    for (const work of this.#afterwards) {
      try {
        const done = work()
        if (done !== undefined) waits.push(done)
      } catch {}
    }
    await Promise.allSettled(waits)
    for (const { change, version } of this.#steps) this.#core.background?.changed(change, version)
  }

  #busy(removal: RemovalRecord, error: Error): Error {
    if (!this.#staged.hasChanged(keys.location(segmentsOf(removal.removing)))) return error
    return invalid(
      `The content at ${removal.removing} belongs to a table that this transaction drops, and is removed after the commit. Use the location in a later transaction.`,
    )
  }

  /** Waits until the content of a dropped table is removed from a location. */
  async #awaitRemoval({ removal: { removing }, location }: LocationBusy): Promise<void> {
    const key = keys.location(segmentsOf(removing))
    const removal = await this.#core.store.read((reader) => reader.get<string | RemovalRecord>(key))
    if (typeof removal === 'object') await awaitRemoval(this.#core, { removal, location })
  }
}

/** The branches that steps change, in order, as turns are taken at them. */
function branchesOf(steps: readonly RowsStep[]): string[] {
  return [...new Set(steps.map(({ found, change }) => `${found.table.id}/${change.branch}`))].sort()
}

/** Adds up the progress of the operations of a run. */
class RunProgress {
  readonly #id: string
  readonly #report: NonNullable<OperationOptions['onProgress']>
  #rows = 0
  #total = 0

  constructor(id: string, report: NonNullable<OperationOptions['onProgress']>) {
    this.#id = id
    this.#report = report
  }

  /** The listener of one operation, whose caller may listen, too. */
  of(own: OperationOptions['onProgress']): NonNullable<OperationOptions['onProgress']> {
    let rows = 0
    let total = 0
    return (progress) => {
      this.#rows += progress.rows - rows
      this.#total += progress.total - total
      rows = progress.rows
      total = progress.total
      own?.(progress)
      this.#report({ transaction_id: this.#id, rows: this.#rows, total: this.#total })
    }
  }
}
