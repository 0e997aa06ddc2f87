import { tableMetadata } from '../metadata/index.ts'
import type { TableMetadata } from '../metadata/types.ts'
import { type Format, formatProperty, formats } from './formats.ts'
import { metadataFolder } from './metadata-folder.ts'

/** Tables of Iceberg, as records of the catalog. */
export const tableFormat: Format<TableMetadata> = {
  kind: 'table',
  check: tableMetadata,
  locationOf: ({ location }) => location,
  folderOf: ({ location, properties }) => properties['write.metadata.path'] ?? metadataFolder(location),
  summaryOf: (metadata) => {
    const snapshot = metadata['current-snapshot-id']
    return {
      [formatProperty]: formats.table,
      'format-version': String(metadata['format-version']),
      ...(metadata['table-uuid'] !== undefined && { 'table-uuid': metadata['table-uuid'] }),
      ...(snapshot !== null && snapshot !== -1 && { 'current-snapshot-id': String(snapshot) }),
    }
  },
}
