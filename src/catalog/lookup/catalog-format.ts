import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'

/**
 * Raises the format of the catalog to at least this one, so that releases which do not know it refuse the catalog. Returns
 * whether the catalog had it before.
 */
export function requireFormat(writer: Writer, format: number): boolean {
  const record = writer.get<CatalogRecord>(keys.catalog)
  if (record === undefined) return false
  if (record.v >= format) return true
  writer.put(keys.catalog, { ...record, v: format })
  return false
}
