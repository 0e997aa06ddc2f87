import { type Identifier, isWithin } from '../../base/model/identifier.ts'
import type { LatestChange } from './latest.ts'

/** A table to show, and a key that changes with the table. */
export interface RecentTable {
  readonly id: Identifier
  readonly change: string
}

/** Changes after which there is no table of this name, and those that are about no table. */
const isOfNoTable = /Namespace$|^(Drop|Deregister|Purge)Table$|Transaction/

/**
 * The tables in a namespace or below it that were changed last, latest first. Where they are few, others that `listed`
 * names follow.
 */
export function recentTables(
  changes: readonly LatestChange[],
  listed: readonly Identifier[],
  within: Identifier,
  most: number,
): readonly RecentTable[] {
  const seen = new Set<string>()
  const found: RecentTable[] = []
  const add = (id: Identifier, change: string, isTable = true) => {
    const name = JSON.stringify(id)
    if (found.length >= most || seen.has(name)) return
    seen.add(name)
    if (isTable) found.push({ id, change })
  }
  for (const { id, operation, route, transaction } of changes) {
    if (id.length <= within.length || !isWithin(id, within)) continue
    const isTable = route === undefined ? !isOfNoTable.test(operation) : route.view === 'table'
    add(id, transaction, isTable)
  }
  for (const id of listed) add(id, '')
  return found
}
