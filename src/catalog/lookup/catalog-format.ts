import { type CatalogRecord, keys } from '../../base/store/records.ts'
import type { Writer } from '../../base/store/store.ts'

/** Raises the format of the catalog to at least this one, so that releases which do not know it refuse the catalog. */
export function requireFormat(writer: Writer, format: number): void {
  const record = writer.get<CatalogRecord>(keys.catalog)
  if (record !== undefined && record.v < format) writer.put(keys.catalog, { ...record, v: format })
}
