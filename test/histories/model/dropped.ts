import { type Identifier, sameNames } from '../../../src/base/model/identifier.ts'
import {
  type Actual,
  findNamespace,
  type HeldTable,
  type ModelNamespace,
  type ModelTable,
  Refused,
  recorded,
  requireFree,
  type State,
  walk,
} from './state.ts'
import type { Request } from './types.ts'

/** Drops a table that has left its namespace, or will: it is held for a time, unless it is purged. */
export function drop(state: State, table: ModelTable, id: Identifier, purge = false): void {
  const { retainDropped = 0 } = state.rules
  if (purge || retainDropped === 0) forget(state, table)
  else state.held.push({ id, table, at: state.called, until: state.called + retainDropped })
}

/** Drops all tables in a namespace. */
export function dropAll(state: State, namespace: ModelNamespace, path: Identifier): void {
  for (const [id, child] of walk(namespace, path)) if (child.kind === 'table') drop(state, child, id)
}

/** Removes the held tables whose period is over. */
export function purgeOverdue(state: State): void {
  for (const { table, until } of state.held) if (until <= state.now) forget(state, table)
  state.held = state.held.filter(({ until }) => until > state.now)
}

/** Removes the own content of a dropped table from its location. */
function forget(state: State, table: ModelTable): void {
  state.deregistered.delete(table.location)
  state.shares.delete(table.location)
}

/** The held tables that had an identifier, the one dropped last first. */
function heldWith({ held }: State, id: Identifier, tableId?: string | null): HeldTable[] {
  return held
    .filter((one) => sameNames(one.id, id) && (tableId == null || tableId === idOf(one)))
    .sort((a, b) => b.until - a.until || b.table.key - a.table.key)
}

const idOf = ({ table }: HeldTable) => `#I${table.key}`

type Listed = readonly { readonly location: string }[]

export const dropped = {
  listDroppedTables(
    { held }: State,
    { id: namespace }: Request<'listDroppedTables'>,
    { answer }: Actual<{ readonly dropped: Listed }>,
  ) {
    const found = held
      .filter(({ id }) => id.length > namespace.length && namespace.every((name, i) => id[i] === name))
      .map((one) => ({
        id: one.id,
        table_id: idOf(one),
        location: one.table.location,
        dropped_at: new Date(one.at).toISOString(),
        retained_until: new Date(one.until).toISOString(),
      }))
    // Tables of one drop come in the order of their ids, which only the catalog knows.
    const place = ({ location }: { readonly location: string }) =>
      answer?.dropped.findIndex((one) => one.location === location) ?? 0
    return {
      dropped: found.sort(
        (a, b) => Date.parse(a.retained_until) - Date.parse(b.retained_until) || place(a) - place(b),
      ),
    }
  },

  undropTable(state: State, asked: Request<'undropTable'>) {
    const { id } = asked
    const namespace = asked.new_namespace_id ?? id.slice(0, -1)
    const target = [...namespace, asked.new_table_name ?? id.at(-1)!]
    const [found] = heldWith(state, id, asked.table_id)
    if (found === undefined) throw new Refused('TableNotFound')
    const parent = findNamespace(state, namespace)
    requireFree(state, target, 'TableAlreadyExists')
    const { table } = found
    parent.children.set(target.at(-1)!, table)
    state.held = state.held.filter((one) => one !== found)
    const { location, properties } = table
    return { id: target, location, properties, ...recorded(state, 'UndropTable', target) }
  },

  purgeTable(state: State, { id, table_id }: Request<'purgeTable'>) {
    const found = heldWith(state, id, table_id)
    if (found.length === 0) throw new Refused('TableNotFound')
    for (const { table } of found) forget(state, table)
    state.held = state.held.filter((one) => !found.includes(one))
    return { purged: found.length }
  },
}
