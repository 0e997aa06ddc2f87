import type { Core } from '../catalog/core.ts'
import { type FeedRecord, keys, type TransactionRecord } from '../store/records.ts'
import type { Entry, Key, Reader } from '../store/store.ts'
import { lapsedOf } from './lapsed.ts'
import { isFinished, statusOf } from './transaction-record.ts'
import type { UpkeepTurn } from './upkeep.ts'

/*
 * Old transaction records are removed after every so many changes. Counting all records would take longer the more
 * there are. So a process writes a mark after a fixed number of changes, and the marks are counted instead. Records
 * older than enough marks are removed.
 */

/** How many changes a mark stands for: a hundredth of the number of records to keep. */
export function markInterval(transactionCount: number): number {
  return Math.min(1_000, Math.max(1, Math.floor(transactionCount / 100)))
}

/** Called after every change. The change never waits for the upkeep, nor fails with it. */
export function afterChange(core: Core, transactionId: string): void {
  if (core.staging) {
    core.staging.afterCommit((outside) => afterChange(outside, transactionId))
    return
  }
  core.feed.wake()
  const interval = markInterval(core.settings.transactionCount)
  if (++core.upkeep.changes % interval !== 0) return
  core.store.write((writer) => writer.put(keys.mark(transactionId), interval)).catch(() => {})
  core.upkeep.begin(core)
}

/** Records that are looked at and removed at once: few, since changes of users may share a commit with them. */
const inOneStep = 250

/** Records looked at in one turn at most. */
const inOneTurn = 5_000

/**
 * Removes old records in small steps. What is removed was read before, and not in the same transaction: a finished
 * transaction stays finished. So no other change conflicts with this one.
 */
export async function clearTransactions(core: Core, { signal, gently }: UpkeepTurn): Promise<void> {
  const { surplusEnd, unneeded } = await core.store.read((reader) =>
    surplus(reader, core.settings.transactionCount),
  )
  let marks = unneeded
  let start: Key | undefined
  for (let left = inOneTurn; left > 0; left -= inOneStep) {
    signal.throwIfAborted()
    const range = { prefix: keys.transactions, limit: inOneStep, ...(start && { start }) }
    const entries = await core.store.read((reader) => [...reader.range<TransactionRecord>(range)])
    const now = core.now()
    const horizon = now - core.settings.transactionAge
    const isOld = ({ key, value }: Entry<TransactionRecord>) =>
      value.created_at < horizon || (surplusEnd !== undefined && String(key[1]) <= surplusEnd)
    const firstKept = entries.findIndex((entry) => !isOld(entry))
    const old = firstKept === -1 ? entries : entries.slice(0, firstKept)
    const finished = old.filter(({ value }) => isFinished(value.status))
    const lapsed = old.filter(({ value }) => !isFinished(value.status) && isFinished(statusOf(value, now)))
    if (finished.length + lapsed.length + marks.length > 0) {
      await gently(() =>
        core.store.write((writer) => {
          for (const { key } of finished) writer.remove(key)
          // Their processes may live, and renew their leases.
          const ids = lapsed.map(({ key }) => String(key[1]))
          for (const id of lapsedOf(writer, ids, core.now())) writer.remove(keys.transaction(id))
          for (const key of marks) writer.remove(key)
        }),
      )
      marks = []
    }
    if (firstKept !== -1 || entries.length < inOneStep) return
    start = entries.at(-1)!.key
  }
}

/** The newest id of the records that are too many, and the marks that are no longer needed. */
function surplus(reader: Reader, transactionCount: number): { surplusEnd?: string; unneeded: Key[] } {
  let counted = 0
  let surplusEnd: string | undefined
  const unneeded: Key[] = []
  for (const { key, value } of reader.range<number>({ prefix: keys.marks, reverse: true })) {
    if (surplusEnd !== undefined) unneeded.push(key)
    else if (counted >= transactionCount) surplusEnd = String(key[1])
    counted += value
  }
  return { ...(surplusEnd !== undefined && { surplusEnd }), unneeded }
}

/**
 * Removes old entries of the feed in small steps, as old as transaction records may become, or too many. The last one
 * stays: the next one is numbered after it.
 */
export async function clearFeed(core: Core, { signal, gently }: UpkeepTurn): Promise<void> {
  const { transactionAge, transactionCount } = core.settings
  for (let left = inOneTurn; left > 0; left -= inOneStep) {
    signal.throwIfAborted()
    const { entries, last } = await core.store.read((reader) => ({
      entries: [...reader.range<FeedRecord>({ prefix: keys.feed, limit: inOneStep })],
      last: [...reader.range({ prefix: keys.feed, reverse: true, limit: 1, keysOnly: true })].at(0)?.key,
    }))
    if (last === undefined) return
    const horizon = core.now() - transactionAge
    const isOld = ({ key, value }: Entry<FeedRecord>) =>
      key[1] !== last[1] && (value.time < horizon || Number(key[1]) <= Number(last[1]) - transactionCount)
    const firstKept = entries.findIndex((entry) => !isOld(entry))
    const old = firstKept === -1 ? entries : entries.slice(0, firstKept)
    if (old.length > 0) {
      await gently(() =>
        core.store.write((writer) => {
          for (const { key, value } of old) {
            writer.remove(key)
            for (let part = 0; part < (value.parts ?? 0); part++)
              writer.remove(keys.feedPart(value.transaction, part))
          }
        }),
      )
    }
    if (firstKept !== -1) return
  }
}
