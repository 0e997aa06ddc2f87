import { float32, int32, type Schema } from '@uwdata/flechette'
import { invalid } from '../../../base/errors.ts'
import type { TimeSlice } from '../../../base/scheduling/time-slice.ts'
import { performance } from '../../../base/time.ts'
import { type AnyBatch, byteLength, makeBatch } from '../../arrow/batch.ts'
import { allRows, hasRow } from '../../arrow/bitmap.ts'
import { encodeArrow, joinParts } from '../../arrow/ipc/encode.ts'
import { assemble, wholeOf } from '../../arrow/take/take.ts'
import type { Predicate } from '../../predicate/index.ts'
import type { LoadedSnapshot } from '../format/snapshot.ts'
import type { Job } from '../job.ts'
import { tooLarge } from '../read/answer.ts'
import { PlainColumns } from '../read/plain-columns.ts'
import type { SortKey } from '../read/sort-keys.ts'
import { bound } from '../read/sort-keys.ts'
import { compile, compileValues } from '../scan/compile.ts'
import { selectMatches, valueParts } from '../scan/evaluate.ts'
import type { SearchTask } from '../scan/message.ts'
import { readsOffsets } from '../scan/row-columns.ts'
import type { QueryOptions, VectorSearch } from '../table-engine.ts'
import { answerColumns, type DistanceExpression, type SearchColumns } from './answer-columns.ts'
import { DistanceInputs, withDistance } from './distance-column.ts'
import { columnsOf, fetchRows, type RowsToFetch } from './fetch-rows.ts'
import { type Found, findNearest } from './find-nearest.ts'
import { copiesHaveRoom } from './fragment-copy.ts'
import { searchesOf } from './search-fragment.ts'
import type { Hits } from './search-order.ts'
import { inOrder, searchOrder } from './search-order.ts'
import { columnToSearch, measureFor, queryVector } from './vector-column.ts'

/** Rows for each vector, if the request has no limit. LanceDB has the same default. */
const defaultLimit = 10

/** Most rows that one search ranks, for all its vectors together. They take some 20 bytes each. */
const maxRanked = 1_000_000

/** Most rows whose vectors are kept when they are found. For more, the column is read again if it is requested. */
const maxWithVectors = 1_000

/** A search, checked against the columns of a table. */
export interface SearchPlan {
  readonly task: SearchTask
  readonly columns: SearchColumns
  readonly order: readonly SortKey[]
  /** The time for all texts of the query. */
  readonly now: number
  readonly limit: number
  readonly offset: number
  readonly filter: 'none' | 'before' | 'after'
}

/** Checks a search, and plans it. Reads nothing. */
export async function planSearch(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  search: VectorSearch,
): Promise<SearchPlan> {
  const { schema } = snapshot
  const limit = bound('limit', options.limit) ?? defaultLimit
  const offset = bound('offset', options.offset) ?? 0
  const { vectors, lower, upper } = search
  if (limit === 0) throw invalid('A search for the nearest 0 rows finds nothing. Ask for k of 1 or more.')
  const dimension = dimensionOf(vectors)
  const column = columnToSearch(schema, search.column, dimension)
  const searches = searchesOf({ column, queries: vectors })
  const most = Math.min(limit + offset, Math.max(1, snapshot.rows))
  if (most * searches > maxRanked) {
    throw invalid(
      `The search asks for ${(most * searches).toLocaleString('en')} rows, with those that offset passes over and for all its vectors. The most is ${maxRanked.toLocaleString('en')}. Ask for a smaller k, or for fewer vectors at once.`,
    )
  }
  const now = job.storage.now()
  const compiled = (text: string, schema: Schema) => compileValues(text, schema, now, job)
  const columns = await answerColumns(schema, options, searches > 1, compiled, job)
  const order = options.orderBy ? searchOrder(schema, options.orderBy, options.maxKeys) : []
  const isWanted = columns.picks.some(({ path }) => path?.length === 1 && path[0] === column.path[0])
  return {
    task: {
      column,
      measure: measureFor(column, search.measure),
      queries: vectors.map((vector, i) => queryVector(column, vector, i)),
      lower,
      upper,
      limit: most,
      mayCopy: copiesHaveRoom(job.storage, snapshot, column),
      withVectors:
        isWanted && !column.isList && column.path.length === 1 && most * searches <= maxWithVectors,
    },
    columns,
    order,
    now,
    limit,
    offset,
    filter: options.filter === undefined ? 'none' : search.prefilter === false ? 'after' : 'before',
  }
}

function dimensionOf([first, ...others]: VectorSearch['vectors']): number {
  const dimension = first?.length ?? 0
  if (dimension === 0) throw invalid('The query vector is empty. Give its components.')
  const index = others.findIndex(({ length }) => length !== dimension)
  if (index >= 0) {
    throw invalid(
      `Query vector ${index + 1} has dimension ${others[index]!.length}, and query vector 0 has dimension ${dimension}. Give vectors of one dimension.`,
    )
  }
  return dimension
}

/** The rows with the nearest vectors, as an Arrow IPC file. */
export async function searchRows(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  search: VectorSearch,
): Promise<Uint8Array> {
  const plan = await planSearch(job, snapshot, options, search)
  const { onStep } = options
  let started = performance.now()
  const { hits, found } = await runSearch(job, snapshot, plan, options)
  onStep?.({ name: 'rows', rows: hits.positions.length, milliseconds: performance.now() - started })
  started = performance.now()
  const { columns } = plan
  const { maxBytes = Number.POSITIVE_INFINITY } = options
  let plainBytes = 0
  const plain =
    options.plain &&
    new PlainColumns(columns.fields, options.plain, (bytes) => {
      plainBytes += bytes
      if (plainBytes > maxBytes) throw tooLarge(maxBytes)
    })
  const batches: (readonly AnyBatch[])[] = []
  let row = 0
  const wanted = toFetch(hits.positions, found, plan, options)
  for await (const batch of fetchRows(job, snapshot, columns.picks, wanted)) {
    const end = row + (batch[0]?.length ?? hits.positions.length)
    const made: AnyBatch[] = []
    const distances = hits.distances.slice(row, end)
    for (const from of columns.from) {
      if (typeof from === 'number') made.push(batch[from]!)
      else if (typeof from === 'string') made.push(own(from, hits, row, end))
      else made.push(await computeFromDistances(from, batch, distances, job, wanted.onBytes))
    }
    if (plain) batches.push(...plain.of(made))
    else batches.push(made)
    row = end
  }
  const fields = [...(plain?.fields ?? columns.fields)]
  const schema: Schema = { fields, metadata: snapshot.schema.metadata ?? null }
  const parts = encodeArrow(
    schema,
    schema.fields.map((_, i) => batches.map((batch) => batch[i]!)),
  )
  job.signal?.throwIfAborted()
  onStep?.({ name: 'columns', rows: hits.positions.length, milliseconds: performance.now() - started })
  return joinParts(parts)
}

/** Finds the rows of the answer, without their columns. */
async function runSearch(
  job: Job,
  snapshot: LoadedSnapshot,
  plan: SearchPlan,
  { filter, memory, maxBytes }: QueryOptions,
): Promise<{ hits: Hits; found: Found }> {
  const { task, limit, offset } = plan
  const taken = memory?.take(task.limit * searchesOf(task) * 24)
  if (taken) await taken
  const predicate =
    plan.filter === 'before' ? await compile(filter!, snapshot.schema, plan.now, job) : undefined
  const read = [...columnsOf(plan.columns.picks), ...(predicate?.columns ?? [])]
  // A filter after the search, or an order, may use it, too.
  const hasOffsets = plan.filter === 'after' || plan.order.length > 0 || readsOffsets(snapshot.schema, read)
  const found = await findNearest(job, snapshot, task, predicate, hasOffsets)
  let hits = hitsOf(found)
  if (plan.filter === 'after') {
    const rows = toFetch(hits.positions, found, plan, { memory, maxBytes })
    const filtering = await compile(filter!, withDistance(snapshot.schema), plan.now, job)
    const keep = await postFilter(job, snapshot, filtering, hits, rows)
    hits = only(hits, (i) => keep[i] === 1)
  }
  // Each search found at most `limit` rows, unless some are passed over.
  if (offset > 0) {
    let query = -1
    let passed = 0
    hits = only(hits, (i) => {
      if (hits.queries[i] !== query) passed = 0
      query = hits.queries[i]!
      const rank = passed++
      return rank >= offset && rank - offset < limit
    })
  }
  if (plan.order.length > 0) {
    const rows = toFetch(hits.positions, found, plan, { memory, maxBytes })
    hits = await inOrder(job, snapshot, hits, plan.order, rows)
  }
  return { hits, found }
}

function toFetch(
  positions: Float64Array,
  { fragments, vectors }: Found,
  { task }: SearchPlan,
  { memory, maxBytes = Number.POSITIVE_INFINITY }: Pick<QueryOptions, 'memory' | 'maxBytes'>,
): RowsToFetch {
  let bytes = 0
  return {
    positions,
    fragments,
    ...(task.withVectors && { vectors: { path: task.column.path[0]!, of: vectors } }),
    onBytes: (more) => {
      bytes += more
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      // The rows that were read, the batches of them, and the file.
      return memory?.take(more * 3)
    },
  }
}

function hitsOf({ nearest }: Found): Hits {
  let count = 0
  for (const { positions } of nearest) count += positions.length
  const hits = {
    positions: new Float64Array(count),
    distances: new Float32Array(count),
    queries: new Int32Array(count),
  }
  let at = 0
  for (const [q, { positions, distances }] of nearest.entries()) {
    hits.positions.set(positions, at)
    hits.distances.set(distances, at)
    hits.queries.fill(q, at, at + positions.length)
    at += positions.length
  }
  return hits
}

function only({ positions, distances, queries }: Hits, isWanted: (index: number) => boolean): Hits {
  const kept: number[] = []
  for (let i = 0; i < positions.length; i++) if (isWanted(i)) kept.push(i)
  return {
    positions: Float64Array.from(kept, (i) => positions[i]!),
    distances: Float32Array.from(kept, (i) => distances[i]!),
    queries: Int32Array.from(kept, (i) => queries[i]!),
  }
}

/** Which of the found rows match a filter, which may use their distance: 1 for those that do. */
async function postFilter(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate,
  { distances }: Hits,
  rows: RowsToFetch,
): Promise<Uint8Array> {
  const budget = predicate.budget()
  const inputs = new DistanceInputs(snapshot.schema, predicate.columns)
  const keep = new Uint8Array(distances.length)
  let start = 0
  for await (const batches of fetchRows(job, snapshot, inputs.picks, rows)) {
    const end = start + (batches[0]?.length ?? distances.length)
    const columns = inputs.columns(batches, distances.slice(start, end))
    const fragment = { rows: { length: end - start, columns }, live: allRows(end - start) }
    const matches = await selectMatches(predicate, fragment, job, budget)
    for (let i = start; i < end; i++) if (hasRow(matches, i - start)) keep[i] = 1
    start = end
  }
  return keep
}

/** A column that is computed from distances. */
async function computeFromDistances(
  { expression, budget, inputs, first, offsets }: DistanceExpression,
  batch: readonly AnyBatch[],
  distances: Float32Array,
  timeSlice: TimeSlice,
  onBytes: RowsToFetch['onBytes'],
): Promise<AnyBatch> {
  const rows = { length: distances.length, columns: inputs.columns(batch.slice(first, offsets), distances) }
  const numberOf = (row: number) => Number(batch[offsets]!.at(row))
  const parts: AnyBatch[] = []
  for await (const part of valueParts(expression, rows, timeSlice, { budget, numberOf })) {
    const waits = onBytes(byteLength(part))
    if (waits) await waits
    parts.push(part)
  }
  return assemble(expression.type, parts.map(wholeOf))
}

/** A column that the search itself computes. */
function own(column: 'distance' | 'query', { distances, queries }: Hits, from: number, to: number): AnyBatch {
  return column === 'distance'
    ? makeBatch(float32(), { length: to - from, values: distances.slice(from, to) })
    : makeBatch(int32(), { length: to - from, values: queries.slice(from, to) })
}
