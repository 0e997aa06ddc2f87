import type { Predicate } from '../../predicate/index.ts'
import { fragmentsOf, type LoadedSnapshot } from '../format/snapshot.ts'
import { IndexLookup } from '../indexes/index-lookup.ts'
import type { Job } from '../job.ts'
import { compile } from '../scan/compile.ts'
import { prune } from '../scan/evaluate.ts'
import { withPositions, withRowColumns } from '../scan/row-columns.ts'
import { distanceColumn } from '../search/distance-column.ts'
import { planSearch, type SearchPlan } from '../search/search.ts'
import type { QueryOptions, VectorSearch } from '../table-engine.ts'
import type { Pick } from './projection.ts'
import { planQuery } from './query.ts'
import type { SortKey } from './sort-keys.ts'

/**
 * The plan of a query: a line for each step, the last step first, each nested within the previous one. Steps have their
 * names in DataFusion and Lance, whose plans people know. The first step computes the columns, and the second one
 * returns the rows of the answer.
 */
export async function explainQuery(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
): Promise<string[]> {
  const steps = options.search
    ? await searchSteps(job, snapshot, options, options.search)
    : await querySteps(job, snapshot, options)
  return steps.map((step, i) => `${'  '.repeat(i)}${step}`)
}

async function querySteps(job: Job, snapshot: LoadedSnapshot, options: QueryOptions): Promise<string[]> {
  // Too large queries are only refused when they are run.
  const plan = await planQuery(job, snapshot, { ...options, maxBytes: undefined })
  const { answer, keys, predicate, skip, limit } = plan
  // Clients write a large number for no limit.
  const hasLimit = limit < Number.MAX_SAFE_INTEGER
  return [
    `ProjectionExec: expr=[${names(answer.distinct)}]`,
    ...(skip > 0 || hasLimit ? [limitStep(skip, limit)] : []),
    ...(keys.length > 0 ? [sortStep(keys, hasLimit ? skip + limit : undefined)] : []),
    ...(predicate ? [`FilterExec: ${predicate.text}`] : []),
    await scanStep(
      job,
      snapshot,
      predicate,
      readOf(snapshot, predicate?.columns ?? []),
      predicate && IndexLookup.of(job.storage, snapshot, predicate),
    ),
  ]
}

async function searchSteps(
  job: Job,
  snapshot: LoadedSnapshot,
  options: QueryOptions,
  search: VectorSearch,
): Promise<string[]> {
  const plan: SearchPlan = await planSearch(job, snapshot, options, search)
  const { task, columns, limit, offset, now } = plan
  const { filter } = options
  const predicate = plan.filter === 'before' ? await compile(filter!, snapshot.schema, now, job) : undefined
  const { lower, upper } = task
  const range = [
    ...(lower === undefined ? [] : [`${distanceColumn} >= ${lower}`]),
    ...(upper === undefined ? [] : [`${distanceColumn} < ${upper}`]),
  ]
  const { name, element, dimension } = task.column
  const nearestFirst = { name: distanceColumn, path: [], direction: 1, nullsFirst: false } as const
  return [
    `ProjectionExec: expr=[${columns.fields.map((field) => field.name).join(', ')}]`,
    ...(plan.order.length > 0 ? [sortStep(plan.order)] : []),
    limitStep(offset, limit),
    ...(plan.filter === 'after' ? [`FilterExec: ${filter}`] : []),
    sortStep([nearestFirst], task.limit),
    ...(range.length > 0 ? [`FilterExec: ${range.join(' AND ')}`] : []),
    `KNNVectorDistance: metric=${task.measure}, column=${name}, type=${element}, dimension=${dimension}, vectors=${task.queries.length}`,
    ...(predicate ? [`FilterExec: ${filter}`] : []),
    await scanStep(
      job,
      snapshot,
      predicate,
      readOf(snapshot, [task.column.path[0]!, ...(predicate?.columns ?? [])]),
    ),
  ]
}

/** The read of the table, and what statistics and indexes exclude. */
async function scanStep(
  job: Job,
  snapshot: LoadedSnapshot,
  predicate: Predicate | undefined,
  read: readonly string[],
  lookup?: IndexLookup,
): Promise<string> {
  const found = { none: 0, some: 0, all: 0 }
  let skipped = 0
  let indexed = 0
  for await (const entry of withPositions(fragmentsOf(job.storage, snapshot))) {
    const verdict = predicate ? prune(predicate, snapshot.schema, entry) : 'all'
    found[verdict]++
    if (verdict === 'none') skipped += entry.rows
    if (verdict === 'some' && lookup?.serves(entry)) indexed++
    if (job.due) await job.rest()
  }
  const { fragments, rows, deletedRows } = snapshot
  const statistics = predicate
    ? `, pruned_fragments=${found.none}, pruned_rows=${skipped}, matching_fragments=${found.all}${lookup ? `, indexed_fragments=${indexed}` : ''}`
    : ''
  return `DataSourceExec: projection=[${read.join(', ')}], fragments=${fragments}, rows=${rows}, deleted_rows=${deletedRows}${statistics}`
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

function limitStep(skip: number, fetch: number): string {
  return `GlobalLimitExec: skip=${skip}, fetch=${fetch < Number.MAX_SAFE_INTEGER ? fetch : 'None'}`
}

/** Sorts all rows, or keeps the first ones only. */
function sortStep(keys: readonly SortKey[], fetch?: number): string {
  const order = keys.map(
    ({ name, direction, nullsFirst }) =>
      `${name} ${direction === 1 ? 'ASC' : 'DESC'} NULLS ${nullsFirst ? 'FIRST' : 'LAST'}`,
  )
  return `SortExec: ${fetch === undefined ? '' : `TopK(fetch=${fetch}), `}expr=[${order.join(', ')}]`
}
