import type { TableRecord } from '../../base/store/records.ts'
import type { LocationContext } from './context.ts'
import { contentFolderOf } from './locations.ts'

/**
 * Whether clients are to keep the versions of a table through the catalog. That is promised only where the catalog can
 * publish their manifests.
 */
export function isManaged(core: LocationContext, { location }: Pick<TableRecord, 'location'>): boolean {
  if (!core.settings.managedVersioning) return false
  const content =
    location === null ? core.contentRoots[0]!.content : contentFolderOf(core.contentRoots, location)?.content
  return content?.shared !== undefined
}
