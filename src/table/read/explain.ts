import type { Predicate } from '../../predicate/index.ts'
import { TimeSlice } from '../../scheduling/time-slice.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { compile, prune } from '../scan/fragment.ts'
import { placed, withRowColumns } from '../scan/row-columns.ts'
import { planSearch, type SearchPlan } from '../search/search.ts'
import type { Storage } from '../storage/objects.ts'
import type { QueryOptions, VectorSearch } from '../table-engine.ts'
import type { Pick } from './projection.ts'
import { planQuery } from './query.ts'
import type { SortKey } from './sort-keys.ts'

/** How a query would be run: a line for each step, the last step first, each within the one before. */
export async function explainQuery(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<string[]> {
  const steps = options.search
    ? await searchSteps(storage, snapshot, options, options.search)
    : await querySteps(storage, snapshot, options)
  return steps.map((step, i) => `${'  '.repeat(i)}${step}`)
}

async function querySteps(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<string[]> {
  // What is too large is refused when it is run.
  const plan = await planQuery(storage, snapshot, { ...options, maxBytes: undefined })
  const { answer, keys, predicate, skip, limit } = plan
  const isCut = skip > 0 || limit !== Number.POSITIVE_INFINITY
  const cut = isCut ? `offset=${skip} limit=${limit === Number.POSITIVE_INFINITY ? 'none' : limit}` : 'all'
  return [
    `Columns: ${names(answer.distinct)}`,
    ...(keys.length > 0 ? [`Order: ${order(keys)} ${isCut ? `keep the best ${skip + limit}` : 'all'}`] : []),
    `Rows: ${cut}`,
    ...(predicate ? [`Filter: ${predicate.text}`] : []),
    await scanStep(storage, snapshot, predicate, readOf(snapshot, predicate?.columns ?? []), plan.timeSlice),
  ]
}

async function searchSteps(
  storage: Storage,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  search: VectorSearch,
): Promise<string[]> {
  const timeSlice = new TimeSlice(options.signal)
  const plan: SearchPlan = await planSearch(storage, snapshot, options, search, timeSlice)
  const { task, columns, limit, offset, now } = plan
  const { filter } = options
  const predicate =
    plan.filter === 'before' ? await compile(filter!, snapshot.schema, now, timeSlice) : undefined
  const range =
    task.lower === undefined && task.upper === undefined
      ? ''
      : ` from ${task.lower ?? '-infinity'} below ${task.upper ?? 'infinity'}`
  const { name, element, dimension } = task.column
  return [
    `Columns: ${columns.fields.map((field) => field.name).join(', ')}`,
    ...(plan.order.length > 0 ? [`Order: ${order(plan.order)}`] : []),
    `Rows: offset=${offset} limit=${limit}`,
    ...(plan.filter === 'after' ? [`Filter: ${filter} (of the rows found)`] : []),
    `Nearest: ${task.queries.length} of ${dimension} by ${task.measure}${range}, compared with every vector of ${name} (${element}), keep ${task.most}`,
    ...(predicate ? [`Filter: ${filter}`] : []),
    await scanStep(
      storage,
      snapshot,
      predicate,
      readOf(snapshot, [task.column.path[0]!, ...(predicate?.columns ?? [])]),
      timeSlice,
    ),
  ]
}

/** What is read of the table, and what statistics leave out. */
async function scanStep(
  storage: Storage,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  read: readonly string[],
  timeSlice: TimeSlice,
): Promise<string> {
  const found = { none: 0, some: 0, all: 0 }
  let skipped = 0
  for await (const entry of placed(fragmentsOf(storage, snapshot))) {
    const verdict = predicate ? prune(predicate, snapshot.schema, entry) : 'all'
    found[verdict]++
    if (verdict === 'none') skipped += entry.rows
    if (timeSlice.due) await timeSlice.rest()
  }
  const { fragments, rows, deletedRows } = snapshot
  const total = `${fragments} fragments, ${rows} rows, ${deletedRows} deleted`
  const statistics = predicate
    ? `; by statistics ${found.none} fragments with ${skipped} rows are skipped, and ${found.all} match as a whole`
    : ''
  return `Scan: ${total}${statistics}; reads ${read.length === 0 ? 'no column' : read.join(', ')}`
}

function readOf({ schema }: LoadedSnapshot, columns: readonly number[]): string[] {
  const { fields } = withRowColumns(schema)
  return [...new Set(columns)].map((index) => fields[index]!.name)
}

function names(picks: readonly Pick[]): string {
  return picks
    .map(({ field, expression }) => (expression ? `${field.name} (computed)` : field.name))
    .join(', ')
}

function order(keys: readonly SortKey[]): string {
  return keys
    .map(
      ({ name, direction, nullsFirst }) =>
        `${name} ${direction === 1 ? 'asc' : 'desc'} nulls ${nullsFirst ? 'first' : 'last'}`,
    )
    .join(', ')
}
