import type { Core } from '../catalog/core.ts'
import type { TableRecord } from '../store/records.ts'
import { contentFolderOf } from './locations.ts'

/**
 * Whether clients are to keep the versions of a table through the catalog. That is promised only where the catalog can
 * publish their manifests.
 */
export function isManaged(core: Core, { location }: Pick<TableRecord, 'location'>): boolean {
  if (!core.settings.managedVersioning) return false
  const content =
    location === null ? core.contentRoots[0]!.content : contentFolderOf(core.contentRoots, location)?.content
  return content?.shared !== undefined
}
