import { type BackupLeaseRecord, keys, type TaskRecord } from '../../base/store/records.ts'
import type { Key, Reader } from '../../base/store/store.ts'
import type { Core } from '../handle/core.ts'

/** Leases in records of their own that other processes hold. Those of transactions lie among all records of changes. */
export interface LeasesOfOthers {
  readonly backups: number
  /** Tasks that one process does at a time: the upkeep, and optimizing tables in the background. */
  readonly tasks: number
}

/** Leases that are read at most. There are as many as processes have work under way. */
const mostLeases = 1_000

/** How many leases other processes hold. What ended is none, though its record may still be there. */
export function leasesOfOthers(
  reader: Reader,
  { heartbeat, now }: Pick<Core, 'heartbeat' | 'now'>,
): LeasesOfOthers {
  const time = now()
  const count = (prefix: Key) => {
    const leases = [...reader.range<BackupLeaseRecord | TaskRecord>({ prefix, limit: mostLeases })]
    return leases.filter(({ key, value }) => value.until >= time && !heartbeat.holds(key)).length
  }
  return { backups: count(keys.backupLeases), tasks: count(keys.tasks) }
}
