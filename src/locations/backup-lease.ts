import { type BackupLeaseRecord, keys } from '../store/records.ts'
import type { Reader, Writer } from '../store/store.ts'

/*
 * A backup copies the content that a snapshot of the store refers to. A backup lease keeps this content from being
 * removed meanwhile. The lease is committed before the snapshot is taken, so both ways to remove content see it:
 * - A drop of something in the snapshot commits after the lease, and looks for leases before it removes content.
 * - A vacuum looks for leases after it decided what nothing refers to, so it sees the lease of every older snapshot.
 */

/** Whether a backup may still need content that nothing refers to any more. */
export function hasBackupLease(reader: Reader, now: number): boolean {
  for (const { value } of reader.range<BackupLeaseRecord>({ prefix: keys.backupLeases }))
    if (value.until >= now) return true
  return false
}

/** Ends the leases of backups that count as dead. Such a backup fails, also when the clock goes back. */
export function endLapsedBackups(writer: Writer, now: number): void {
  for (const { key, value } of Array.from(writer.range<BackupLeaseRecord>({ prefix: keys.backupLeases })))
    if (value.until < now) writer.remove(key)
}
