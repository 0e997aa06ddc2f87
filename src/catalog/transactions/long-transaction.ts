import { CatalogError, noteTransaction } from '../../base/errors.ts'
import type { Identifier } from '../../base/model/identifier.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import { keys, type TransactionRecord, type TransactionStatus } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'
import { withMembers } from '../../base/with-members.ts'
import type { WorkOptions } from '../../engine/table/index.ts'
import { afterChange, type ChangeContext, type RecordedChange, recordChange } from './commit.ts'
import type { CommitContext, LongWorkContext, LongWorkOptions } from './context.ts'
import type { Holding } from './heartbeat.ts'
import { failLapsed } from './lapsed.ts'
import { NotingWriter } from './noting-writer.ts'
import { recordedFirst, TargetReplaced } from './retry.ts'
import { hasLapsed, isFinished } from './transaction-record.ts'
import { type VacuumsBefore, WorkRecord } from './work-record.ts'

/** A transaction whose record says Queued, then Running, while rows are read and written. */
export interface LongTransaction {
  readonly id: string
  /** Resolves when the record is durable, if one is written before the commit, and rejects when it cannot be. */
  readonly recorded: Promise<unknown>
  /** Whether a record was written before the commit. */
  readonly hasRecord: boolean
  /** Writes the record now, unless it is written. Resolves when it is durable. */
  record(): Promise<void>
  /** Frees the slot for other work: this one has written what it commits, and only waits from now on. */
  releaseSlot(): void
  /**
   * Commits, and records success, in one store transaction. When `body` returns undefined, nothing is committed and the
   * transaction goes on. Fails when the transaction was canceled, or when its lease ended so that it counts as failed.
   */
  commit<T>(body: (change: ChangeContext) => T | undefined): Promise<T | undefined>
}

/** The operation of a long transaction, and the table it changes. */
export interface LongWork {
  readonly operation: string
  readonly subject: Identifier
  /** The table's internal id. For a new table, the commit sets it instead. */
  readonly subjectId?: string
  /** Whether it counts among the work on rows that may run at once. Default: true. */
  readonly takesSlot?: boolean
  /**
   * How many vacuums had begun, read before the work. With it, quick work is recorded by its commit alone, unless a
   * progress listener is set.
   */
  readonly vacuums?: VacuumsBefore | undefined
  /** Further members of its record. */
  readonly more?: Pick<Partial<TransactionRecord>, 'properties' | 'session'>
  /** Further members of its record when it fails. */
  readonly atFailure?: () => Pick<TransactionRecord, 'lost'>
  /**
   * Called with the error when the outcome could not be recorded. The work then counts as failed once its lease ends.
   */
  readonly onUnrecorded?: (error: unknown) => void
}

/**
 * Runs long work as a transaction. Meanwhile any process can describe and cancel its record. When the work fails,
 * is stopped or is canceled, the record says so and nothing was committed.
 */
export async function runLong<T>(
  core: LongWorkContext,
  options: LongWorkOptions,
  about: LongWork,
  work: (transaction: LongTransaction, options: WorkOptions) => Promise<T>,
): Promise<T> {
  options.signal?.throwIfAborted()
  const { operation, subject, subjectId, takesSlot = true, more } = about
  const vacuums = options[recordedFirst] ? undefined : about.vacuums
  const id = core.newId()
  const stop = new AbortController()
  const signal = anySignal(options.signal, stop.signal)
  const enter = takesSlot ? core.slots.acquire(signal) : undefined
  let entered = takesSlot && enter === undefined
  let holding: Holding<TransactionRecord> | undefined
  let hasEnded = false
  const description = {
    operation,
    subject: [...subject],
    ...(subjectId !== undefined && { subject_id: subjectId }),
    created_at: core.now(),
    properties: {},
    ...more,
  }
  const record = new WorkRecord(core, id, description, {
    isQueued: enter !== undefined,
    // A progress listener learns the transaction's id, and may describe or cancel it at once.
    vacuums: options.onProgress ? undefined : vacuums,
    onWritten: () => {
      if (hasEnded) return
      holding = holdingOf(core, id, stop)
      core.heartbeat.hold(holding)
    },
    // Nothing awaits the record before the commit. Work without a record could not commit, so it stops at once.
    onFailed: (error) => stop.abort(error),
  })
  core.running.set(id, {
    stop: () => stop.abort(canceled(id)),
    get recorded() {
      return record.written
    },
  })
  // Only transactions over several operations take no slot.
  const opened = takesSlot ? 0 : 1
  core.counts.openTransactions += opened
  const releaseSlot = () => {
    if (entered) core.slots.release()
    entered = false
  }
  const commit: LongTransaction['commit'] = (body) =>
    record.written
      ? record.written.then(() => finish(core, id, body))
      : record.whileCommitting(() => finishAtOnce(core, record, body))
  try {
    if (enter) {
      await enter
      entered = true
      record.begin((change) => update(core, id, change))
    }
    // Recorded before anything is written: a vacuum removes objects of work without a record. Inside of a transaction,
    // that one is recorded already. The caller of a session gets its id only once it is recorded.
    const isFirst = vacuums === undefined && core.staging === undefined && more?.session === undefined
    if (isFirst || options.onProgress) await record.written
    options.onProgress?.({ transaction_id: id, rows: 0, total: 0 })
    const transaction: LongTransaction = {
      id,
      get recorded() {
        return record.written ?? Promise.resolve()
      },
      get hasRecord() {
        return record.written !== undefined
      },
      record: () => record.write(),
      releaseSlot,
      commit,
    }
    const result = await work(transaction, {
      signal,
      onProgress: ({ rowsDone, rowsTotal }) =>
        options.onProgress?.({ transaction_id: id, rows: rowsDone, total: rowsTotal }),
    })
    if (core.staging === undefined) core.counts.commits++
    await afterChange(core, id)
    return result
  } catch (error) {
    record.end()
    // The reason of an abort belongs to the caller, so it is left as it is.
    const isRecorded = await fail(core, record, error, options.signal, about)
    if (isRecorded && error !== options.signal?.reason) noteTransaction(error, id)
    throw error
  } finally {
    hasEnded = true
    record.end()
    if (holding) core.heartbeat.release(holding)
    core.running.delete(id)
    core.counts.openTransactions -= opened
    releaseSlot()
  }
}

function finish<T>(
  core: LongWorkContext,
  id: string,
  body: (change: ChangeContext) => T | undefined,
): Promise<T | undefined> {
  const at = core.staging?.nextOrdinal()
  return core.store.write((writer) => {
    const now = core.now()
    const current = writer.get<TransactionRecord>(keys.transaction(id))
    const status = current && outcomeAt(current, now)
    if (status !== 'Running') throw refused(id, status)
    const { lease_until: _, ...rest } = current!
    return succeed(core, writer, rest, { transactionId: id, now, at }, body)
  })
}

/** Commits work that has no record yet. */
function finishAtOnce<T>(
  core: LongWorkContext,
  record: WorkRecord,
  body: (change: ChangeContext) => T | undefined,
): Promise<T | undefined> {
  const at = core.staging?.nextOrdinal()
  return core.store.write((writer) => {
    record.requireNoVacuum(writer)
    const identity = { transactionId: record.id, now: core.now(), at }
    return succeed(core, writer, record.as('Running'), identity, body)
  })
}

/** Runs the body of a commit, and records success and what was changed, unless the body returns undefined. */
export function succeed<T>(
  core: CommitContext,
  writer: Writer,
  current: TransactionRecord,
  { transactionId, now, at }: Pick<RecordedChange, 'transactionId' | 'now' | 'at'>,
  body: (change: ChangeContext) => T | undefined,
): T | undefined {
  const { operation, subject } = current
  const noted = new NotingWriter(writer)
  const result = body({ writer: noted, noted, transactionId, now })
  if (result === undefined) return undefined
  const { subjectId = current.subject_id } = noted
  const change = { transactionId, now, operation, subject, subjectId, at }
  const changes = recordChange(core, writer, change, noted)
  // A change of many subjects has no single one.
  const single = subjectId !== undefined && subject.length > 0 ? { subject_id: subjectId } : undefined
  const ended = { status: 'Succeeded', finished_at: now, ...single, ...changes }
  writer.put(keys.transaction(transactionId), withMembers(current, ended))
  return result
}

/** Holds the record of work under way. The work stops when it can no longer commit: canceled, or its lease ended. */
function holdingOf(core: LongWorkContext, id: string, stop: AbortController): Holding<TransactionRecord> {
  return {
    key: keys.transaction(id),
    leaseOf: (record, now) => (isFinished(outcomeAt(record, now)) ? undefined : record.lease_until),
    renewed: (record, until) => ({ ...record, lease_until: until }),
    lost: (record) => stop.abort(refused(id, record && outcomeAt(record, core.now()))),
  }
}

/** The status as its own process assumes it. Others see a lapse only once it is recorded. */
function outcomeAt(record: TransactionRecord, now: number): TransactionStatus {
  return hasLapsed(record, now) ? 'Failed' : record.status
}

/** Records that work failed. Resolves to whether a record of it exists. */
async function fail(
  core: LongWorkContext,
  record: WorkRecord,
  error: unknown,
  signal: AbortSignal | undefined,
  { atFailure, onUnrecorded }: LongWork,
): Promise<boolean> {
  // The operation begins anew, and nobody knows of this attempt.
  if (record.written === undefined && error instanceof TargetReplaced) return false
  const aborted = signal?.aborted === true && error === signal.reason
  const failed = ({ lease_until: _, ...current }: TransactionRecord): TransactionRecord => ({
    ...current,
    status: aborted ? 'Canceled' : 'Failed',
    finished_at: core.now(),
    ...(aborted ? {} : { failure: describe(error), ...atFailure?.() }),
  })
  const succeeds = (work: Promise<unknown>) =>
    work.then(
      () => true,
      (cause) => {
        onUnrecorded?.(cause)
        return false
      },
    )
  if (record.written === undefined) {
    const failure = failed(record.as('Running'))
    const key = keys.transaction(record.id)
    // A commit whose answer was lost may have recorded success.
    return succeeds(core.store.write((writer) => writer.get(key) ?? writer.put(key, failure)))
  }
  const isRecorded = await succeeds(record.written)
  if (isRecorded) await succeeds(update(core, record.id, failed))
  return isRecorded
}

/** Changes the record unless it is finished. If its lease has ended, records that instead. */
function update(
  core: LongWorkContext,
  id: string,
  change: (current: TransactionRecord) => TransactionRecord,
): Promise<void> {
  return core.store.write((writer) => {
    const current = writer.get<TransactionRecord>(keys.transaction(id))
    if (current === undefined || isFinished(current.status)) return
    if (failLapsed(writer, [id], core.now()).length === 0) writer.put(keys.transaction(id), change(current))
  })
}

function describe(error: unknown): NonNullable<TransactionRecord['failure']> {
  if (error instanceof CatalogError) return { code: error.code, message: error.message.slice(0, 2_000) }
  return { code: 'Internal', message: 'An unexpected error.' }
}

export function canceled(id: string): CatalogError {
  return new CatalogError(
    'ConcurrentModification',
    `The transaction ${id} was canceled, so nothing of it was committed. Start the operation again if you still want it.`,
  )
}

function refused(id: string, status: TransactionStatus | undefined): CatalogError {
  if (status === undefined || status === 'Canceled') return canceled(id)
  return new CatalogError(
    'ConcurrentModification',
    `The transaction ${id} is ${status} and can no longer commit. Start the operation again.`,
  )
}
