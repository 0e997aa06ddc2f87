import { prefetch } from '../../../base/scheduling/prefetch.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { performance } from '../../../base/time.ts'
import { joinParts } from '../../arrow/ipc/encode.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { FragmentEntry } from '../format/manifest.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import type { TableSchema } from '../format/table-schema.ts'
import type { Job } from '../job.ts'
import { bytesOfCompiled, compile, compileValues, isLasting, keyOfMade } from '../scan/compile.ts'
import { prune } from '../scan/evaluate.ts'
import { readsOffsets, withPositions } from '../scan/row-columns.ts'
import { startScan } from '../scan/scan.ts'
import { searchRows } from '../search/search.ts'
import type { QueryOptions } from '../table-engine.ts'
import { AnswerEncoder, type ColumnBatches, inChunks, streamedBytes } from './answer.ts'
import { AnswerLayout } from './answer-layout.ts'
import { AnswerReader } from './answer-reader.ts'
import { HeldMemory } from './held-memory.ts'
import { countLoaded, selectLoaded } from './loaded-rows.ts'
import { orderedRows } from './ordered.ts'
import { batchAt, projection } from './projection.ts'
import { type SelectedRows, selectedRows } from './selected-rows.ts'
import { bound, type SortKey, sortKeys } from './sort-keys.ts'

/** The requested rows as an Arrow IPC file, as a whole. */
export async function queryRows(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array> {
  if (options.search) return searchRows(job, snapshot, options, options.search)
  const plan = await planQuery(job, snapshot, options)
  const loaded = await loadedBatches(job, snapshot, options, plan)
  if (loaded) return joinParts(plan.answer.whole(loaded))
  return wholeAnswer(plan.answer, readBatches(job, snapshot, options, plan))
}

/** The file of an answer as a whole. */
export async function wholeAnswer(
  answer: AnswerEncoder,
  batches: AsyncGenerator<ColumnBatches>,
): Promise<Uint8Array> {
  const all: ColumnBatches[] = []
  for await (const batch of batches) all.push(batch)
  return joinParts(answer.whole(all))
}

/**
 * The requested rows as an Arrow IPC file: as a whole if they are few, otherwise in parts that are created on demand.
 * Errors that can be found in advance are thrown before the first part.
 */
export async function streamRows(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  if (options.search) return searchRows(job, snapshot, options, options.search)
  const plan = await planQuery(job, snapshot, options, streamedBytes)
  const loaded = await loadedBatches(job, snapshot, options, plan)
  if (loaded) return together(plan.answer.whole(loaded))
  return answerInParts(plan.answer, readBatches(job, snapshot, options, plan))
}

/** The file of an answer: as a whole if its rows are few, otherwise in parts that are created on demand. */
export async function answerInParts(
  answer: AnswerEncoder,
  batches: AsyncGenerator<ColumnBatches>,
): Promise<Uint8Array | AsyncIterable<Uint8Array>> {
  if (answer.isWhole) {
    const all: ColumnBatches[] = []
    for await (const batch of batches) all.push(batch)
    return all.length <= 1 ? together(answer.whole(all)) : inChunks(answer.whole(all))
  }
  const first = await batches.next()
  if (first.done) return joinParts(answer.whole([]))
  const second = await batches.next()
  if (second.done) return together(answer.whole([first.value]))
  return inChunks(answer.stream([first.value, second.value], batches))
}

/** Joins the parts of an answer, unless that would take much more memory: columns may share theirs. */
function together(parts: Uint8Array[]): Uint8Array | AsyncIterable<Uint8Array> {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0)
  return bytes <= 2 * streamedBytes ? joinParts(parts) : inChunks(parts)
}

/** A query whose names and expressions are resolved. */
export interface QueryPlan {
  readonly answer: AnswerEncoder
  readonly keys: readonly SortKey[]
  readonly predicate: Predicate | undefined
  readonly skip: number
  readonly limit: number
}

/** Resolves the names and texts of a query, and refuses invalid ones. */
export async function planQuery(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  batchBytes?: number,
): Promise<QueryPlan> {
  const { schema } = snapshot
  // All texts of a query use the same time.
  const now = job.storage.now()
  const layout = await layoutFor(job, schema, options, now)
  const skip = bound('offset', options.offset) ?? 0
  const limit = bound('limit', options.limit) ?? Number.POSITIVE_INFINITY
  const answer = new AnswerEncoder(snapshot, layout, options.maxBytes, batchBytes, options.plain)
  const keys = sortKeys(schema, options.orderBy ?? [], options.maxKeys)
  const { filter } = options
  if (filter === undefined) await answer.checkSize(fragmentsOf(job.storage, snapshot), skip, limit)
  const predicate = filter === undefined ? undefined : await compile(filter, schema, now, job)
  return { answer, keys, predicate, skip, limit }
}

/** The columns that a query asks for. They are kept by what names them, if they are the same at any time. */
async function layoutFor(
  job: Job,
  schema: TableSchema,
  options: QueryOptions,
  now: number,
): Promise<AnswerLayout> {
  const { columns, withRowId, plain } = options
  const { cache } = job.storage
  const text = columns === undefined ? '' : JSON.stringify(columns)
  const key = keyOfMade(withRowId ? 'answer with ids' : 'answer', schema, text)
  const isCommon = plain === undefined && schema.metadata === null
  const known = isCommon ? cache.made<AnswerLayout>(key) : undefined
  if (known) return known
  const picks = await projection(schema, options, (text) => compileValues(text, schema, now, job), job)
  const layout = new AnswerLayout(schema, picks, plain)
  const isLastingText = picks.every(
    ({ expression }) => expression === undefined || isLasting(expression, schema),
  )
  // What follows encodes all columns at once.
  if (job.due) await job.rest()
  if (isCommon && !layout.isWhole && isLastingText)
    cache.keepMade(key, layout, bytesOfCompiled(text) + layout.file.bytes)
  return layout
}

/**
 * The batches of an answer whose columns lie in memory and belong to few rows; undefined for any other, which
 * `readBatches` reads.
 */
async function loadedBatches(
  job: Job,
  snapshot: LoadedSnapshot,
  { memory, onStep }: QueryOptions,
  { answer, keys, predicate, skip, limit }: QueryPlan,
): Promise<ColumnBatches[] | undefined> {
  if (keys.length > 0 || onStep || answer.isWhole || answer.isComputed) return undefined
  const selected = await selectLoaded(job, snapshot, { predicate, skip, limit, columns: answer.indices })
  if (selected === undefined) return undefined
  const held = new HeldMemory(memory)
  const batches: ColumnBatches[] = []
  for (const { entry, selection, columns } of selected) {
    const { rows, runs } = selection
    if (held.isCounted) {
      held.give(held.bytes)
      const taken = held.take(answer.bytesToHold(entry, rows))
      if (taken) await taken
    }
    const pieces = answer.distinct.map(({ path, field }) => [
      { batch: batchAt(path!, field.name, columns), runs },
    ])
    for (const batch of answer.add(pieces, rows, answer.bytesPerRow(entry))) batches.push(batch)
  }
  job.signal?.throwIfAborted()
  for (const batch of answer.rest()) batches.push(batch)
  return batches
}

/** Reads the rows in batches, and reserves the memory for them. */
async function* readBatches(
  job: Job,
  snapshot: LoadedSnapshot,
  { memory, onStep }: QueryOptions,
  { answer, keys, predicate, skip, limit }: QueryPlan,
): AsyncGenerator<ColumnBatches> {
  const picks = answer.distinct
  const held = new HeldMemory(memory)
  const onComputed = (pick: number, bytes: number) => {
    answer.checkMade(pick, bytes)
    return held.take(bytes)
  }
  const reader = new AnswerReader(job, snapshot, picks, answer.indices, onComputed)
  const columns = [...answer.indices]
  const started = performance.now()
  let scan: { readonly count: number; readonly milliseconds: number } = { count: 0, milliseconds: 0 }
  if (keys.length > 0 && limit > 0) {
    const onFound = (count: number) => {
      scan = { count, milliseconds: performance.now() - started }
    }
    const ordered = { predicate, keys, skip, limit, columns, memory, picks, onFound }
    for await (const { pieces, rows, perRow } of orderedRows(job, snapshot, reader, ordered)) {
      yield* answer.add(pieces, rows, perRow)
    }
  } else if (limit > 0) {
    const found = selectedRows(job, snapshot, { predicate, skip, limit, columns })
    const timed = onStep && new TimedRows(found)
    if (timed) scan = timed
    yield* batchesAsStored(timed ? timed.rows() : found, reader, answer, held, job)
  }
  job.signal?.throwIfAborted()
  for (const batch of answer.rest()) {
    // Many columns may use one dictionary, which is written for each of them.
    const more = answer.isWhole ? answer.bytes - held.bytes : 0
    const taken = more > 0 ? held.take(more) : undefined
    if (taken) await taken
    yield batch
  }
  if (onStep) {
    onStep({ name: 'rows', rows: scan.count, milliseconds: scan.milliseconds })
    const rest = performance.now() - started - scan.milliseconds
    onStep({ name: 'columns', rows: Math.min(limit, scan.count), milliseconds: rest })
  }
}

/** The full batches of rows in insertion order. */
async function* batchesAsStored(
  selected: AsyncGenerator<SelectedRows>,
  reader: AnswerReader,
  answer: AnswerEncoder,
  held: HeldMemory,
  timeSlice: TimeSlice,
): AsyncGenerator<ColumnBatches> {
  for await (const { wanted, bytes: few, made } of reader.rowsOf(selected)) {
    const { entry, selection } = wanted
    if (held.isCounted) {
      if (!answer.isWhole) held.give(held.bytes)
      const taken = held.take(answer.bytesToHold(entry, selection.rows, few))
      if (taken) await taken
    }
    // Once a batch was released, the computed values before it are not needed any more.
    let before = 0
    for await (const { pieces, rows, bytes } of made) {
      let isFree = false
      for (const batch of answer.add(pieces, rows, answer.bytesPerRow(entry) + bytes / rows)) {
        yield batch
        isFree = answer.isStreamed
        if (timeSlice.due) await timeSlice.rest()
      }
      if (isFree) {
        held.give(before)
        before = 0
      }
      before += bytes
    }
  }
}

/** Rows that were selected, and how long that took. */
class TimedRows {
  count = 0
  milliseconds = 0
  readonly #selected: AsyncGenerator<SelectedRows>

  constructor(selected: AsyncGenerator<SelectedRows>) {
    this.#selected = selected
  }

  async *rows(): AsyncGenerator<SelectedRows> {
    try {
      for (;;) {
        const started = performance.now()
        const { done, value } = await this.#selected.next()
        this.milliseconds += performance.now() - started
        if (done) return
        this.count += value.selection.rows
        yield value
      }
    } finally {
      await this.#selected.return(undefined)
    }
  }
}

/** Counts the rows that match a predicate. Without a predicate it counts all rows and reads none. */
export async function countMatching(
  job: Job,
  snapshot: LoadedSnapshot,
  text: string | undefined,
): Promise<number> {
  if (text === undefined) return snapshot.rows
  const { schema } = snapshot
  const predicate = await compile(text, schema, job.storage.now(), job)
  const loaded = await countLoaded(job, snapshot, predicate)
  if (loaded !== undefined) return loaded
  const scan = await startScan(job, snapshot, predicate)
  const begin = async (entry: FragmentEntry) => {
    const verdict = prune(predicate, schema, entry)
    return { entry, verdict, count: verdict === 'some' ? await scan.begin(entry, 'count') : undefined }
  }
  const rowsTotal = snapshot.rows + snapshot.deletedRows
  let sum = 0
  try {
    const fragments = fragmentsOf(job.storage, snapshot)
    const entries = readsOffsets(schema, predicate.columns) ? withPositions(fragments) : fragments
    for await (const { entry, verdict, count } of prefetch(entries, begin, scan)) {
      if (count) sum += await count()
      else if (verdict === 'all') sum += entry.rows - (entry.deletions?.count ?? 0)
      job.report(entry.rows, rowsTotal)
      if (job.due) await job.rest()
    }
  } finally {
    scan.end()
  }
  return sum
}
