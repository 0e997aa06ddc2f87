import { randomUUID } from 'node:crypto'
import { CatalogError } from '../../base/errors.ts'
import { keys, recordFormat, type TaskRecord } from '../../base/store/records.ts'
import type { Store } from '../../base/store/store.ts'
import type { Heartbeat, Holding } from './heartbeat.ts'
import { leaseMillis } from './transaction-record.ts'

/** What leases need of their catalog. */
export interface LeaseContext {
  readonly store: Store
  readonly now: () => number
  readonly heartbeat: Heartbeat
}

/**
 * Runs a task that only one process of the catalog does at a time. Resolves to undefined at once when another process
 * holds the task. A dead process is replaced when its lease has ended. `signal` is aborted when this process loses its
 * lease.
 */
export async function runLeased<T>(
  core: LeaseContext,
  task: readonly string[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly result: T } | undefined> {
  const key = keys.task(task)
  const holder = randomUUID()
  const isTaken = await core.store.write((writer) => {
    const now = core.now()
    const other = writer.get<TaskRecord>(key)
    if (other !== undefined && other.until >= now) return true
    writer.put(key, { v: recordFormat, holder, until: now + leaseMillis })
    return false
  })
  if (isTaken) return undefined
  const lost = new AbortController()
  const holding: Holding<TaskRecord> = {
    key,
    leaseOf: (record, now) => (record.holder === holder && record.until >= now ? record.until : undefined),
    renewed: (record, until) => ({ ...record, until }),
    lost: () =>
      lost.abort(
        new CatalogError(
          'ConcurrentModification',
          `The lease of the task ${task.join(' ')} ended, and another process may be at it. Nothing has to be done.`,
        ),
      ),
  }
  core.heartbeat.hold(holding)
  try {
    return { result: await work(lost.signal) }
  } finally {
    core.heartbeat.release(holding)
    // Where this fails, the lease ends by itself.
    await core.store
      .write((writer) => {
        if (writer.get<TaskRecord>(key)?.holder === holder) writer.remove(key)
      })
      .catch(() => {})
  }
}
