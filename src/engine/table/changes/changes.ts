import type { Field } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import { type AnyBatch, makeBatch } from '../../arrow/batch.ts'
import { countRows, noRows, subtract } from '../../arrow/bitmap.ts'
import { nullBatch } from '../../arrow/null-batch.ts'
import { assemble, type Piece } from '../../arrow/take/take.ts'
import { typeName } from '../../arrow/type-name.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { AnswerEncoder, type ColumnBatches, streamedBytes } from '../read/answer.ts'
import { AnswerLayout } from '../read/answer-layout.ts'
import { AnswerReader, type WantedRows } from '../read/answer-reader.ts'
import { HeldMemory } from '../read/held-memory.ts'
import { answerInParts, wholeAnswer } from '../read/query.ts'
import { selectRows } from '../read/row-selection.ts'
import { bound } from '../read/sort-keys.ts'
import { bytesOf } from '../scan/prefetch-depth.ts'
import { rowColumns } from '../scan/row-columns.ts'
import type { ChangesOptions } from '../table-engine.ts'
import { type ChangedSide, changedFragments } from './changed-fragments.ts'
import { type ComparedColumns, changeType, comparedColumns } from './compared-columns.ts'
import { dropEqualRows, pairRows, rowsOf } from './match-rows.ts'
import { asType, columnsOf, type SideColumn } from './row-hashes.ts'

/** How a row changed, by the version that has it, as Delta Lake names it. */
const kinds = {
  from: { other: 'delete', updated: 'update_preimage' },
  to: { other: 'insert', updated: 'update_postimage' },
} as const

/** The rows that differ between two versions as an Arrow IPC file, as a whole. */
export async function queryChanges(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  options: ChangesOptions,
): Promise<Uint8Array> {
  const changes = await findChanges(job, from, to, options)
  return wholeAnswer(changes.answer, changedBatches(job, changes, options))
}

/** The same: as a whole if they are few, otherwise in parts that are created on demand. */
export async function streamChanges(
  job: Job,
  from: LoadedSnapshot,
  to: LoadedSnapshot,
  options: ChangesOptions,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  const changes = await findChanges(job, from, to, options, streamedBytes)
  return answerInParts(changes.answer, changedBatches(job, changes, options))
}

/** The changed rows of two versions, and the answer that they go to. */
interface Changes {
  readonly from: ChangedSide
  readonly to: ChangedSide
  readonly columns: ComparedColumns
  readonly answer: AnswerEncoder
}

async function findChanges(
  job: Job,
  before: LoadedSnapshot,
  after: LoadedSnapshot,
  options: ChangesOptions,
  batchBytes?: number,
): Promise<Changes> {
  const { memory, maxBytes, plain, withRowId } = options
  const columns = comparedColumns(before, after, options.columns, options.on)
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
  const metadata = new Map([...(after.schema.metadata ?? []), ...Object.entries(options.metadata ?? {})])
  const picks = fields.map((field, i) => ({ field, path: [i] }))
  const made = { schema: { fields, metadata }, bytes: Number.POSITIVE_INFINITY }
  const layout = new AnswerLayout(made.schema, picks, plain)
  const answer = new AnswerEncoder(made, layout, maxBytes, batchBytes, plain)
  const { from, to } = await changedFragments(job, before, after, columns)
  await dropEqualRows(job, from, to, columns, memory)
  if (columns.keys.length > 0) await pairRows(job, from, to, columns, memory)
  return { from, to, columns, answer }
}

/** The rows in batches: those of the earlier version, and then those of the later one. */
async function* changedBatches(
  job: Job,
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
    const reader = new SideReader(job, side, columnsOf(columns.all, which), options.withRowId ?? false)
    const found = selected(side, kinds[which], range)
    for await (const { pieces, rows, perRow, bytes } of reader.read(found)) {
      if (held.isCounted) {
        if (!answer.isWhole) held.give(held.bytes)
        const taken = held.take(bytes + Math.min(rows * perRow, Math.max(perRow, streamedBytes)))
        if (taken) await taken
      }
      yield* answer.add(pieces, rows, perRow)
      job.report(rows, rowsTotal)
      if (job.due) await job.rest()
    }
  }
  job.signal?.throwIfAborted()
  for (const batch of answer.rest()) {
    const more = answer.isWhole ? answer.bytes - held.bytes : 0
    const taken = more > 0 ? held.take(more) : undefined
    if (taken) await taken
    yield batch
  }
}

/** Rows of a fragment that changed in one way. */
interface ChangedRows extends WantedRows {
  readonly kind: string
}

/** The rows that changed in each way, fragment by fragment, without the first `skip`, and at most as many as `left`. */
function* selected(
  { fragments }: ChangedSide,
  kinds: { readonly other: string; readonly updated: string },
  range: { skip: number; left: number },
): Generator<ChangedRows> {
  for (const { entry, rows, updated } of fragments) {
    const others = noRows(entry.rows)
    subtract(rows, updated, others, others.length)
    for (const [kind, bitmap] of [[kinds.other, others] as const, [kinds.updated, updated] as const]) {
      if (range.left <= 0) return
      const count = countRows(bitmap)
      if (count <= range.skip) {
        range.skip -= count
        continue
      }
      const selection = selectRows(bitmap, entry.rows, range.skip, range.left)
      range.skip -= selection.skipped
      range.left -= selection.rows
      yield { entry: { ...entry, liveBefore: 0 }, selection, kind }
    }
  }
}

/** Some rows of the answer, the bytes of each, and the bytes that were read for them. */
interface ReadRows {
  readonly pieces: readonly (readonly Piece[])[]
  readonly rows: number
  readonly perRow: number
  readonly bytes: number
}

/** Reads rows of one version as rows of the answer. */
class SideReader {
  readonly #columns: readonly SideColumn[]
  readonly #withRowId: boolean
  readonly #reader: AnswerReader
  readonly #side: ChangedSide
  readonly #indices: readonly number[]

  constructor(job: Job, side: ChangedSide, columns: readonly SideColumn[], withRowId: boolean) {
    const { fields } = side.snapshot.schema
    const present = columns.flatMap(({ index }) => index ?? [])
    this.#columns = columns
    this.#withRowId = withRowId
    this.#side = side
    // A fragment must be read to know that it is there, even if it has none of the columns.
    this.#indices = withRowId || present.length === 0 ? [...present, fields.length] : present
    const picks = this.#indices.map((index) => ({
      path: [index],
      field: fields[index] ?? rowColumns[index - fields.length]!,
    }))
    this.#reader = new AnswerReader(job, side.snapshot, picks, new Set(this.#indices))
  }

  async *read(found: Iterable<ChangedRows>): AsyncGenerator<ReadRows> {
    const { schema } = this.#side.snapshot
    for await (const { wanted, bytes: few, made } of this.#reader.rowsOf(found)) {
      const whole = bytesOf(schema, wanted.entry, this.#indices)
      const perRow = whole / Math.max(1, wanted.entry.rows) + wanted.kind.length + 4
      for await (const { pieces, rows } of made) {
        const all = this.#answerOf(pieces, rows, wanted.kind)
        yield { pieces: all, rows, perRow, bytes: few ?? whole }
      }
    }
  }

  /** The columns of the answer, in their order: nulls for those that this version lacks. */
  #answerOf(read: readonly (readonly Piece[])[], rows: number, kind: string): Piece[][] {
    let next = 0
    const columns = this.#columns.map(({ index, name, type }) => {
      if (index === undefined)
        return repeated((count) => nullBatch(type, count, Number.POSITIVE_INFINITY), rows)
      const pieces = read[next++]!
      const given = pieces[0]!.batch.type
      if (typeName(given) === typeName(type)) return [...pieces]
      const batch = asType(assemble(given, pieces), type, name)
      return [{ batch, runs: [0, batch.length] }]
    })
    if (this.#withRowId) columns.push([...read[next]!])
    return [...columns, repeated((count) => textBatch(kind, count), rows)]
  }
}

/** Rows of a batch that is repeated for as many rows as are needed. */
const repeatedRows = 16_384

function repeated(make: (rows: number) => AnyBatch, rows: number): Piece[] {
  const pieces: Piece[] = []
  const batch = make(Math.min(rows, repeatedRows))
  for (let at = 0; at < rows; at += batch.length)
    pieces.push({ batch, runs: [0, Math.min(batch.length, rows - at)] })
  return pieces
}

/** A batch of one text, again and again. */
function textBatch(text: string, length: number): AnyBatch {
  const one = Buffer.from(text)
  const values = new Uint8Array(one.length * length)
  const offsets = new Int32Array(length + 1)
  for (let row = 0; row < length; row++) {
    values.set(one, row * one.length)
    offsets[row + 1] = (row + 1) * one.length
  }
  return makeBatch(changeType.type, { length, offsets, values })
}
