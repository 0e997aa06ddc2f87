import { CatalogError } from '../../base/errors.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import { type BackupLeaseRecord, keys, recordFormat } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import { endLapsedBackups } from '../locations/backup-lease.ts'
import { abandonedRemovals, removeContent } from '../locations/removal.ts'
import type { Holding } from '../transactions/heartbeat.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'
import type { MaintenanceContext } from './context.ts'

/**
 * Runs work under a backup lease, which keeps every process from removing content. When this process fails to renew
 * the lease in time, the signal is aborted and the work fails. Content dropped meanwhile is removed at the end.
 */
export async function withBackupLease<T>(
  core: MaintenanceContext,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  // A copy is read-only, so no lease can keep the content of the original.
  if (core.settings.copy !== undefined) return work(signal ?? new AbortController().signal)
  const key = keys.backupLease(core.newId())
  const lost = new AbortController()
  await core.store.write((writer) => {
    endLapsedBackups(writer, core.now())
    writer.put(key, recordUntil(core.now() + leaseMillis))
  })
  const holding: Holding<BackupLeaseRecord> = {
    key,
    leaseOf: ({ until }, now) => (until >= now ? until : undefined),
    renewed: (_, until) => recordUntil(until),
    lost: () => lost.abort(lostError()),
  }
  core.heartbeat.hold(holding)
  try {
    const result = await work(anySignal(signal, lost.signal))
    if (!(await isLeaseValid(core, key))) throw lostError()
    return result
  } catch (error) {
    // Missing content may have been removed because the lease had ended.
    const isValid = await isLeaseValid(core, key).catch(() => true)
    if (isValid || signal?.aborted) throw error
    throw lostError({ cause: error })
  } finally {
    core.heartbeat.release(holding)
    await core.store.write((writer) => writer.remove(key)).catch(() => {})
    const now = core.now()
    await removeContent(core, await core.store.read((reader) => abandonedRemovals(reader, now))).catch(
      () => {},
    )
  }
}

function recordUntil(until: number): BackupLeaseRecord {
  return { v: recordFormat, until }
}

function isLeaseValid(core: MaintenanceContext, key: Key): Promise<boolean> {
  return core.store.read((reader) => isValidAt(reader, key, core.now()))
}

function isValidAt(reader: Reader, key: Key, now: number): boolean {
  const lease = reader.get<BackupLeaseRecord>(key)
  return lease !== undefined && lease.until >= now
}

function lostError(options?: { cause: unknown }): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The copy paused for more than a minute, so content it needs may have been removed. Try again.',
    options,
  )
}
