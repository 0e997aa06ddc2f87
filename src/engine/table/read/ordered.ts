import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { type AnyBatch, byteLength } from '../../arrow/batch.ts'
import { addRow, type Bitmap, bitsOf, forEachRow, noRows } from '../../arrow/bitmap.ts'
import { assembleColumns } from '../../arrow/take/assemble-columns.ts'
import { RunBuilder } from '../../arrow/take/runs.ts'
import { assemble, type Piece, wholeOf } from '../../arrow/take/take.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import type { AnswerReader } from './answer-reader.ts'
import { type FoundRows, findOrdered, type Ordered } from './find-ordered.ts'
import { columnOfKey, keyOfColumn } from './key-columns.ts'
import type { Pick } from './projection.ts'
import { maxSortedBytes } from './sort-rows.ts'

/** Rows that are put in order at once. */
const chunkRows = 4_096

/** Rows in the order of keys, without the first `skip`. */
export interface OrderedRows extends Ordered {
  readonly picks: readonly Pick[]
  /** Called with the number of rows that were compared, once the rows of the answer are found. */
  readonly onFound: (rows: number) => void
}

/** The pieces of each column of the answer, in the order of the keys. */
export async function* orderedRows(
  job: Job,
  snapshot: LoadedSnapshot,
  reader: AnswerReader,
  { picks, onFound, ...ordered }: OrderedRows,
): AsyncGenerator<{
  readonly pieces: readonly (readonly Piece[])[]
  readonly rows: number
  readonly perRow: number
}> {
  const found = await findOrdered(job, snapshot, reader, ordered)
  onFound(found.seen)
  const { rows } = found
  if (rows.length === 0) return
  const known: (AnyBatch | undefined)[] = []
  let bytes = found.bytes
  for (const pick of picks) {
    const key = keyOfColumn(ordered.keys, snapshot.schema.fields.length, pick)
    const column = key === undefined ? undefined : await columnOfKey(found, key, pick.field.type, job)
    if (column) bytes += byteLength(column)
    known.push(column)
  }
  const others = [...picks.keys()].filter((i) => known[i] === undefined)
  const gathering = { reader: reader.only(others), picks: others.map((i) => picks[i]!), found, bytes }
  const gathered = await gatherRows(job, gathering)
  const perRow = (gathered.bytes - found.bytes) / rows.length
  for (let at = 0; at < rows.length; at += chunkRows) {
    const end = Math.min(rows.length, at + chunkRows)
    const taken = takeRows(gathered.columns, gathered.positions.subarray(at, end))
    const pieces = known.map((batch) => (batch ? [{ batch, runs: [at, end] }] : taken.shift()!))
    yield { pieces, rows: end - at, perRow }
    if (job.due) await job.rest()
  }
}

/** Rows that are gathered from their fragments. */
interface Gathering {
  readonly reader: AnswerReader
  readonly picks: readonly Pick[]
  readonly found: FoundRows
  /** Bytes that are held already. */
  readonly bytes: number
}

/** Reads the found rows of each fragment, one fragment after the other. */
async function gatherRows(job: Job, { reader, picks, found, bytes }: Gathering) {
  const { rows, fragments, sources } = found
  await found.hold(bytes)
  if (picks.length === 0) return { columns: [], positions: new Int32Array(0), bytes }
  const { positions, wanted } = await grouped(fragments, rows, sources, job)
  const gathered: AnyBatch[][] = picks.map(() => [])
  const parts = Array.from(wanted, ([fragment, runs]) => ({
    entry: sources[fragment]!,
    selection: { runs: runs.done(), rows: runs.rows },
  }))
  for await (const part of reader.rowsOf(parts)) {
    for await (const { pieces } of part.made) {
      bytes += gather(picks, pieces, gathered)
      if (bytes > maxSortedBytes) throw tooLarge()
      await found.hold(bytes)
      if (job.due) await job.rest()
    }
  }
  return { columns: await joined(picks, gathered, job), positions, bytes }
}

/** Adds copies of rows to those gathered, and returns the bytes of the copies. */
function gather(
  picks: readonly Pick[],
  pieces: readonly (readonly Piece[])[],
  gathered: readonly AnyBatch[][],
): number {
  let bytes = 0
  for (const [i, { field }] of picks.entries()) {
    // A single piece would be a view, which keeps the whole fragment in memory. Two pieces are copied.
    const batch = assemble(field.type, [...pieces[i]!, { batch: pieces[i]![0]!.batch, runs: [] }])
    bytes += byteLength(batch)
    gathered[i]!.push(batch)
  }
  return bytes
}

/** Rows at some positions. They are taken chunk by chunk, as all at once would block other work. */
function takeRows(columns: readonly AnyBatch[], positions: Int32Array): Piece[][] {
  const builder = new RunBuilder()
  for (const position of positions) builder.add(position, position + 1)
  const runs = builder.done()
  return columns.map((batch) => [wholeOf(assemble(batch.type, [{ batch, runs }]))])
}

/** All rows of each column in one batch, so that they can be taken in any order. */
async function joined(
  picks: readonly Pick[],
  gathered: readonly (readonly AnyBatch[])[],
  timeSlice: TimeSlice,
): Promise<readonly AnyBatch[]> {
  const columns: AnyBatch[] = []
  for (const [i, { field }] of picks.entries()) {
    const whole = assembleColumns([field], [gathered[i]!.map(wholeOf)])
    if (whole.length !== 1) throw tooLarge()
    columns.push(whole[0]![0]!)
    if (timeSlice.due) await timeSlice.rest()
  }
  return columns
}

/** The rows of each fragment, as runs, and the position of each row among those of all fragments. */
function grouped(
  fragments: Int32Array,
  rows: Int32Array,
  sources: readonly { readonly rows: number }[],
  timeSlice: TimeSlice,
): Grouped | Promise<Grouped> {
  return rows.length > chunkRows
    ? groupedMany(fragments, rows, sources, timeSlice)
    : groupedFew(fragments, rows)
}

interface Grouped {
  readonly positions: Int32Array
  readonly wanted: ReadonlyMap<number, RunBuilder>
}

/** Takes no longer if fragments have many other rows. */
function groupedFew(fragments: Int32Array, rows: Int32Array): Grouped {
  const order = Int32Array.from(rows, (_, i) => i)
  order.sort((a, b) => fragments[a]! - fragments[b]! || rows[a]! - rows[b]!)
  const positions = new Int32Array(rows.length)
  const wanted = new Map<number, RunBuilder>()
  for (const [position, at] of order.entries()) {
    positions[at] = position
    const runs = wanted.get(fragments[at]!) ?? new RunBuilder()
    runs.add(rows[at]!, rows[at]! + 1)
    wanted.set(fragments[at]!, runs)
  }
  return { positions, wanted }
}

/** The wanted rows of a fragment. */
interface Part {
  readonly rows: Bitmap
  /** Their number before each word of the bitmap, and in previous fragments. */
  readonly before: Int32Array
}

async function groupedMany(
  fragments: Int32Array,
  rows: Int32Array,
  sources: readonly { readonly rows: number }[],
  timeSlice: TimeSlice,
) {
  const parts: (Part | undefined)[] = sources.map(() => undefined)
  for (let i = 0; i < rows.length; i++) {
    const fragment = fragments[i]!
    let part = parts[fragment]
    if (part === undefined) {
      const bitmap = noRows(sources[fragment]!.rows)
      part = { rows: bitmap, before: new Int32Array(bitmap.length) }
      parts[fragment] = part
    }
    addRow(part.rows, rows[i]!)
    if ((i & 8191) === 0 && timeSlice.due) await timeSlice.rest()
  }
  let count = 0
  const wanted = new Map<number, RunBuilder>()
  for (const [fragment, part] of parts.entries()) {
    if (part === undefined) continue
    const runs = new RunBuilder()
    for (let q = 0; q < part.rows.length; q++) {
      part.before[q] = count
      count += bitsOf(part.rows[q]!)
    }
    forEachRow(part.rows, (row) => runs.add(row, row + 1))
    wanted.set(fragment, runs)
    if (timeSlice.due) await timeSlice.rest()
  }
  const positions = new Int32Array(rows.length)
  for (let i = 0; i < rows.length; i++) {
    const part = parts[fragments[i]!]!
    const row = rows[i]!
    const q = row >>> 5
    positions[i] = part.before[q]! + bitsOf(part.rows[q]! & ((1 << (row & 31)) - 1))
    if ((i & 8191) === 0 && timeSlice.due) await timeSlice.rest()
  }
  return { positions, wanted }
}

function tooLarge(): Error {
  return invalid(
    `Sorting these rows would take more than ${maxSortedBytes.toLocaleString('en')} bytes of memory. Give a limit, ask for fewer columns, or leave rows out by a filter.`,
  )
}
