import type { Core } from '../catalog/core.ts'
import { isCreated, isWritten, undecidedPlace } from '../locations/declared-only.ts'
import type { Place } from '../locations/locations.ts'
import { readTable } from '../lookup/table-record.ts'
import type { Identifier } from '../model/identifier.ts'
import type { Reader } from '../store/store.ts'
import type { Sieve } from './paging.ts'

/** How many tables that turn out to be declared only a page looks at before it ends early, with a token. */
const patience = 1_000

/** How many locations are looked at at once. */
const looks = 16

/** A sieve of tables that also says, within a read, which of them to bring to it. */
export interface CreatedOnly extends Sieve<Identifier> {
  /** Gets the table's identifier and the internal id of its namespace. */
  readonly isCandidate: (reader: Reader, path: Identifier, parent: string) => boolean
}

/** Leaves out the tables that are declared only, for some of which that takes a look at their location. */
export function createdOnly(core: Core, recursive: boolean): CreatedOnly {
  const undecided = new Map<Identifier, Place>()
  const sieve: Sieve<Identifier> = {
    // A page that ended early without a name would leave those no name to go on after who page by names.
    patience: recursive ? patience : Number.POSITIVE_INFINITY,
    keep: async (items) => {
      const kept: Identifier[] = []
      for (let at = 0; at < items.length; at += looks) {
        const some = items.slice(at, at + looks)
        const created = await Promise.all(
          some.map((item) => {
            const place = undecided.get(item)
            // One location that cannot be read is no reason to list nothing.
            return place === undefined || isWritten(place).catch(() => false)
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
    const place = undecidedPlace(core, table)
    if (place) undecided.set(path, place)
    return place !== undefined
  }
  return { ...sieve, isCandidate }
}
