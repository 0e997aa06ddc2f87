import type { Long, TableMetadata } from './types.ts'

/**
 * The metadata with those snapshots only that a branch or tag names, as clients ask for that load the others later.
 * Statistics of snapshots that are left out are left out, too; the log of snapshots stays.
 */
export function withReferencedSnapshots(metadata: TableMetadata): TableMetadata {
  const referenced = new Set<Long>()
  for (const ref of Object.values(metadata.refs)) referenced.add(ref['snapshot-id'])
  if (metadata.snapshots.every((snapshot) => referenced.has(snapshot['snapshot-id']))) return metadata
  const left = new Set<Long>()
  const snapshots = metadata.snapshots.filter((snapshot) => {
    const id = snapshot['snapshot-id']
    if (!referenced.has(id)) left.add(id)
    return referenced.has(id)
  })
  const isKept = (file: { readonly 'snapshot-id': Long }) => !left.has(file['snapshot-id'])
  return {
    ...metadata,
    snapshots,
    statistics: metadata.statistics.filter(isKept),
    'partition-statistics': metadata['partition-statistics'].filter(isKept),
  }
}
