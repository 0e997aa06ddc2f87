import { keys, type TransactionRecord } from '../store/records.ts'
import type { Reader, Writer } from '../store/store.ts'
import { isFinished, lapsedMessage, statusOf } from './transaction-record.ts'

/*
 * A lease is a time on a clock, and clocks step. So a process that acts on the end of a lease records it first. The
 * commit of that work is refused from then on, also when the clock goes back.
 */

/** The transactions in the store at one moment, by their ids. */
export interface KnownTransactions {
  readonly unfinished: readonly string[]
  readonly finished: ReadonlySet<string>
}

export function knownTransactions(reader: Reader): KnownTransactions {
  const unfinished: string[] = []
  const finished = new Set<string>()
  for (const { key, value } of reader.range<TransactionRecord>({ prefix: keys.transactions })) {
    const id = String(key[1])
    if (isFinished(value.status)) finished.add(id)
    else unfinished.push(id)
  }
  return { unfinished, finished }
}

/** Of these transactions, those whose lease has ended. */
export function lapsedOf(reader: Reader, ids: readonly string[], now: number): string[] {
  return ids.filter((id) => {
    const record = reader.get<TransactionRecord>(keys.transaction(id))
    return record !== undefined && !isFinished(record.status) && isFinished(statusOf(record, now))
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
      finished_at: now,
      failure: { code: 'ServiceUnavailable', message: lapsedMessage },
    })
  }
  return lapsed
}
