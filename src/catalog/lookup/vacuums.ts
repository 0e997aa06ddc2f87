import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'

/** How many vacuums have begun. What was written before one of them began, and no record names, it may remove. */
export function vacuumsBegun(reader: Reader): number {
  return reader.get<number>(keys.vacuums) ?? 0
}
