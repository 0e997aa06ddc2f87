import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import {
  flag,
  identifier,
  limit,
  name,
  nextPageToken,
  pageToken,
  requestFields,
  responseFields,
  text,
} from '../../base/model/fields.ts'
import { checkDelimiter, type Identifier } from '../../base/model/identifier.ts'
import { keys } from '../../base/store/records.ts'
import type { Reader } from '../../base/store/store.ts'
import { joinIdentifier, type PageFilter, pageOfNames, pageOfTables, readPage } from '../listing/paging.ts'
import type { LocationContext } from '../locations/context.ts'
import { inspectionOf, isCreated } from '../locations/declared-only.ts'
import { findNamespace, readTable } from '../lookup/names.ts'
import { operation } from './framework/operation.ts'
import { get, listedStatuses, pageQuery } from './framework/route.ts'

export const listTablesResponse = v.object({
  ...responseFields,
  tables: v.array(text),
  page_token: nextPageToken,
})

/** The fields of a listing of tables in a query string. */
export const listTablesQuery = { ...pageQuery, include_declared: 'boolean' } as const

/** The fields of a listing of tables besides the namespace. */
export const listTablesFields = {
  page_token: pageToken,
  /** The most names: 1,000 when absent, never more than 10,000. */
  limit: v.nullish(limit),
  /** Whether tables that are only declared are listed; true when absent. */
  include_declared: v.nullish(flag),
  /** What joins the names of an identifier: 1 to 8 characters, `$` when absent. */
  delimiter: v.nullish(text),
}

const request = v.object({
  ...requestFields,
  id: identifier,
  ...listTablesFields,
  /** Whether tables in the namespaces below are listed too; true when absent. Not part of the protocol. */
  recursive: v.nullish(flag),
  /** Without `recursive`: begins after this name when there is no `page_token`. Not part of the protocol. */
  start_after: v.nullish(name),
})

/**
 * Lists the tables in a namespace and in all namespaces below it, a page at a time. The answers hold full identifiers
 * in string form, in order of their names' UTF-8 bytes. A table that exists during the whole walk comes exactly once,
 * whatever changes around it. The walk ends with the page that has no `page_token`. With `recursive` false, only the
 * tables directly in the namespace are listed.
 *
 * ```ts
 * const { tables } = await catalog.listTables({ id: ['prod'] })   // ['prod$flights', 'prod$eu$trains']
 * ```
 */
export const listTables = operation({
  name: 'listTables',
  summary: 'List the tables in a namespace and below it.',
  request,
  response: listTablesResponse,
  errors: ['NamespaceNotFound'],
  changes: false,
  // Only the content of tables shows which of them are declared only.
  isFromStore: ({ include_declared }) => include_declared !== false,
  route: { ...get('/v1/namespace/{id}/table/list', listTablesQuery), statuses: [...listedStatuses, 406] },
  command: {
    group: 'Tables',
    aliases: ['list', 'ls'],
    id: 'namespace',
    rootByDefault: true,
    lists: { field: 'tables', item: 'table' },
    options: { recursive: 'leave out what lies in the namespaces below' },
    examples: ['./catalog', './catalog prod --no-include-declared', 'http://127.0.0.1:2333 --json'],
  },
  run: async (core, asked) => {
    const { id, page_token, limit, delimiter: given, start_after } = asked
    const delimiter = checkDelimiter(given)
    const includeDeclared = asked.include_declared ?? true
    const recursive = asked.recursive ?? true
    if (recursive && start_after != null) {
      throw invalid('start_after goes with recursive: false only; use page_token to go on with a listing.')
    }
    const created = includeDeclared ? undefined : createdTablesFilter(core, recursive)
    const { items, ...more } = await readPage<Identifier>(
      core,
      { listing: ['tables', id, includeDeclared, ...(recursive ? [] : ['children'])], page_token, limit },
      (reader, after, size) => {
        const namespace = findNamespace(reader, id)
        const item = (path: Identifier, parent: string) =>
          created === undefined || created.isCandidate(reader, path, parent) ? path : undefined
        if (recursive) return pageOfTables(reader, { id: namespace, path: id }, after, size, item)
        return pageOfNames(
          reader,
          keys.tables(namespace),
          after ?? (start_after == null ? undefined : [start_after]),
          size,
          (table) => item([...id, table], namespace),
        )
      },
      created,
    )
    return { tables: items.map((item) => joinIdentifier(item, delimiter)), ...more }
  },
})

/** A page ends early, with a token, after this many tables that are only declared. */
const maxDropped = 1_000

/** How many locations are listed at the same time. */
const parallelListings = 16

/** A page filter with a cheap first test, which needs only the store. */
interface CreatedTablesFilter extends PageFilter<Identifier> {
  /** Whether a table may pass the filter. `parent` is the internal id of the table's namespace. */
  readonly isCandidate: (reader: Reader, path: Identifier, parent: string) => boolean
}

/** Drops tables that are only declared. For some tables, only the objects at their location show that. */
function createdTablesFilter(core: LocationContext, recursive: boolean): CreatedTablesFilter {
  const undecided = new Map<Identifier, () => Promise<boolean>>()
  const filter: PageFilter<Identifier> = {
    // Clients may page through direct children by the last name. An empty page would give them no name.
    maxDropped: recursive ? maxDropped : Number.POSITIVE_INFINITY,
    keep: async (items) => {
      const kept: Identifier[] = []
      for (let at = 0; at < items.length; at += parallelListings) {
        const some = items.slice(at, at + parallelListings)
        const created = await Promise.all(
          some.map((item) => {
            const inspect = undecided.get(item)
            // One unreadable location must not fail the whole listing.
            return inspect === undefined || inspect().catch(() => false)
          }),
        )
        kept.push(...some.filter((_, i) => created[i]))
      }
      undecided.clear()
      return kept
    },
  }
  const isCandidate = (reader: Reader, path: Identifier, parent: string): boolean => {
    const table = readTable(reader, parent, path.at(-1)!)!
    if (isCreated(table.record)) return true
    const inspect = inspectionOf(core, table)
    if (inspect) undecided.set(path, inspect)
    return inspect !== undefined
  }
  return { ...filter, isCandidate }
}
