import { setTimeout as sleep } from 'node:timers/promises'
import type { Core } from '../catalog/core.ts'
import { CatalogError } from '../errors.ts'
import { abandonedRemovals, removeContent } from '../locations/removal.ts'
import { type BackupLeaseRecord, keys, recordFormat } from '../store/records.ts'
import type { Key, Reader, Writer } from '../store/store.ts'
import { leaseMillis } from '../transactions/transaction-record.ts'

/**
 * Runs work under a backup lease, which keeps every process from removing content. When this process fails to renew
 * the lease in time, the signal is aborted and the work fails. Content dropped meanwhile is removed at the end.
 */
export async function withBackupLease<T>(
  core: Core,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal | undefined,
): Promise<T> {
  const key = keys.backupLease(core.newId())
  const lost = new AbortController()
  await core.store.write((writer) => {
    removeExpired(writer, core.now())
    writer.put(key, recordUntil(core.now() + leaseMillis))
  })
  const renewing = new AbortController()
  const renewal = (async () => {
    for (;;) {
      await sleep(leaseMillis / 3, undefined, { signal: renewing.signal, ref: false })
      // A failed write, as on a full disk, is tried again for as long as the lease lasts.
      const isValid = await renew(core, key).catch(() => isLeaseValid(core, key))
      if (!isValid) throw lostError()
    }
  })().catch((error) => lost.abort(error))
  try {
    const result = await work(signal ? AbortSignal.any([signal, lost.signal]) : lost.signal)
    if (!(await isLeaseValid(core, key))) throw lostError()
    return result
  } finally {
    renewing.abort()
    await renewal
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

/** Removes the leases of processes that died. */
function removeExpired(writer: Writer, now: number): void {
  for (const { key, value } of Array.from(writer.range<BackupLeaseRecord>({ prefix: keys.backupLeases }))) {
    if (value.until < now) writer.remove(key)
  }
}

/** Extends a lease. Returns false when the lease had already expired. */
function renew(core: Core, key: Key): Promise<boolean> {
  return core.store.write((writer) => {
    const now = core.now()
    if (!isValidAt(writer, key, now)) return false
    writer.put(key, recordUntil(now + leaseMillis))
    return true
  })
}

function isLeaseValid(core: Core, key: Key): Promise<boolean> {
  return core.store.read((reader) => isValidAt(reader, key, core.now()))
}

function isValidAt(reader: Reader, key: Key, now: number): boolean {
  const lease = reader.get<BackupLeaseRecord>(key)
  return lease !== undefined && lease.until >= now
}

function lostError(): CatalogError {
  return new CatalogError(
    'ServiceUnavailable',
    'The copy paused for more than a minute, so content it needs may have been removed. Try again.',
  )
}
