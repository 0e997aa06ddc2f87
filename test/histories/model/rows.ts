import type { Identifier } from '../../../src/base/model/identifier.ts'
import {
  type Actual,
  branchName,
  findBranch,
  findTable,
  findVersion,
  type ModelTable,
  type ModelVersion,
  nextVersion,
  putVersion,
  Refused,
  type Row,
  recorded,
  type State,
  wantedVersion,
} from './state.ts'
import type { Request } from './types.ts'

/** The predicates of the histories, with their value for a row; null is SQL's unknown. */
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

/** The new values of updates in the histories. */
export const values: Readonly<Record<string, (row: Row) => number | string | null>> = {
  'id + 1': ({ id }) => id + 1,
  '6 - id': ({ id }) => 6 - id,
  "coalesce(note, 'é')": ({ note }) => note ?? 'é',
  NULL: () => null,
}

/** The conditions of merges in the histories, on a row of the source and one of the table. */
export const conditions: Readonly<Record<string, (source: Row, target: Row) => boolean>> = {
  'source.note IS NULL OR target.id < 3': (source, target) => source.note === null || target.id < 3,
  'source.note = target.note': (source, target) => source.note !== null && source.note === target.note,
}

/** The rows of a table after a merge, and how many were inserted, updated and deleted. */
function merged(target: readonly Row[], request: Request<'mergeInsertIntoTable'>) {
  const source = request.data as unknown as Row[]
  const condition = request.when_matched_update_all_filt
  const orphanIf = request.when_not_matched_by_source_delete_filt
  const kept: Row[] = []
  const updated: Row[] = []
  let num_deleted_rows = 0
  for (const row of target) {
    const matches = source.filter(({ id }) => id === row.id)
    if (matches.length === 0) {
      const goes =
        request.when_not_matched_by_source_delete && (!orphanIf || predicates[orphanIf]!(row) === true)
      if (goes) num_deleted_rows++
      else kept.push(row)
      continue
    }
    if (request.when_matched_delete) {
      num_deleted_rows++
      continue
    }
    const updating = request.when_matched_update_all
      ? matches.filter((one) => !condition || conditions[condition]!(one, row))
      : []
    if (updating.length > 1) throw new Refused('InvalidInput')
    // Columns that are missing in the source keep their values.
    if (updating.length === 1) updated.push({ ...row, ...updating[0]! })
    else kept.push(row)
  }
  const inserted = request.when_not_matched_insert_all
    ? source.filter(({ id }) => target.every((row) => row.id !== id))
    : []
  return {
    rows: [...kept, ...updated, ...inserted],
    num_inserted_rows: inserted.length,
    num_updated_rows: updated.length,
    num_deleted_rows,
  }
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

  updateTable(state: State, { id, updates, predicate, branch }: Request<'updateTable'>) {
    let updated_rows = 0
    const changed = change(state, 'UpdateTable', id, branch, (base) => {
      const chosen = (row: Row) => predicate == null || predicates[predicate]!(row) === true
      const moved = base.rows.filter(chosen)
      updated_rows = moved.length
      const renewed = moved.map((row) => {
        const next = { ...row }
        for (const [column, value] of updates) Object.assign(next, { [column]: values[value]!(row) })
        return next
      })
      return { ...base, rows: [...base.rows.filter((row) => !chosen(row)), ...renewed] }
    })
    return { ...changed, updated_rows }
  },

  mergeInsertIntoTable(state: State, request: Request<'mergeInsertIntoTable'>) {
    const { id, branch } = request
    const counts = { num_inserted_rows: 0, num_updated_rows: 0, num_deleted_rows: 0 }
    const merge = (base: WithRows): WithRows => {
      const { rows, ...found } = merged(base.rows, request)
      Object.assign(counts, found)
      return { ...base, rows }
    }
    const first = () => {
      if (!request.when_not_matched_insert_all) throw new Refused('InvalidTableState')
      return merge(created([]))
    }
    const changed = change(state, 'MergeInsertIntoTable', id, branch, merge, first)
    return { ...changed, ...counts }
  },

  updateTableSchemaMetadata(state: State, { id, branch, metadata }: Request<'updateTableSchemaMetadata'>) {
    const { transaction_id } = change(state, 'UpdateTableSchemaMetadata', id, branch, (base) => ({
      ...base,
      schemaMetadata: metadata,
    }))
    return { metadata, transaction_id }
  },

  alterTableAddColumns(state: State, { id, branch, new_columns }: Request<'alterTableAddColumns'>) {
    const isComputed = new_columns!.some(({ expression }) => expression != null)
    return change(state, 'AlterTableAddColumns', id, branch, (base) => {
      if (base.sized) throw new Refused('InvalidInput')
      const rows = base.rows.map((row) => ({
        ...row,
        size: isComputed && row.note !== null ? row.id * 2 : null,
      }))
      return { ...base, rows, sized: true }
    })
  },

  /** Values that fit are equal in each type. */
  alterTableAlterColumns: (state: State, { id, branch }: Request<'alterTableAlterColumns'>) =>
    change(state, 'AlterTableAlterColumns', id, branch, (base) => {
      if (!base.sized) throw new Refused('TableColumnNotFound')
      return base
    }),

  alterTableDropColumns: (state: State, { id, branch }: Request<'alterTableDropColumns'>) =>
    change(state, 'AlterTableDropColumns', id, branch, (base) => {
      if (!base.sized) throw new Refused('TableColumnNotFound')
      return { ...base, rows: base.rows.map(({ size: _, ...row }) => row), sized: false }
    }),

  updateFieldMetadata(state: State, { id, branch, updates }: Request<'updateFieldMetadata'>) {
    const changed = change(state, 'UpdateFieldMetadata', id, branch, (base) => base)
    return { ...changed, fields: Object.fromEntries(updates.map(({ path, metadata }) => [path, metadata])) }
  },

  /** The rows do not change. Only the catalog knows whether there are fragments to merge, and so a new version. */
  optimizeTable(
    state: State,
    { id, branch }: Request<'optimizeTable'>,
    { answer: actual }: Actual<{ readonly optimized?: boolean; readonly transaction_id?: string }>,
  ) {
    requireReadable(findTable(state, id))
    const { number, found } = findVersionOfRows(state, id, branch, undefined)
    const counts = {
      rows: found.rows.length,
      rewritten_rows: '#any',
      fragments_before: '#any',
      fragments_after: '#any',
      bytes_before: '#any',
      bytes_after: '#any',
      repaired_index_files: 0,
    }
    if (actual && actual.optimized !== true) {
      // Others have merged or replaced the fragments that it saw.
      const transaction = actual.transaction_id ? recorded(state, 'OptimizeTable', id) : {}
      return { optimized: false, version: number, ...counts, ...transaction }
    }
    return { optimized: true, ...counts, ...change(state, 'OptimizeTable', id, branch, (base) => base) }
  },

  restoreTable(state: State, { id, ...asked }: Request<'restoreTable'>) {
    const { branch, version } = wantedVersion(state, findTable(state, id), asked)
    const old = findVersionOfRows(state, id, branch, version).found
    const { transaction_id } = change(state, 'RestoreTable', id, branch, () => old)
    return { transaction_id }
  },

  countTableRows: (state: State, { id, predicate, ...asked }: Request<'countTableRows'>) => ({
    count: select(state, id, asked, predicate).length,
  }),

  queryTable(state: State, { id, filter, limit, offset, ...asked }: Request<'queryTable'>) {
    const found = select(state, id, asked, filter)
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

type WithRows = Omit<ModelVersion, 'at'> & Required<Pick<ModelVersion, 'rows' | 'schemaMetadata' | 'sized'>>

function created(rows: readonly Row[]): WithRows {
  return { manifest: '#any', metadata: {}, rows: [...rows], schemaMetadata: {}, sized: false }
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
  requireReadable(table)
  const head = findBranch(table, branchName(branch))
  const version = nextVersion(head)
  if (head.latest === null) {
    if (table.registered || first === undefined) throw new Refused('InvalidTableState')
    putVersion(state, head, version, first())
  } else {
    putVersion(state, head, version, next(ours(head.versions.get(head.latest)!)))
  }
  return { version, ...recorded(state, operation, id) }
}

function select(
  state: State,
  id: Identifier,
  asked: Parameters<typeof wantedVersion>[2],
  predicate: string | null | undefined,
): readonly Row[] {
  const { branch, version } = wantedVersion(state, findTable(state, id), asked)
  const { rows, sized } = findVersionOfRows(state, id, branch, version).found
  const found = predicate == null ? rows : rows.filter((row) => predicates[predicate]!(row) === true)
  return sized ? found.map((row) => ({ ...row, size: row.size ?? null })) : found
}

/** A version whose rows are the catalog's own. */
export function findVersionOfRows(
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
function ours(version: Omit<ModelVersion, 'at'>): WithRows {
  if (version.rows === undefined || version.schemaMetadata === undefined)
    throw new Refused('InvalidTableState')
  const { rows, schemaMetadata, sized = false } = version
  return { manifest: '#any', metadata: {}, rows, schemaMetadata, sized }
}

/** The catalog reads and writes content below its own root only. */
function requireReadable({ location }: ModelTable): void {
  if (!location.startsWith('#')) throw new Refused('InvalidTableState')
}
