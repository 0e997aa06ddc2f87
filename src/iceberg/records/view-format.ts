import { type ViewMetadata, viewMetadata } from '../metadata/view-metadata.ts'
import { type Format, formatProperty, formats } from './formats.ts'
import { metadataFolder } from './metadata-folder.ts'

/** Views of Iceberg, as records of the catalog. */
export const viewFormat: Format<ViewMetadata> = {
  kind: 'view',
  check: viewMetadata,
  locationOf: ({ location }) => location,
  folderOf: ({ location, properties }) => properties?.['write.metadata.path'] ?? metadataFolder(location),
  summaryOf: (metadata) => ({
    [formatProperty]: formats.view,
    'format-version': String(metadata['format-version']),
    'view-uuid': metadata['view-uuid'],
    'current-version-id': String(metadata['current-version-id']),
  }),
}
