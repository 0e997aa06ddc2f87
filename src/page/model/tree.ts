import type { Identifier } from '../../base/model/identifier.ts'
import type { Pages } from '../listing.ts'

/** The fetched namespaces in a namespace. */
export type Children = Pages<string>

export interface TreeRow {
  readonly id: Identifier
  readonly key: string
  readonly depth: number
  readonly expanded: boolean
  /** Whether it is known to be empty. */
  readonly isLeaf: boolean
  /** A placeholder for the namespaces in `id` that are not fetched yet. */
  readonly isRest: boolean
  readonly position: number
  readonly siblings: number
}

export function keyOf(id: Identifier): string {
  return JSON.stringify(id)
}

/** The rows of a tree of namespaces: every namespace whose ancestors are all expanded. */
export function treeRows(
  known: ReadonlyMap<string, Children>,
  expanded: ReadonlySet<string>,
): readonly TreeRow[] {
  const rows: TreeRow[] = []
  const add = (id: Identifier, position: number, siblings: number) => {
    const key = keyOf(id)
    const children = known.get(key)
    const isLeaf = children?.ended === true && children.items.length === 0
    const isOpen = expanded.has(key)
    rows.push({ id, key, depth: id.length, expanded: isOpen, isLeaf, isRest: false, position, siblings })
    if (!isOpen || children === undefined) return
    const { items, token } = children
    for (const [index, name] of items.entries()) add([...id, name], index + 1, token ? -1 : items.length)
    if (token === undefined) return
    const rest = {
      key: `${key} ${items.length}`,
      depth: id.length + 1,
      expanded: false,
      isLeaf: true,
      isRest: true,
    }
    rows.push({ id, ...rest, position: items.length + 1, siblings: -1 })
  }
  add([], 1, 1)
  return rows
}
