import type { Schema } from '@uwdata/flechette'
import { noRows, subtract } from '../../arrow/bitmap.ts'
import { assemble, type Piece } from '../../arrow/take/take.ts'
import { typeName } from '../../arrow/type-name.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { AnswerReader, type WantedRows } from '../read/answer-reader.ts'
import { selectRows } from '../read/row-selection.ts'
import { readSelected } from '../read/selected-columns.ts'
import { bytesOf } from '../scan/prefetch-depth.ts'
import { rowColumns } from '../scan/row-columns.ts'
import type { OwnFragment } from './changed-fragments.ts'
import type { ChangedSide, ChangedValues, ReadRows, SideColumn, WantedChanges } from './changed-side.ts'
import { kindColumn, nullColumn } from './repeated-values.ts'
import { asType } from './row-hashes.ts'

/** Rows of one version that our engine wrote. */
export class OwnSide implements ChangedSide {
  readonly fragments: readonly OwnFragment[]
  readonly #job: Job
  readonly #snapshot: LoadedSnapshot

  constructor(job: Job, snapshot: LoadedSnapshot, fragments: readonly OwnFragment[]) {
    this.#job = job
    this.#snapshot = snapshot
    this.fragments = fragments
  }

  get schema(): Schema {
    return this.#snapshot.schema
  }

  async *values(columns: readonly SideColumn[]): AsyncGenerator<ChangedValues> {
    const indices = columns.flatMap(({ index }) => index ?? [])
    for (const fragment of this.fragments) {
      const { entry } = fragment
      const selection = selectRows(fragment.rows, entry.rows, 0, entry.rows)
      if (selection.rows === 0) continue
      const read = await readSelected(this.#job.storage, this.#snapshot, entry, indices, selection)
      const batches = columns.map(({ index, name, type }) =>
        index === undefined ? undefined : asType(read.rows.columns[index]!, type, name),
      )
      const rows = rowsOf(selection.runs, selection.rows)
      yield { fragment, rows, batches, at: read.isAlone ? (i) => i : (i) => rows[i]! }
    }
  }

  async *answers(wanted: WantedChanges): AsyncGenerator<ReadRows> {
    const { columns, withRowId } = wanted
    const { schema } = this.#snapshot
    const { fields } = schema
    const present = columns.flatMap(({ index }) => index ?? [])
    // A fragment must be read to know that it is there, even if it has none of the columns.
    const indices = withRowId || present.length === 0 ? [...present, fields.length] : present
    const picks = indices.map((index) => ({
      path: [index],
      field: fields[index] ?? rowColumns[index - fields.length]!,
    }))
    const reader = new AnswerReader(this.#job, this.#snapshot, picks, new Set(indices))
    for await (const { wanted: found, bytes: few, made } of reader.rowsOf(this.#selected(wanted))) {
      const whole = bytesOf(schema, found.entry, indices)
      const perRow = whole / Math.max(1, found.entry.rows) + found.kind.length + 4
      for await (const { pieces, rows } of made) {
        const all = answerOf(wanted, pieces, rows, found.kind)
        yield { pieces: all, rows, perRow, bytes: few ?? whole }
      }
    }
  }

  /** The rows that changed in each way, fragment by fragment. */
  *#selected({ kinds, range }: WantedChanges): Generator<WantedRows & { readonly kind: string }> {
    for (const { entry, rows, updated } of this.fragments) {
      const others = noRows(entry.rows)
      subtract(rows, updated, others, others.length)
      for (const [kind, bitmap] of [[kinds.other, others] as const, [kinds.updated, updated] as const]) {
        if (range.left <= 0) return
        const selection = selectRows(bitmap, entry.rows, range.skip, range.left)
        range.skip -= selection.skipped
        range.left -= selection.rows
        if (selection.rows > 0) yield { entry: { ...entry, liveBefore: 0 }, selection, kind }
      }
    }
  }
}

/** The columns of the answer, in their order: nulls for those that this version lacks. */
function answerOf(
  { columns, withRowId }: WantedChanges,
  read: readonly (readonly Piece[])[],
  rows: number,
  kind: string,
): Piece[][] {
  let next = 0
  const answered = columns.map(({ index, name, type }) => {
    if (index === undefined) return nullColumn(type, rows)
    const pieces = read[next++]!
    const given = pieces[0]!.batch.type
    if (typeName(given) === typeName(type)) return [...pieces]
    const batch = asType(assemble(given, pieces), type, name)
    return [{ batch, runs: [0, batch.length] }]
  })
  if (withRowId) answered.push([...read[next]!])
  return [...answered, kindColumn(kind, rows)]
}

function rowsOf(runs: ArrayLike<number>, count: number): Uint32Array {
  const rows = new Uint32Array(count)
  let at = 0
  for (let i = 0; i < runs.length; i += 2)
    for (let row = runs[i]!; row < runs[i + 1]!; row++) rows[at++] = row
  return rows
}
