import type { Identifier } from '../base/model/identifier.ts'
import { type Kind, kindOf } from './model/kind.ts'
import type { ListedTransaction } from './model/latest.ts'
import { get, getText, listTransactions, post, ServerError, settings } from './server.ts'

/*
 * What the views of namespaces tell of the catalog. Each request is bounded: its cost grows with what is shown, not with
 * the catalog.
 */

/** How many there are; `isMore` says that they were not all counted. */
export interface Count {
  readonly count: number
  readonly isMore: boolean
}

interface ListedTables {
  readonly tables: readonly string[]
  readonly page_token?: string
}

/** The most names that a view reads of each listing. */
const readAtOnce = 1_000
/** The bounds of a count that somebody asked for. */
const countedAtOnce = 10_000
const mostCounted = 100_000

export interface NamespaceFacts {
  readonly properties: Readonly<Record<string, string>>
  readonly namespaces: readonly string[]
  readonly namespaceCount: Count
  readonly tables: readonly Identifier[]
  readonly tableCount: Count
}

/** A namespace with its first names, and counts of up to a thousand. */
export async function namespaceFacts(id: Identifier, signal: AbortSignal): Promise<NamespaceFacts> {
  const query = { limit: readAtOnce }
  const [{ properties = {} }, listed, below] = await Promise.all([
    post<{ properties?: Record<string, string> }>('namespace', id, 'describe', { body: {}, signal }),
    get<ListedTables>('namespace', id, 'table/list', { query, signal }),
    get<{ namespaces: string[]; page_token?: string }>('namespace', id, 'list', { query, signal }),
  ])
  const { tables, page_token } = listed
  const { namespaces } = below
  return {
    properties,
    namespaces,
    namespaceCount: { count: namespaces.length, isMore: !!below.page_token },
    tables: tables.map((table) => idOf(id, table)),
    tableCount: { count: tables.length, isMore: !!page_token },
  }
}

/** The identifier of a table in the listing of a namespace. */
export function idOf(namespace: Identifier, listed: string): Identifier {
  return settings.listing === 'children' ? [...namespace, listed] : listed.split('$')
}

/** Counts the tables of a namespace, up to a hundred thousand. */
export async function countTables(id: Identifier, signal: AbortSignal): Promise<Count> {
  let count = 0
  let page_token: string | undefined
  do {
    const query = { limit: countedAtOnce, page_token }
    const page = await get<ListedTables>('namespace', id, 'table/list', { query, signal })
    count += page.tables.length
    page_token = page.page_token || undefined
  } while (page_token !== undefined && count < mostCounted)
  return { count, isMore: page_token !== undefined }
}

export interface TableFacts {
  readonly kind: Kind
  readonly version?: number | undefined
  readonly millis?: number | undefined
  /** The operation that made the latest version, while its transaction is recorded. */
  readonly operation?: string | undefined
  readonly rows?: number | undefined
  readonly bytes?: number | undefined
}

interface LatestVersion {
  readonly version: number
  readonly timestamp_millis?: number
  readonly operation?: string
}

/** What a table is, its latest version and its size. Undefined if it is gone, or not the caller's to see. */
export async function tableFacts(id: Identifier, signal: AbortSignal): Promise<TableFacts | undefined> {
  const latest = { descending: true, limit: 1, with_transactions: true }
  const [described, listed] = await Promise.all([
    unlessRefused(
      post<{ properties?: Record<string, string> }>('table', id, 'describe', { body: {}, signal }),
    ),
    unlessRefused(get<{ versions: LatestVersion[] }>('table', id, 'version/list', { query: latest, signal })),
  ])
  if (described === undefined) return undefined
  const kind = kindOf(described.properties)
  const [last] = listed?.versions ?? []
  // The rows of other engines' tables are not known here.
  const stats =
    last && kind === 'Table'
      ? await unlessRefused(get<{ total_bytes: number; num_rows: number }>('table', id, 'stats', { signal }))
      : undefined
  return {
    kind,
    version: last?.version,
    millis: last?.timestamp_millis,
    operation: last?.operation,
    rows: stats?.num_rows,
    bytes: stats?.total_bytes,
  }
}

/** Undefined where a server refuses to answer: nothing is there, or it is not allowed or not supported. */
async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ServerError && [403, 404, 405, 406].includes(error.status)) return undefined
    throw error
  }
}

export interface DroppedTable {
  readonly id: Identifier
  readonly table_id: string
  readonly dropped_at: string
  readonly retained_until: string
}

export interface Dropped {
  readonly tables: readonly DroppedTable[]
  readonly isMore: boolean
}

/** The most dropped tables that are shown. */
const maxDropped = 50

/** The dropped tables of a namespace that are held. None on servers that hold none, or have no such operation. */
export async function droppedTables(id: Identifier, signal: AbortSignal): Promise<Dropped> {
  const asked = get<{ dropped: DroppedTable[]; page_token?: string }>('namespace', id, 'table/dropped', {
    query: { limit: maxDropped },
    signal,
  })
  const { dropped = [], page_token } = (await unlessRefused(asked)) ?? {}
  return { tables: dropped, isMore: !!page_token }
}

export interface Running {
  readonly transactions: readonly ListedTransaction[]
  /** Whether older records were not looked at. */
  readonly isMore: boolean
}

/**
 * The running transactions. `pages` are read at most. A page scans some thousand records, and running transactions are
 * usually among the newest.
 */
export async function runningTransactions(pages: number, signal: AbortSignal): Promise<Running> {
  const found: ListedTransaction[] = []
  let page_token: string | undefined
  for (let page = 0; page < pages; page++) {
    const body = { status: ['Queued', 'Running'], limit: 100, page_token }
    const answer = await listTransactions<{
      readonly transactions: readonly ListedTransaction[]
      readonly page_token?: string
    }>(body, signal)
    found.push(...answer.transactions)
    page_token = answer.page_token || undefined
    if (page_token === undefined || found.length >= 100) break
  }
  return { transactions: found, isMore: page_token !== undefined }
}

/** The metrics of the server. Undefined where it has none, or does not show them to the caller. */
export function serverMetrics(signal: AbortSignal): Promise<string | undefined> {
  return unlessRefused(getText('metrics', signal))
}
