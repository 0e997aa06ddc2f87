import type { Core } from '../catalog/core.ts'
import { keys, type TransactionRecord } from '../store/records.ts'
import type { Key, Writer } from '../store/store.ts'
import { isFinished, statusOf } from './transaction-record.ts'

/*
 * Old transaction records are removed after every so many changes. Counting all records would take longer the more
 * there are. So a process writes a mark after a fixed number of changes, and the marks are counted instead. Records
 * older than enough marks are removed.
 */

/** How many changes a mark stands for: a hundredth of the number of records to keep. */
export function markInterval(transactionCount: number): number {
  return Math.min(1_000, Math.max(1, Math.floor(transactionCount / 100)))
}

/** Called after every change. The change never waits for the removal of old records, nor fails with it. */
export function afterChange(core: Core, transactionId: string): void {
  if (core.staging) {
    core.staging.afterCommit((outside) => afterChange(outside, transactionId))
    return
  }
  const interval = markInterval(core.settings.transactionCount)
  if (++core.changes.count % interval !== 0) return
  core.store.write((writer) => removeOldRecords(core, writer, transactionId, interval)).catch(() => {})
}

/** Records removed in one transaction at most. */
const maxRemoved = 5_000

function removeOldRecords(core: Core, writer: Writer, newest: string, interval: number): void {
  writer.put(keys.mark(newest), interval)
  const surplusEnd = newestSurplus(writer, core.settings.transactionCount)
  const now = core.now()
  const horizon = now - core.settings.transactionAge
  const gone: Key[] = []
  for (const { key, value } of writer.range<TransactionRecord>({
    prefix: keys.transactions,
    limit: maxRemoved,
  })) {
    const surplus = surplusEnd !== undefined && String(key[1]) <= surplusEnd
    if (!surplus && value.created_at >= horizon) break
    if (isFinished(statusOf(value, now))) gone.push(key)
  }
  for (const key of gone) writer.remove(key)
}

/** The newest id of the records that are too many. Also removes the marks that are no longer needed. */
function newestSurplus(writer: Writer, transactionCount: number): string | undefined {
  let counted = 0
  let surplusEnd: string | undefined
  const unneeded: Key[] = []
  for (const { key, value } of writer.range<number>({ prefix: keys.marks, reverse: true })) {
    if (surplusEnd !== undefined) unneeded.push(key)
    else if (counted >= transactionCount) surplusEnd = String(key[1])
    counted += value
  }
  for (const key of unneeded) writer.remove(key)
  return surplusEnd
}
