import type { Identifier } from '../../../src/model/identifier.ts'
import {
  branchName,
  findBranch,
  findTable,
  findVersion,
  type ModelVersion,
  nextVersion,
  putVersion,
  Refused,
  type Row,
  recorded,
  type State,
} from './state.ts'
import type { Request } from './types.ts'

/** The predicates of the histories, and what they say of a row; null is SQL's unknown. */
export const predicates: Readonly<Record<string, (row: Row) => boolean | null>> = {
  'id < 3': ({ id }) => id < 3,
  'id >= 4': ({ id }) => id >= 4,
  'id = 2': ({ id }) => id === 2,
  'note IS NULL': ({ note }) => note === null,
  "note = 'x'": ({ note }) => (note === null ? null : note === 'x'),
  "NOT (note = 'x')": ({ note }) => (note === null ? null : note !== 'x'),
  "id IN (1, 5) OR note = 'y'": ({ id, note }) =>
    id === 1 || id === 5 || (note === null ? null : note === 'y'),
  'id > 1000': () => false,
}

export const rows = {
  insertIntoTable: (state: State, request: Request<'insertIntoTable'>) => insertRows(state, request),

  deleteFromTable(state: State, { id, predicate, branch }: Request<'deleteFromTable'>) {
    const holds = predicates[predicate]!
    let num_deleted_rows = 0
    const changed = change(state, 'DeleteFromTable', id, branch, (base) => {
      const rows = base.rows.filter((row) => holds(row) !== true)
      num_deleted_rows = base.rows.length - rows.length
      return { ...base, rows }
    })
    return { ...changed, num_deleted_rows }
  },

  updateTableSchemaMetadata(state: State, { id, branch, metadata }: Request<'updateTableSchemaMetadata'>) {
    const { transaction_id } = change(state, 'UpdateTableSchemaMetadata', id, branch, (base) => ({
      ...base,
      schemaMetadata: metadata,
    }))
    return { metadata, transaction_id }
  },

  /** The rows stay as they are. Whether there is something to merge, and so a version, the catalog knows. */
  optimizeTable(
    state: State,
    { id, branch }: Request<'optimizeTable'>,
    actual: { readonly optimized?: boolean; readonly transaction_id?: string } | undefined,
  ) {
    const { number, found } = findVersionOfRows(state, id, branch, undefined)
    const told = {
      rows: found.rows.length,
      rewritten_rows: '#any',
      fragments_before: '#any',
      fragments_after: '#any',
      bytes_before: '#any',
      bytes_after: '#any',
    }
    if (actual && actual.optimized !== true) {
      // It saw something to merge that others have merged, or replaced, since.
      const transaction = actual.transaction_id ? recorded(state, 'OptimizeTable', id) : {}
      return { optimized: false, version: number, ...told, ...transaction }
    }
    return { optimized: true, ...told, ...change(state, 'OptimizeTable', id, branch, (base) => base) }
  },

  restoreTable(state: State, { id, version, branch }: Request<'restoreTable'>) {
    const old = ours(findVersion(findTable(state, id), branchName(branch), version).found)
    const { transaction_id } = change(state, 'RestoreTable', id, branch, () => old)
    return { transaction_id }
  },

  countTableRows: (state: State, { id, version, branch, predicate }: Request<'countTableRows'>) => ({
    count: select(state, id, branch, version, predicate).length,
  }),

  queryTable(state: State, { id, version, branch, filter, limit, offset }: Request<'queryTable'>) {
    const found = select(state, id, branch, version, filter)
    const start = offset ?? 0
    return { data: found.slice(start, start + (limit ?? found.length)) }
  },
}

export function insertRows(
  state: State,
  { id, branch, mode, data }: Omit<Request<'insertIntoTable'>, 'schema'>,
  operation = 'InsertIntoTable',
) {
  const added = data as unknown as Row[]
  const result = change(
    state,
    operation,
    id,
    branch,
    (base) => (mode === 'Overwrite' ? created(added) : { ...base, rows: [...base.rows, ...added] }),
    () => created(added),
  )
  return { ...result, num_inserted_rows: added.length }
}

type WithRows = ModelVersion & Required<Pick<ModelVersion, 'rows' | 'schemaMetadata'>>

function created(rows: readonly Row[]): WithRows {
  return { manifest: '#any', metadata: {}, rows: [...rows], schemaMetadata: {} }
}

/** Makes the next version of a table from its latest one or, where it has none, as its first. */
function change(
  state: State,
  operation: string,
  id: Identifier,
  branch: string | null | undefined,
  next: (base: WithRows) => WithRows,
  first?: () => WithRows,
) {
  const table = findTable(state, id)
  if (!isReadable(table.location)) throw new Refused('InvalidTableState')
  const head = findBranch(table, branchName(branch))
  const version = nextVersion(head)
  if (head.latest === null) {
    if (table.registered || first === undefined) throw new Refused('InvalidTableState')
    putVersion(head, version, first())
  } else {
    putVersion(head, version, next(ours(head.versions.get(head.latest)!)))
  }
  return { version, ...recorded(state, operation, id) }
}

function select(
  state: State,
  id: Identifier,
  branch: string | null | undefined,
  version: number | null | undefined,
  predicate: string | null | undefined,
): readonly Row[] {
  const { rows } = findVersionOfRows(state, id, branch, version).found
  return predicate == null ? rows : rows.filter((row) => predicates[predicate]!(row) === true)
}

function findVersionOfRows(
  state: State,
  id: Identifier,
  branch: string | null | undefined,
  version: number | null | undefined,
): { number: number; found: WithRows } {
  const table = findTable(state, id)
  const name = branchName(branch)
  if (version == null && findBranch(table, name).latest === null) throw new Refused('InvalidTableState')
  const { number, found } = findVersion(table, name, version)
  return { number, found: ours(found) }
}

/** Refuses a version that another engine wrote. */
function ours(version: ModelVersion): WithRows {
  if (version.rows === undefined || version.schemaMetadata === undefined)
    throw new Refused('InvalidTableState')
  return { manifest: '#any', metadata: {}, rows: version.rows, schemaMetadata: version.schemaMetadata }
}

/** The catalog reads and writes content below its own root only. */
function isReadable(location: string): boolean {
  return location.startsWith('#')
}
