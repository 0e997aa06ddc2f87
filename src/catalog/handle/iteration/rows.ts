import { CatalogError, invalid } from '../../../base/errors.ts'
import type { OperationOptions } from '../../operations/framework/operation.ts'
import type { OperationMethods, QueryTableRequest } from '../../operations/types/methods.ts'
import type { RowsRequest } from './types.ts'

/** Rows of the first page. How many the next ones have follows from the bytes that the rows take. */
const firstPage = 1_000
/** About how many bytes a page has. */
const pageBytes = 4 * 1024 * 1024
/** A page has at most this many times the rows of the one before, whose rows may have been short by chance. */
const growth = 16

/** Fields of a query that `rows` has no place for, and why. Its types forbid them, and JavaScript does not. */
const refused: Readonly<Record<Exclude<keyof QueryTableRequest, keyof RowsRequest>, string>> = {
  order_by: 'its rows come in the order they were inserted',
  vector: 'it does not search',
  full_text_query: 'it does not search',
  k: 'its limit is the most rows in all',
  with_row_id: 'its rows are those that were inserted',
}

/** The rows of a table as plain objects, asked for in pages of one version. */
export async function* rowsInPages(
  handle: Pick<OperationMethods, 'queryTable' | 'describeTable' | 'getTableTagVersion'>,
  given: RowsRequest,
  options: OperationOptions,
): AsyncGenerator<Record<string, unknown>, undefined> {
  for (const [field, why] of Object.entries(refused)) {
    if ((given as Readonly<Record<string, unknown>>)[field] == null) continue
    throw invalid(`rows takes no ${field}: ${why}. Ask queryTable, which takes ${field}.`)
  }
  const { decodeArrow, plainRows } = await import('../../../engine/arrow/index.ts')
  let left = given.limit ?? Number.POSITIVE_INFINITY
  let offset = given.offset ?? 0
  let size = firstPage
  // Rows of one page are of one version anyway.
  const asked = left <= size ? given : { ...given, ...(await versionOf(handle, given, options)) }
  do {
    const limit = atMost(left, size)
    const page = await pageOf(handle, { ...asked, limit, offset }, options)
    const table = await decodeArrow(page.data, { maxDecodedBytes: Number.MAX_SAFE_INTEGER })
    yield* plainRows(table)
    if (table.numRows < page.limit) return undefined
    left -= table.numRows
    offset += table.numRows
    const perRow = Math.max(1, page.data.byteLength / Math.max(1, table.numRows))
    size = Math.max(1, Math.min(Math.floor(pageBytes / perRow), page.limit * growth))
  } while (left > 0)
  return undefined
}

/** The smaller one. A `left` that is no number is returned, and the query refuses it. */
function atMost(left: number, size: number): number {
  if (left <= size) return left
  return typeof left === 'number' && !Number.isNaN(left) ? size : left
}

/** Which version the rows are of, for all pages. */
async function versionOf(
  { describeTable, getTableTagVersion }: Pick<OperationMethods, 'describeTable' | 'getTableTagVersion'>,
  { id, version, tag, at, branch, context, identity }: RowsRequest,
  options: OperationOptions,
): Promise<Partial<RowsRequest>> {
  // The query itself refuses a wrong request.
  if (version != null || !Array.isArray(id)) return {}
  const common = { id, context, identity }
  if (tag != null) {
    if (branch != null && branch !== '') return {}
    return {
      tag: undefined,
      branch: undefined,
      ...pick(await getTableTagVersion({ ...common, tag }, options)),
    }
  }
  return {
    at: undefined,
    ...pick(await describeTable({ ...common, branch, at, load_detailed_metadata: true }, options)),
  }
}

function pick({ version, branch }: { version?: number | undefined; branch?: string | undefined }) {
  return { ...(version !== undefined && { version }), ...(branch !== undefined && { branch }) }
}

/** A page, of fewer rows if the answer would be too large. */
async function pageOf(
  handle: Pick<OperationMethods, 'queryTable'>,
  request: QueryTableRequest & { readonly limit: number },
  options: OperationOptions,
): Promise<{ data: Uint8Array; limit: number }> {
  for (let limit = request.limit; ; limit = Math.ceil(limit / 16)) {
    try {
      const { data } = await handle.queryTable({ ...request, limit }, options)
      return { data, limit }
    } catch (error) {
      if (!(limit > 1 && error instanceof CatalogError && error.message.includes(tooLarge))) throw error
    }
  }
}

/** A part of the message of a query whose answer would be too large. */
const tooLarge = 'the most of one query'
