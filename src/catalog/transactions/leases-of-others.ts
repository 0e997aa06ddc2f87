import { type BackupLeaseRecord, keys, type TaskRecord } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import type { LeaseContext } from './leased.ts'

/**
 * Leases of other processes that have records of their own. Those of transactions lie among all transaction records.
 */
export interface LeasesOfOthers {
  readonly backups: number
  /** Tasks that one process does at a time: the upkeep, and optimizing tables in the background. */
  readonly tasks: number
}

/** The most leases that are read. There are as many as processes have work under way. */
const mostLeases = 1_000

/** How many leases other processes hold. An ended lease does not count, though its record may still exist. */
export function leasesOfOthers(reader: Reader, { heartbeat, now }: LeaseContext): LeasesOfOthers {
  const time = now()
  const count = (prefix: Key) => {
    const leases = [...reader.range<BackupLeaseRecord | TaskRecord>({ prefix, limit: mostLeases })]
    return leases.filter(({ key, value }) => value.until >= time && !heartbeat.holds(key)).length
  }
  return { backups: count(keys.backupLeases), tasks: count(keys.tasks) }
}
