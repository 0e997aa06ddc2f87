import type { Identifier } from '../../base/model/identifier.ts'
import type { Reader } from '../../base/store/store.ts'
import type { LocationContext } from '../locations/context.ts'
import { inspectionOf, isCreated } from '../locations/declared-only.ts'
import { readTable } from '../lookup/table-record.ts'
import type { PageFilter } from './paging.ts'

/** A page ends early, with a token, after this many tables that are only declared. */
const maxDropped = 1_000

/** How many locations are listed at the same time. */
const parallelListings = 16

/** A page filter with a cheap first test, which needs only the store. */
export interface CreatedTablesFilter extends PageFilter<Identifier> {
  /** Whether a table may pass the filter. `parent` is the internal id of the table's namespace. */
  readonly isCandidate: (reader: Reader, path: Identifier, parent: string) => boolean
}

/** Drops tables that are only declared. For some tables, only the objects at their location show that. */
export function createdTablesFilter(core: LocationContext, recursive: boolean): CreatedTablesFilter {
  const undecided = new Map<Identifier, () => Promise<boolean>>()
  const filter: PageFilter<Identifier> = {
    // Clients may page through direct children by the last name. An empty page would give them no name.
    maxDropped: recursive ? maxDropped : Number.POSITIVE_INFINITY,
    keep: async (items) => {
      const kept: Identifier[] = []
      for (let at = 0; at < items.length; at += parallelListings) {
        const some = items.slice(at, at + parallelListings)
        const created = await Promise.all(
          some.map((item) => {
            const inspect = undecided.get(item)
            // One unreadable location must not fail the whole listing.
            return inspect === undefined || inspect().catch(() => false)
          }),
        )
        kept.push(...some.filter((_, i) => created[i]))
      }
      undecided.clear()
      return kept
    },
  }
  const isCandidate = (reader: Reader, path: Identifier, parent: string): boolean => {
    const table = readTable(reader, parent, path.at(-1)!)!
    if (isCreated(table.record)) return true
    const inspect = inspectionOf(core, table)
    if (inspect) undecided.set(path, inspect)
    return inspect !== undefined
  }
  return { ...filter, isCandidate }
}
