export type Method = 'GET' | 'POST'

/**
 * How a value is written in a query string: as it is, as a whole number, `true`/`false`, or a JSON object. Of `texts`,
 * each one of a list is a parameter of its own, and one alone is a text.
 */
export type QueryKind = 'text' | 'texts' | 'integer' | 'boolean' | 'map'

/**
 * How an operation travels over HTTP. The routes come from the service document, sections 4.1 to 4.9. Those of
 * operations that the document does not list come from the Lance Namespace protocol's OpenAPI file.
 */
export interface Route {
  /** The first one is the protocol's; the others are taken too, because clients disagree. */
  readonly methods: readonly [Method, ...Method[]]
  /** `{id}` stands for the request's `id`, another name in braces for the field of that name. */
  readonly path: string
  /** The fields of the request that travel in the query string, besides `delimiter`, which all take. */
  readonly query: Readonly<Record<string, QueryKind>>
  /** Fields that are read from the query string besides the body, for clients that send a GET. */
  readonly queryToo: Readonly<Record<string, QueryKind>>
  /**
   * What the body of the request is. `json` is an object with all fields that are not in path or query. `metadata`
   * is the bare map of that field, and `arrow` the Arrow IPC bytes of `data`.
   */
  readonly body: 'json' | 'metadata' | 'arrow' | 'none'
  /** What the body of the response is: its JSON object, the bare `count`, the bare text `plan` or `analysis`, the bare `metadata`, Arrow `data`. */
  readonly answer: 'json' | 'count' | 'plan' | 'analysis' | 'metadata' | 'arrow'
  /** Whether it reads or writes rows, and so may take long. */
  readonly rows: boolean
  /** Whether rows of an unknown length are written while they arrive. */
  readonly streams: boolean
  /**
   * The statuses of errors that the service document lists for it. Where that of a code is not among them, the answer
   * is 400 with that code: clients send a request again on 409. Absent for operations that the document does not have.
   */
  readonly statuses?: readonly number[]
}

/** The statuses that the service document lists for all of its operations. */
export const listedStatuses = [400, 401, 403, 404, 500, 503] as const

/** The route of an operation whose request is a JSON body, unless `more` says otherwise. */
export function post(path: string, more: Partial<Route> = {}): Route {
  return {
    methods: ['POST'],
    path,
    query: {},
    queryToo: {},
    body: 'json',
    answer: 'json',
    rows: false,
    streams: false,
    ...more,
  }
}

/** The route of an operation whose request has no body. */
export function get(path: string, query: Route['query']): Route {
  return { ...post(path), methods: ['GET'], query, body: 'none' }
}

/** The fields that say which version of a table is meant, as they travel in a query string. */
export const versionQuery = { version: 'integer', tag: 'text', at: 'text', branch: 'text' } as const

/** The fields by which a listing is read page by page, as they travel in a query string. */
export const pageQuery = { page_token: 'text', limit: 'integer' } as const
