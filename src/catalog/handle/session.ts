import { invalid, noteTransaction } from '../../base/errors.ts'
import type { LostRaces } from '../../base/store/records.ts'
import type {
  AnyOperation,
  OperationContext,
  OperationOptions,
  SessionOwner,
} from '../operations/framework/operation.ts'
import { canceled, type LongTransaction } from '../transactions/long-transaction.ts'
import { lostRace } from './session-errors.ts'
import { type RunOptions, TransactionRun } from './transaction-run.ts'
import { TransactionTurns } from './transaction-turns.ts'
import type { TurnShare } from './turn-shares.ts'
import { UnderWay } from './under-way.ts'

export interface SessionStart extends Pick<RunOptions, 'isolation' | 'requireRoom'> {
  readonly core: OperationContext
  readonly transaction: LongTransaction
  readonly owner: SessionOwner
  /** How long it may go without a request, in milliseconds. */
  readonly idle: number
  /** The lost races of the transactions that it retries. */
  readonly before: LostRaces | undefined
  /** How long its caller may keep turns. */
  readonly share: TurnShare | undefined
  /** Stops it as a whole: when it is canceled, or its lease is lost. */
  readonly signal: AbortSignal
  /** Cancels it. */
  readonly stop: AbortController
}

/** A transaction whose operations come one by one, until it is committed or rolled back. */
export class Session {
  readonly id: string
  readonly owner: SessionOwner
  /** How long it may go without a request, in milliseconds. */
  readonly idle: number
  /** Resolves with the commit, and rejects when the session ends without one. */
  readonly ended: Promise<void>
  /** Resolves when the record says how the session ended. */
  recorded: Promise<unknown> = Promise.resolve()
  /** The error if the record of how the session ended could not be written. */
  unrecorded: unknown
  readonly #now: () => number
  readonly #run: TransactionRun
  readonly #turns: TransactionTurns
  readonly #underWay: UnderWay
  readonly #stop: AbortController
  #settle!: { readonly resolve: () => void; readonly reject: (error: unknown) => void }
  #hasEnded = false
  #isLost = false
  #committing: Promise<void> | undefined
  #lastUsed: number

  constructor({
    core,
    transaction,
    owner,
    idle,
    isolation,
    before,
    share,
    signal,
    stop,
    requireRoom,
  }: SessionStart) {
    this.id = transaction.id
    this.owner = owner
    this.#now = core.now
    this.idle = idle
    this.#lastUsed = core.now()
    this.#turns = new TransactionTurns(core, signal, { before, share })
    this.#run = new TransactionRun(core, transaction, signal, { isolation, requireRoom, turns: this.#turns })
    this.#underWay = new UnderWay(signal)
    this.#stop = stop
    this.ended = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
    const onAbort = () => this.#end(signal.reason)
    signal.addEventListener('abort', onAbort)
    // Node keeps a composite signal for as long as it has listeners. Callers that await the end get a rejection
    // themselves.
    const stopListening = () => signal.removeEventListener('abort', onAbort)
    this.ended.then(stopListening, stopListening)
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Its lost races, if one of them ended it. */
  get lost(): LostRaces | undefined {
    return this.#isLost ? this.#turns.lost : undefined
  }

  /** About how many bytes it holds. */
  get bytes(): number {
    return this.#run.bytes
  }

  /** How much longer it may go without a request, in milliseconds; not positive once that was too long. */
  get left(): number {
    const isBusy = this.#committing !== undefined || !this.#underWay.isEmpty
    return isBusy ? this.idle : this.#lastUsed + this.idle - this.#now()
  }

  /**
   * Takes the turns that follow from the lost races before it, or goes on without them. Rejects when the session ends
   * meanwhile, as it does when its caller goes away.
   */
  async takeTurns(caller: AbortSignal | undefined): Promise<void> {
    const cancel = () => void this.cancel()
    if (caller?.aborted) cancel()
    caller?.addEventListener('abort', cancel, { once: true })
    try {
      await Promise.race([this.#turns.beforeRun(), this.ended])
    } finally {
      caller?.removeEventListener('abort', cancel)
    }
    this.#lastUsed = this.#now()
  }

  async run(operation: AnyOperation, request: unknown, options: OperationOptions): Promise<unknown> {
    if (this.#committing) throw beingCommitted(this.id, operation.name)
    const { transaction: _, ...given } = options
    try {
      return await this.#underWay.run(operation.name, given, (inside) =>
        this.#run.run(operation, request, inside),
      )
    } catch (error) {
      const lost = this.#hasEnded ? undefined : await this.#run.lostBy(error)
      if (lost === undefined) throw error
      const failure = this.#lose(lost)
      await this.giveUp(failure)
      // The caller may retry it as soon as the error arrives.
      await this.recorded
      throw failure
    } finally {
      this.#lastUsed = this.#now()
    }
  }

  /** Commits. Asked again meanwhile, it waits for the same commit. When it fails, the session has ended. */
  commit(): Promise<void> {
    if (this.#committing) return this.#committing
    this.#lastUsed = this.#now()
    if (!this.#underWay.isEmpty) return Promise.reject(stillRunning(this.id, this.#underWay.names))
    this.#committing = this.#commit()
    this.#committing.catch(() => {})
    return this.#committing
  }

  /** Ends it with an error, unless it is committed, and waits for what is under way. */
  async giveUp(error: Error): Promise<void> {
    // A commit that the store has can no longer be revoked.
    await this.#committing?.catch(() => {})
    this.#end(error)
    await this.#underWay.stop(error)
  }

  /** As {@link giveUp}, at the caller's request. */
  async cancel(): Promise<void> {
    await this.#committing?.catch(() => {})
    if (!this.#hasEnded) this.#stop.abort(canceled(this.id))
    await this.#underWay.stop(canceled(this.id))
  }

  /** Removes what it held, after it has ended without a commit. */
  async letGo(error: Error): Promise<void> {
    // A commit under way may need it, even if the lease has ended meanwhile.
    await this.#committing?.catch(() => {})
    await this.#underWay.stop(error)
    await this.#run.giveUp()
  }

  async #commit(): Promise<void> {
    try {
      const lost = (await this.#run.lostBy(undefined)) ?? (await this.#run.commit())
      if (lost !== undefined) throw this.#lose(lost)
    } catch (error) {
      this.#end(error)
      throw error
    }
    this.#hasEnded = true
    this.#settle.resolve()
  }

  #lose(cause: unknown): Error {
    this.#isLost = true
    return lostRace(this.id, cause)
  }

  #end(error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#turns.end()
    noteTransaction(error, this.id)
    this.#settle.reject(error)
  }
}

function beingCommitted(id: string, operation: string): Error {
  return invalid(
    `${operation} came while the transaction ${id} is being committed. Wait for the answers of all operations before the commit.`,
  )
}

function stillRunning(id: string, names: readonly string[]): Error {
  return invalid(
    `In the transaction ${id}, ${names.join(', ')} is still running. Wait for the answer, then commit again.`,
  )
}
