import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'

/**
 * How many vacuums have begun. A vacuum may remove objects that were written before it began and that no record names.
 */
export function vacuumsBegun(reader: Reader): number {
  return reader.get<number>(keys.vacuums) ?? 0
}
