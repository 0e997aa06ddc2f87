import { type BackupLeaseRecord, keys } from '../../base/store/records.ts'
import type { Reader, Store, Writer } from '../../base/store/store.ts'

/*
 * A backup copies the content that a snapshot of the store refers to. A backup lease keeps this content from being
 * removed meanwhile. The lease is committed before the snapshot is taken, so both ways to remove content see it:
 * - A drop of something in the snapshot commits after the lease, and looks for leases before it removes content.
 * - A vacuum looks for leases after it decided what nothing refers to, so it sees the lease of every older snapshot.
 *
 * A renewal may be under way for longer than the lease lasts. So a process that acts on the end of a lease removes it
 * first: then the renewal is refused, and the backup fails.
 */

/** Thrown when only ended leases keep content. */
class BackupsToEnd extends Error {}

/** Whether a backup may still need unreferenced content. For the body of {@link onceBackupsEnded}. */
export function hasBackupLease(reader: Reader, now: number): boolean {
  let hasLapsed = false
  for (const { value } of reader.range<BackupLeaseRecord>({ prefix: keys.backupLeases })) {
    if (value.until >= now) return true
    hasLapsed = true
  }
  if (hasLapsed) throw new BackupsToEnd()
  return false
}

/** Reads the store. If it depends on leases that have ended, they are removed first. */
export async function onceBackupsEnded<T>(
  { store, now }: { readonly store: Store; readonly now: () => number },
  body: (reader: Reader) => T,
): Promise<T> {
  for (;;) {
    try {
      return await store.read(body)
    } catch (error) {
      if (!(error instanceof BackupsToEnd)) throw error
      await store.write((writer) => endLapsedBackups(writer, now()))
    }
  }
}

/** Ends the leases of backups that count as dead. Such a backup fails, also when the clock goes back. */
export function endLapsedBackups(writer: Writer, now: number): void {
  for (const { key, value } of Array.from(writer.range<BackupLeaseRecord>({ prefix: keys.backupLeases })))
    if (value.until < now) writer.remove(key)
}
