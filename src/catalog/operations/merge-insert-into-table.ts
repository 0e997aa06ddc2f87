import type { Schema, Table } from '@uwdata/flechette'
import * as v from 'valibot'
import { CatalogError, invalid } from '../../base/errors.ts'
import {
  branch,
  changeFields,
  either,
  flag,
  requestFields,
  tableIdentifier,
  text,
  version,
} from '../../base/model/fields.ts'
import { quote } from '../../base/model/identifier.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import type { RowChange } from '../../engine/lance/index.ts'
import type { Change, MergeOptions, Snapshot, WorkOptions } from '../../engine/table/index.ts'
import { changeTable, createAnd } from '../rows/change.ts'
import type { TableToChange } from '../rows/change-types.ts'
import { checkRows, rowsInput, schemaInput } from '../rows/input.ts'
import { operation } from './framework/operation.ts'
import { post } from './framework/route.ts'

const names = v.pipe(
  v.array(text, 'must be a name or a list of names'),
  v.minLength(1, 'is empty; name the columns that rows are matched by'),
)
const path = v.pipe(text, v.minLength(1, 'is empty; name the column that rows are matched by'))

/**
 * Merges rows into a table. Rows match when they have the same values in the columns `on`: one, or several as a list or
 * with commas between. NULL is the same as nothing. At least one of these says what to do:
 *
 * - `when_matched_update_all` gives the columns of the rows to merge to the rows of the table that match; others keep
 *   their values. `when_matched_update_all_filt` is a condition for it on `source.x` and `target.x`.
 * - `when_matched_delete` deletes those rows instead.
 * - `when_not_matched_insert_all` inserts the rows that match none of the table.
 * - `when_not_matched_by_source_delete` deletes the rows of the table that match none of these, or of them those for
 *   which `when_not_matched_by_source_delete_filt` holds.
 *
 * Several rows that would update one are refused. Answers with the numbers of rows, and with the version, which is a new
 * one even when nothing changed. Rows that others insert meanwhile are looked into, too. A table that is only declared
 * is created with the rows. `timeout`, such as `30s` or `5m`, ends the merge when it takes longer. `use_index` changes
 * nothing, as rows are found without an index.
 *
 * ```ts
 * const { num_updated_rows } = await catalog.mergeInsertIntoTable({
 *   id: ['prod', 'flights'], on: 'number', data: [{ number: 7, delay: 12 }],
 *   when_matched_update_all: true, when_not_matched_insert_all: true,
 * })
 * ```
 */
export const mergeInsertIntoTable = operation({
  name: 'mergeInsertIntoTable',
  summary: 'Merge rows into a table: update, insert and delete by keys.',
  request: v.object({
    ...requestFields,
    id: tableIdentifier,
    branch,
    on: either([names, path], (given) => (Array.isArray(given) ? names : path)),
    when_matched_update_all: v.nullish(flag),
    when_matched_update_all_filt: v.nullish(text),
    when_matched_delete: v.nullish(flag),
    when_not_matched_insert_all: v.nullish(flag),
    when_not_matched_by_source_delete: v.nullish(flag),
    when_not_matched_by_source_delete_filt: v.nullish(text),
    timeout: v.nullish(text),
    use_index: v.nullish(flag),
    data: rowsInput,
    schema: schemaInput,
  }),
  // LanceDB's clients may send one of them. There is one way to write rows here.
  ignores: ['use_lsm', 'use_rte'],
  response: v.object({
    ...changeFields,
    num_inserted_rows: v.optional(version),
    num_updated_rows: v.optional(version),
    num_deleted_rows: v.optional(version),
    version: v.optional(version),
  }),
  errors: [
    'TableNotFound',
    'TableBranchNotFound',
    'TableColumnNotFound',
    'InvalidTableState',
    'TableSchemaValidationError',
    'ConcurrentModification',
    'Unsupported',
  ],
  changes: true,
  route: post('/v1/table/{id}/merge_insert', {
    body: 'arrow',
    query: {
      branch: 'text',
      on: 'texts',
      when_matched_update_all: 'boolean',
      when_matched_update_all_filt: 'text',
      when_matched_delete: 'boolean',
      when_not_matched_insert_all: 'boolean',
      when_not_matched_by_source_delete: 'boolean',
      when_not_matched_by_source_delete_filt: 'text',
      timeout: 'text',
      use_index: 'boolean',
    },
    rows: true,
  }),
  command: {
    group: 'Rows',
    aliases: ['merge'],
    options: {
      on: 'columns whose values are the same in rows that match: a,b',
    },
    examples: [
      './catalog prod.flights --on number --data more.arrow --when-matched-update-all --when-not-matched-insert-all',
    ],
  },
  run: async (core, request, options) => {
    const { id, branch, data, schema } = request
    const task = taskOf(request)
    const limited = within(request.timeout ?? undefined, options.signal)
    try {
      const changed = await changeTable(
        core,
        { ...options, signal: limited.signal },
        {
          operation: 'MergeInsertIntoTable',
          id,
          branch,
          check: ({ base }) =>
            checkRows(core, data, base?.schema ?? schema, options, {
              partial: base !== undefined,
              takesTypes: base === undefined ? false : (schema ?? true),
            }),
          prepare: async (found, given, pending) => {
            const { rows, work } = await pending.build(given)
            return { rows, change: found.base && (await merging(found, found.base, rows, task, work)) }
          },
          apply: async (found, prepared, current, work) => {
            const merge = (base: Snapshot) => merging(found, base, prepared.rows, task, work)
            if (current === undefined) return createAnd(found, prepared.rows, task.inserts, merge, work)
            prepared.change ??= await merge(current)
            return prepared.change.apply(current, work)
          },
          lances: async (schema, work) => {
            const pending = await checkRows(core, data, schema, options, { partial: true })
            const { rows } = await pending.build(work)
            return byLance(schema, rows, { ...task, on: keysIn(schema, task) })
          },
        },
      )
      const { inserted, updated, deleted } = changed.counts ?? {
        inserted: 0,
        updated: 0,
        deleted: changed.affected,
      }
      return {
        num_inserted_rows: inserted,
        num_updated_rows: updated,
        num_deleted_rows: deleted,
        version: changed.version,
        transaction_id: changed.transaction_id,
      }
    } finally {
      limited.end()
    }
  },
})

function merging(
  { engine }: TableToChange,
  base: Snapshot,
  rows: Table,
  task: Task,
  work: WorkOptions,
): Promise<Change> {
  return engine.mergeRows(base, rows, { ...task, on: keysIn(base.schema, task) }, work)
}

/** A merge by Lance, whose merges delete no rows that match: where they do nothing else, a predicate finds these. */
async function byLance(schema: Schema, rows: Table, merge: MergeOptions): Promise<RowChange> {
  if (merge.matched !== 'delete' || merge.inserts || merge.orphans === 'delete') {
    return { kind: 'merge', rows, merge }
  }
  const { keyPredicate } = await import('../../engine/table/index.ts')
  return { kind: 'delete', predicate: keyPredicate(rows, schema, merge.on) ?? 'false' }
}

/** The key columns of a merge. */
function keysIn({ fields }: Snapshot['schema'], { on }: Pick<Task, 'on'>): string[] {
  const names = new Set(fields.map(({ name }) => name))
  return [on].flat().flatMap((given) => (names.has(given) ? [given] : pathsIn(given)))
}

type Task = Omit<MergeOptions, 'on'> & { readonly on: string | string[] }

interface Asked {
  readonly on: string | string[]
  readonly when_matched_update_all?: boolean | null | undefined
  readonly when_matched_update_all_filt?: string | null | undefined
  readonly when_matched_delete?: boolean | null | undefined
  readonly when_not_matched_insert_all?: boolean | null | undefined
  readonly when_not_matched_by_source_delete?: boolean | null | undefined
  readonly when_not_matched_by_source_delete_filt?: string | null | undefined
}

/** What a request asks for; requests that ask for nothing, or for what cannot be, are refused. */
function taskOf(asked: Asked): Task {
  const {
    on,
    when_matched_update_all_filt: matchedIf,
    when_not_matched_by_source_delete_filt: orphansIf,
  } = asked
  const updates = asked.when_matched_update_all ?? false
  const deletes = asked.when_matched_delete ?? false
  const inserts = asked.when_not_matched_insert_all ?? false
  const orphans = asked.when_not_matched_by_source_delete ? 'delete' : 'keep'
  if (updates && deletes) {
    throw invalid(
      'when_matched_update_all and when_matched_delete cannot both be true. Choose what becomes of rows that match.',
    )
  }
  if (matchedIf != null && !updates) {
    throw invalid(
      'when_matched_update_all_filt is a condition of when_matched_update_all. Set that to true, too.',
    )
  }
  if (orphansIf != null && orphans === 'keep') {
    throw invalid(
      'when_not_matched_by_source_delete_filt is a condition of when_not_matched_by_source_delete. Set that to true, too.',
    )
  }
  if (!updates && !deletes && !inserts && orphans === 'keep') {
    throw invalid(
      'The merge would change nothing, whatever rows there are. Ask for when_matched_update_all, when_not_matched_insert_all or another change.',
    )
  }
  return {
    on,
    matched: updates ? 'update' : deletes ? 'delete' : undefined,
    matchedIf: matchedIf ?? undefined,
    inserts,
    orphans,
    orphansIf: orphansIf ?? undefined,
  }
}

/** Paths with commas between. A comma within backticks belongs to a name. */
function pathsIn(text: string): string[] {
  const paths = text.match(/(?:`(?:[^`]|``)*`|[^,`])+/g) ?? []
  return paths.map((path) => path.trim())
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A signal that also aborts after a time such as `30s`. */
function within(
  time: string | undefined,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal | undefined; end(): void } {
  if (time === undefined) return { signal, end: () => {} }
  const [, number, unit] = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*$/.exec(time) ?? []
  const millis = Number(number) * (units[unit ?? ''] ?? Number.NaN)
  if (!(millis < 2 ** 31)) {
    throw invalid(`timeout is ${quote(time)}. Give a number and a unit, such as 500ms, 30s, 5m or 1h.`)
  }
  const over = new CatalogError(
    'InvalidInput',
    `The merge insert timed out: it took longer than ${time}. Nothing changed. Give it more time, or merge fewer rows at once.`,
  )
  if (millis === 0) throw over
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(over), millis)
  return {
    signal: anySignal(signal, timeout.signal),
    end: () => clearTimeout(timer),
  }
}
