import type { Steps } from '../../base/scheduling/time-slice.ts'
import type { Long, Snapshot, TableMetadata } from './types.ts'

const snapshotsInAStep = 500

/**
 * The metadata with those snapshots only that a branch or tag names, as clients ask for that load the others later.
 * Statistics of snapshots that are left out are left out, too; the log of snapshots stays. It works in steps.
 */
export function* referencedSnapshots(metadata: TableMetadata): Steps<TableMetadata> {
  const referenced = new Set<Long>()
  for (const ref of Object.values(metadata.refs)) referenced.add(ref['snapshot-id'])
  const snapshots: Snapshot[] = []
  const left = new Set<Long>()
  for (const [i, snapshot] of metadata.snapshots.entries()) {
    const id = snapshot['snapshot-id']
    if (referenced.has(id)) snapshots.push(snapshot)
    else left.add(id)
    if (i % snapshotsInAStep === snapshotsInAStep - 1) yield
  }
  if (left.size === 0) return metadata
  const isKept = (file: { readonly 'snapshot-id': Long }) => !left.has(file['snapshot-id'])
  return {
    ...metadata,
    snapshots,
    statistics: metadata.statistics.filter(isKept),
    'partition-statistics': metadata['partition-statistics'].filter(isKept),
  }
}
