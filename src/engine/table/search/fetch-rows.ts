import { type AnyBatch, byteLength, bytesOfRow, makeBatch, type Values } from '../../arrow/batch.ts'
import { childFields } from '../../arrow/layout.ts'
import { assembleColumns, detach } from '../../arrow/take/assemble-columns.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import { assemble, type Piece } from '../../arrow/take/take.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { AnswerReader, type AnswerRows } from '../read/answer-reader.ts'
import type { Pick } from '../read/projection.ts'
import type { FragmentPosition } from '../scan/row-columns.ts'

/** The position of a row in a table: its row in the fragment, plus the number of the fragment times this. */
export const fragmentPlaces = 2 ** 32

/** A fragment with found rows. */
export type FoundFragment = FragmentEntry & Required<FragmentPosition>

/** Rows by their positions, in any order. A row may occur more than once. */
export interface RowsToFetch {
  readonly positions: ArrayLike<number>
  readonly fragments: readonly FoundFragment[]
  /** The vectors of the rows if the search kept them, for the column at `path`. */
  readonly vectors?: { readonly path: number; readonly of: ReadonlyMap<number, Values> }
  /** Reserves the memory of the rows that were read. */
  readonly onBytes: (bytes: number) => Promise<void> | undefined
}

/** Rows of each batch, and about the most bytes. */
const rowsAtOnce = 8_192
const bytesAtOnce = 16 << 20

/**
 * Fetches columns of rows: each fragment is read once, and only its wanted rows are kept. Yields batches of some
 * thousand rows in the order of the positions, and only an empty list if no column is picked.
 */
export async function* fetchRows(
  job: Job,
  snapshot: LoadedSnapshot,
  picks: readonly Pick[],
  wanted: RowsToFetch,
): AsyncGenerator<readonly AnyBatch[]> {
  if (picks.length === 0) return yield []
  const { positions } = wanted
  const { byFragment, kept } = grouped(positions)
  const columns = new Map<number, readonly AnyBatch[]>()
  let fetched = 0
  for await (const [fragment, batches, bytes] of fetchColumns(job, snapshot, picks, wanted, byFragment)) {
    columns.set(fragment, batches)
    fetched += bytes
  }
  const fields = picks.map(({ field }) => field)
  const taken = { count: picks.length, columns, positions, kept }
  // A row that is near several vectors is returned for each.
  let answered = 0
  for (let start = 0, end = 0; start < positions.length; start = end) {
    let bytes = 0
    for (end = start; end < Math.min(positions.length, start + rowsAtOnce) && bytes < bytesAtOnce; end++) {
      const batches = columns.get(Math.floor(positions[end]! / fragmentPlaces))!
      for (const batch of batches) bytes += bytesOfRow(batch, kept[end]!)
    }
    const more = Math.max(0, answered + bytes - Math.max(fetched, answered))
    answered += bytes
    const waits = more > 0 ? wanted.onBytes(more) : undefined
    if (waits) await waits
    yield* assembleColumns(fields, piecesOf(taken, start, end))
    if (job.due) await job.rest()
  }
}

/** The columns of the wanted rows of each fragment, and their bytes. */
async function* fetchColumns(
  job: Job,
  snapshot: LoadedSnapshot,
  picks: readonly Pick[],
  { positions, fragments, vectors, onBytes }: RowsToFetch,
  byFragment: ReadonlyMap<number, readonly number[]>,
): AsyncGenerator<readonly [fragment: number, columns: readonly AnyBatch[], bytes: number]> {
  const path = vectors && hasAll(vectors.of, positions) ? vectors.path : undefined
  const areKept = picks.map((pick) => pick.path?.length === 1 && pick.path[0] === path)
  const others = picks.filter((_, i) => !areKept[i])
  const reader = new AnswerReader(job, snapshot, others, columnsOf(others))
  const parts = Array.from(byFragment, ([fragment, rows]) => {
    const runs = new RunBuilder()
    for (const row of rows) runs.add(row, row + 1)
    const entry = fragments[fragment]!
    return { entry, selection: { runs: runs.done(), rows: runs.rows }, fragment, rows }
  })
  for await (const { wanted, made: rowsMade } of reader.rowsOf(parts)) {
    const { fragment, rows } = wanted
    let counted = 0
    const onMade = (bytes: number) => {
      counted += bytes
      return onBytes(bytes)
    }
    const made = others.length === 0 ? [] : await takeRows(rowsMade, others, onMade)
    const vectorsOf = () => rows.map((row) => vectors!.of.get(fragment * fragmentPlaces + row)!)
    const columns = picks.map(({ field }, i) => (areKept[i] ? ofVectors(field, vectorsOf()) : made.shift()!))
    let bytes = 0
    for (const batch of columns) bytes += byteLength(batch)
    const waits = onBytes(Math.max(0, bytes - counted))
    if (waits) await waits
    yield [fragment, columns, bytes]
    if (job.due) await job.rest()
  }
}

function hasAll(vectors: ReadonlyMap<number, Values>, positions: ArrayLike<number>): boolean {
  for (let i = 0; i < positions.length; i++) if (!vectors.has(positions[i]!)) return false
  return true
}

/** The columns of a table that picks use, row columns included. */
export function columnsOf(picks: readonly Pick[]): ReadonlySet<number> {
  const columns = new Set<number>()
  for (const { path, expression } of picks)
    for (const index of expression?.columns ?? [path![0]!]) columns.add(index)
  return columns
}

/** The wanted rows of each fragment, in order, and the index of each position among these. */
function grouped(positions: ArrayLike<number>) {
  const order = Float64Array.from(positions).sort()
  const byFragment = new Map<number, number[]>()
  const keptAt = new Map<number, number>()
  for (const position of order) {
    if (keptAt.has(position)) continue
    const fragment = Math.floor(position / fragmentPlaces)
    const rows = byFragment.get(fragment) ?? []
    byFragment.set(fragment, rows)
    keptAt.set(position, rows.push(position - fragment * fragmentPlaces) - 1)
  }
  return { byFragment, kept: Int32Array.from(positions, (position) => keptAt.get(position)!) }
}

async function takeRows(
  parts: AsyncGenerator<AnswerRows>,
  picks: readonly Pick[],
  onMade: RowsToFetch['onBytes'],
): Promise<AnyBatch[]> {
  const pieces: Piece[][] = picks.map(() => [])
  for await (const made of parts) {
    const waits = made.bytes > 0 ? onMade(made.bytes) : undefined
    if (waits) await waits
    for (const [i, column] of made.pieces.entries()) pieces[i]!.push(...column)
  }
  return picks.map(({ field }, i) => detach(assemble(field.type, pieces[i]!)))
}

/** A column of vectors that the search kept. */
function ofVectors({ type }: Pick['field'], vectors: readonly Values[]): AnyBatch {
  const [first] = vectors as readonly Float32Array[]
  const size = first!.length
  const values = new (first!.constructor as Float32ArrayConstructor)(vectors.length * size)
  for (const [i, vector] of vectors.entries()) values.set(vector as Float32Array, i * size)
  const item = childFields(type)[0]!.type
  return makeBatch(type, {
    length: vectors.length,
    children: [makeBatch(item, { length: values.length, values })],
  })
}

/** The wanted rows of all fragments. */
interface TakenRows {
  /** How many columns they have. */
  readonly count: number
  /** Their columns, by the number of the fragment. */
  readonly columns: ReadonlyMap<number, readonly AnyBatch[]>
  readonly positions: ArrayLike<number>
  /** The index of each position in the columns of its fragment. */
  readonly kept: Int32Array
}

/** The pieces of each column for the positions from `start` to `end`. Neighbours from one fragment are one piece. */
function piecesOf({ count, columns, positions, kept }: TakenRows, start: number, end: number): Piece[][] {
  const pieces: Piece[][] = Array.from({ length: count }, () => [])
  let runs: number[] = []
  let current = -1
  for (let i = start; i < end; i++) {
    const fragment = Math.floor(positions[i]! / fragmentPlaces)
    if (fragment !== current) {
      runs = []
      current = fragment
      for (const [c, batch] of columns.get(fragment)!.entries()) pieces[c]!.push({ batch, runs })
    }
    runs.push(kept[i]!, kept[i]! + 1)
  }
  return pieces
}
