import type { Field, Schema } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job, ReportedWork } from '../job.ts'
import { AnswerEncoder, type ColumnBatches, streamedBytes } from '../read/answer.ts'
import { AnswerLayout } from '../read/answer-layout.ts'
import { HeldMemory } from '../read/held-memory.ts'
import { answerInParts, wholeAnswer } from '../read/query.ts'
import { bound } from '../read/sort-keys.ts'
import { rowColumns } from '../scan/row-columns.ts'
import type { ChangesOptions } from '../table-engine.ts'
import { changedFragments } from './changed-fragments.ts'
import { type ChangedSide, columnsOf } from './changed-side.ts'
import { type ComparedColumns, changeType, comparedColumns } from './compared-columns.ts'
import { dropEqualRows, pairRows, rowsOf } from './match-rows.ts'
import { OwnSide } from './own-side.ts'
import { RowHasher } from './row-hashes.ts'

/** How a row changed, by the version that has it, as Delta Lake names it. */
const kinds = {
  from: { other: 'delete', updated: 'update_preimage' },
  to: { other: 'insert', updated: 'update_postimage' },
} as const

/** Opens the rows of both versions that the other one may not have. */
type OpenSides = (
  columns: ComparedColumns,
) => Promise<{ readonly from: ChangedSide; readonly to: ChangedSide }>

/** Two versions that are compared. */
export interface ComparedPair {
  readonly from: Schema
  readonly to: Schema
  readonly open: OpenSides
}

/** Two versions that our engine wrote. */
export function ownPair(job: Job, from: LoadedSnapshot, to: LoadedSnapshot): ComparedPair {
  return {
    from: from.schema,
    to: to.schema,
    async open(columns) {
      const fragments = await changedFragments(job, from, to, columns)
      return { from: new OwnSide(job, from, fragments.from), to: new OwnSide(job, to, fragments.to) }
    },
  }
}

/** The rows that differ between two versions as an Arrow IPC file, as a whole. */
export async function queryChanges(
  work: ReportedWork,
  pair: ComparedPair,
  options: ChangesOptions,
): Promise<Uint8Array> {
  const changes = await findChanges(work, pair, options)
  return wholeAnswer(changes.answer, changedBatches(work, changes, options))
}

/** The same: as a whole if they are few, otherwise in parts that are created on demand. */
export async function streamChanges(
  work: ReportedWork,
  pair: ComparedPair,
  options: ChangesOptions,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const changes = await findChanges(work, pair, options, streamedBytes)
  return answerInParts(changes.answer, changedBatches(work, changes, options))
}

/** The changed rows of two versions, and the answer that they go to. */
interface Changes {
  readonly from: ChangedSide
  readonly to: ChangedSide
  readonly columns: ComparedColumns
  readonly answer: AnswerEncoder
}

async function findChanges(
  work: ReportedWork,
  pair: ComparedPair,
  options: ChangesOptions,
  batchBytes?: number,
): Promise<Changes> {
  const { memory, maxBytes, plain, withRowId } = options
  const columns = comparedColumns(pair.from, pair.to, options)
  const rowId = rowColumns[0]!
  if (withRowId && columns.all.some(({ field }) => field.name === rowId.name)) {
    throw invalid(
      'The answer has a column _rowid of the table, so row ids have no place. Name the others in columns.',
    )
  }
  const fields: Field[] = [
    ...columns.all.map(({ field }) => field),
    ...(withRowId ? [rowId] : []),
    changeType,
  ]
  const metadata = new Map([...(pair.to.metadata ?? []), ...Object.entries(options.metadata ?? {})])
  const picks = fields.map((field, i) => ({ field, path: [i] }))
  const made = { schema: { fields, metadata }, bytes: Number.POSITIVE_INFINITY }
  const layout = new AnswerLayout(made.schema, picks, plain)
  const answer = new AnswerEncoder(made, layout, maxBytes, batchBytes, plain)
  const { from, to } = await pair.open(columns)
  const comparison = { work, memory, hasher: new RowHasher() }
  await dropEqualRows(comparison, from, to, columns)
  if (columns.keys.length > 0) await pairRows(comparison, from, to, columns)
  return { from, to, columns, answer }
}

/** The rows in batches: those of the earlier version, and then those of the later one. */
async function* changedBatches(
  work: ReportedWork,
  { from, to, columns, answer }: Changes,
  options: ChangesOptions,
): AsyncGenerator<ColumnBatches> {
  const held = new HeldMemory(options.memory)
  const range = {
    skip: bound('offset', options.offset) ?? 0,
    left: bound('limit', options.limit) ?? Number.POSITIVE_INFINITY,
  }
  const rowsTotal = rowsOf(from) + rowsOf(to)
  for (const [which, side] of [['from', from] as const, ['to', to] as const]) {
    const wanted = {
      columns: columnsOf(columns.all, which),
      kinds: kinds[which],
      range,
      withRowId: options.withRowId ?? false,
    }
    for await (const { pieces, rows, perRow, bytes } of side.answers(wanted)) {
      if (held.isCounted) {
        if (!answer.isWhole) held.give(held.bytes)
        const taken = held.take(bytes + Math.min(rows * perRow, Math.max(perRow, streamedBytes)))
        if (taken) await taken
      }
      yield* answer.add(pieces, rows, perRow)
      work.report(rows, rowsTotal)
      if (work.due) await work.rest()
    }
  }
  work.signal?.throwIfAborted()
  for (const batch of answer.rest()) {
    const more = answer.isWhole ? answer.bytes - held.bytes : 0
    const taken = more > 0 ? held.take(more) : undefined
    if (taken) await taken
    yield batch
  }
}
