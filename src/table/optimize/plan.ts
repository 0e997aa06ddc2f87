import type { FragmentEntry } from '../format/manifest.ts'
import type { OptimizeGoals } from '../table-engine.ts'
import { fragmentBytes } from '../write/write-rows.ts'

/** Fragments beside each other, and whether they are to become one. */
export interface Cut {
  readonly entries: readonly FragmentEntry[]
  readonly merge: boolean
}

/** Share of deleted rows from which a fragment is written anew for their sake. */
const deletedShare = 0.1

/** Most fragments that become one in one go: what is known of them has to fit into memory. */
const mostFragments = 65_536

/** How often the rest of a group must fit into its first fragment for that one to be left alone, when gentle. */
const gentleFactor = 2

/**
 * Cuts a table's fragments, in their order, into groups that become one fragment each and fragments that stay
 * as they are. Those to be merged are at most half as large as a fragment may be, or have many deleted rows;
 * a group never gets larger than one may be. So what comes out of a group that was full is no longer small,
 * and cutting a second time finds nothing to merge.
 */
export async function* cut(
  entries: AsyncIterable<FragmentEntry>,
  mostRows: number,
  goals: OptimizeGoals,
): AsyncGenerator<Cut> {
  const most = { rows: goals.targetRows ?? mostRows, bytes: goals.targetBytes ?? fragmentBytes }
  const share = goals.minDeletedShare ?? deletedShare
  let open: FragmentEntry[] = []
  let rows = 0
  let bytes = 0
  for await (const entry of entries) {
    const size = sizeOf(entry)
    const isSmall = size.rows * 2 <= most.rows && size.bytes * 2 <= most.bytes
    const isWanted = isSmall || isWorn(entry, share)
    const isFull =
      rows + size.rows > most.rows || bytes + size.bytes > most.bytes || open.length >= mostFragments
    if (open.length > 0 && (!isWanted || isFull)) {
      yield* close(open, share, goals.gentle)
      open = []
      rows = 0
      bytes = 0
    }
    if (!isWanted) {
      yield { entries: [entry], merge: false }
      continue
    }
    open.push(entry)
    rows += size.rows
    bytes += size.bytes
  }
  if (open.length > 0) yield* close(open, share, goals.gentle)
}

/** Whether it would pay to put `after` in the place of `before`. */
export function pays(before: readonly FragmentEntry[], after: readonly FragmentEntry[]): boolean {
  return after.length < before.length || deletedIn(after) < deletedIn(before)
}

function* close(entries: readonly FragmentEntry[], share: number, gentle = false): Generator<Cut> {
  let first = 0
  if (gentle) {
    let rest = 0
    for (const entry of entries) rest += sizeOf(entry).bytes
    for (; first < entries.length - 1; first++) {
      const { bytes } = sizeOf(entries[first]!)
      rest -= bytes
      if (bytes <= gentleFactor * rest || isWorn(entries[first]!, share)) break
    }
  }
  if (first > 0) yield { entries: entries.slice(0, first), merge: false }
  const left = entries.slice(first)
  yield { entries: left, merge: left.length > 1 || isWorn(left[0]!, share) }
}

function isWorn({ rows, deletions }: FragmentEntry, share: number): boolean {
  return deletions !== undefined && deletions.count > 0 && deletions.count >= share * rows
}

/** The rows that are left, and about the bytes they take: the columns' only, without what each file adds. */
function sizeOf({ rows, columns, dictionaries = [], deletions }: FragmentEntry) {
  const left = rows - (deletions?.count ?? 0)
  let bytes = 0
  for (const [, length] of columns) bytes += length
  for (const [, [, length]] of dictionaries) bytes += length
  return { rows: left, bytes: rows === 0 ? 0 : (bytes * left) / rows }
}

function deletedIn(entries: readonly FragmentEntry[]): number {
  return entries.reduce((sum, { deletions }) => sum + (deletions?.count ?? 0), 0)
}
