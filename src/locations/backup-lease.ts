import { type HoldRecord, keys } from '../store/records.ts'
import type { Reader } from '../store/store.ts'

/*
 * Whoever copies what a snapshot of the store reaches holds the content of the catalog meanwhile. The hold is
 * committed before the snapshot is taken. So whoever drops something that the snapshot reaches, commits later
 * than the hold and sees it when it comes to remove the content; and a vacuum, which looks for holds after it
 * found out what nothing reaches, sees the hold of every snapshot older than what it found.
 */

/** Whether somebody copies content that nothing else may need any more. */
export function isHeld(reader: Reader, now: number): boolean {
  for (const { value } of reader.range<HoldRecord>({ prefix: keys.holds }))
    if (value.until >= now) return true
  return false
}
