import { keys, type TransactionRecord } from '../../base/store/records.ts'
import type { Reader, Writer } from '../../base/store/store.ts'
import type { CommitContext } from './context.ts'
import { hasLapsed, isFinished, lapsedMessage } from './transaction-record.ts'

/*
 * A lease ends at a time on a clock. Clocks step, and a commit may be under way for longer than the lease lasts. So no
 * answer and no action follows from the clock alone: the end of a lease is recorded first. Every commit compares the
 * record of its transaction. So the store orders the two, and refuses a commit that comes later.
 */

/** The transactions that have not ended, by their ids. */
export function unfinishedTransactions(reader: Reader): Map<string, TransactionRecord> {
  const unfinished = new Map<string, TransactionRecord>()
  for (const { key, value } of reader.range<TransactionRecord>({ prefix: keys.transactions })) {
    if (!isFinished(value.status)) unfinished.set(String(key[1]), value)
  }
  return unfinished
}

/** Of these transactions, those whose lease has ended. */
export function lapsedOf(reader: Reader, ids: readonly string[], now: number): string[] {
  return ids.filter((id) => {
    const record = reader.get<TransactionRecord>(keys.transaction(id))
    return record !== undefined && hasLapsed(record, now)
  })
}

/** Records transactions as Failed whose lease has ended, and returns them. */
export function failLapsed(writer: Writer, ids: readonly string[], now: number): string[] {
  const lapsed = lapsedOf(writer, ids, now)
  for (const id of lapsed) {
    const { lease_until: _, ...record } = writer.get<TransactionRecord>(keys.transaction(id))!
    writer.put(keys.transaction(id), {
      ...record,
      status: 'Failed',
      // Its commit was possible until now.
      finished_at: now,
      failure: { code: 'ServiceUnavailable', message: lapsedMessage },
    })
  }
  return lapsed
}

/** The most lapses that are recorded at once: few, since changes of users may share a commit with them. */
const inOneStep = 250

/** Records which of these transactions have lapsed. One that was committed meanwhile stays so. */
export async function recordLapses({ store, now }: CommitContext, ids: readonly string[]): Promise<void> {
  for (let from = 0; from < ids.length; from += inOneStep) {
    const some = ids.slice(from, from + inOneStep)
    await store.write((writer) => {
      failLapsed(writer, some, now())
    })
  }
}

/** Thrown by reads that would report transactions whose lapse is not recorded. */
export class LapsesToRecord extends Error {
  readonly ids: readonly string[]
  constructor(ids: readonly string[]) {
    super('Leases of transactions have ended, which must be recorded first.')
    this.ids = ids
  }
}

/**
 * Reads transactions after their lapses are recorded. When `hasEnded` says that a lease has ended, `read` throws {@link
 * LapsesToRecord}, and runs again once that is recorded. A catalog that cannot write reports them as recorded, such as
 * Running: their commit may still come. So does a transaction, which reads one snapshot.
 */
export async function withRecordedLapses<T>(
  core: CommitContext,
  read: (hasEnded: (record: TransactionRecord) => boolean) => Promise<T>,
): Promise<T> {
  if (core.settings.readOnly || core.staging) return read(() => false)
  try {
    return await read((record) => hasLapsed(record, core.now()))
  } catch (error) {
    if (!(error instanceof LapsesToRecord)) throw error
    // A process that may only read, or whose disk is full, reports what is recorded.
    await recordLapses(core, error.ids).catch(() => {})
  }
  return read(() => false)
}
