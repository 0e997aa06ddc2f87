import type { Core } from '../catalog/core.ts'
import { keys, type TransactionRecord } from '../store/records.ts'
import type { Key, Writer } from '../store/store.ts'
import { isFinished, statusOf } from './transaction-record.ts'

/*
 * Old transaction records are cleared now and then. Counting them would cost time that grows with their
 * number, so every so many changes a process leaves a mark that stands for them; what lies before enough
 * marks is more than is kept.
 */

/** How many changes a mark stands for: a hundredth of what is kept. */
export function markInterval(transactionCount: number): number {
  return Math.min(1_000, Math.max(1, Math.floor(transactionCount / 100)))
}

/** Called after every change; never makes the change wait, or fail. */
export function afterChange(core: Core, transactionId: string): void {
  const interval = markInterval(core.settings.transactionCount)
  if (++core.changes.count % interval !== 0) return
  core.store.write((writer) => clearTransactions(core, writer, transactionId, interval)).catch(() => {})
}

const clearAtMost = 5_000

function clearTransactions(core: Core, writer: Writer, newest: string, interval: number): void {
  writer.put(keys.mark(newest), interval)
  const beyond = oldestKept(writer, core.settings.transactionCount)
  const now = core.now()
  const horizon = now - core.settings.transactionAge
  const gone: Key[] = []
  for (const { key, value } of writer.range<TransactionRecord>({
    prefix: keys.transactions,
    limit: clearAtMost,
  })) {
    const surplus = beyond !== undefined && String(key[1]) <= beyond
    if (!surplus && value.created_at >= horizon) break
    if (isFinished(statusOf(value, now))) gone.push(key)
  }
  for (const key of gone) writer.remove(key)
}

/** The id at and before which records are more than are kept; clears the marks that are of no use any more. */
function oldestKept(writer: Writer, transactionCount: number): string | undefined {
  let since = 0
  let beyond: string | undefined
  const useless: Key[] = []
  for (const { key, value } of writer.range<number>({ prefix: keys.marks, reverse: true })) {
    if (beyond !== undefined) useless.push(key)
    else if (since >= transactionCount) beyond = String(key[1])
    since += value
  }
  for (const key of useless) writer.remove(key)
  return beyond
}
