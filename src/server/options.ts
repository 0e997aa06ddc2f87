import { invalid } from '../base/errors.ts'
import type { Identifier } from '../base/model/identifier.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'
import type { Catalog } from '../catalog/index.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import type { AuthOptions } from './auth/auth.ts'
import type { Principal, RequestInfo } from './auth/principal.ts'
import type { Mount } from './mount.ts'

/**
 * Decides whether a caller may run an operation on the namespace or table `id`, which is undefined when the path has no
 * identifier. False, or an error, refuses with 403. The server calls it before it reads the body, and again for each
 * table that only the body names: the new name of a renamed table, and every item of a batch. For an item, `operation`
 * is the name of the single operation.
 *
 * It is called again when the body has a location, which is in `request.location`, and for each table at that location,
 * also a deregistered one. For an operation on a transaction, `id` has the transaction's id. `alterTransaction` is
 * checked again with the subjects of the transaction. Calls with `describeTable` and `describeNamespace` decide what a
 * caller may see: other changes, transactions and names are hidden.
 */
export type AuthorizeRequest = (
  principal: Principal | undefined,
  operation: OperationName,
  id: Identifier | undefined,
  request: RequestInfo,
) => unknown

/** A refused request: without valid credentials (401), or without permission (403). */
export interface RefusedRequest {
  readonly requestId: string
  readonly method: string
  /** The path, without the query string. */
  readonly path: string
  readonly remoteAddress: string | undefined
  /** The name of the caller, if the credentials were valid. */
  readonly principal: string | undefined
  readonly operation: OperationName | undefined
  readonly status: number
}

/** How a catalog is served over HTTP. All options except `auth` have a default. */
export interface HttpOptions {
  /**
   * The accepted credentials. `false` accepts all callers over the loopback interface, and refuses the rest. It also
   * refuses requests that a proxy on this machine forwards, unless `trustProxy` identifies their callers.
   */
  readonly auth: AuthOptions | false
  readonly authorize?: AuthorizeRequest | undefined
  /** Called with each request that is refused with 401 or 403, for audit logs. It must not throw. */
  readonly onRefused?: ((refused: RefusedRequest) => void) | undefined
  /**
   * The form of table listings. `recursive` (the default) returns full identifiers of all tables at and below a
   * namespace. `children` returns the bare names of the tables directly in it, and the last name as page token. Set
   * `children` for LanceDB's `connectNamespace`. `describeTable` of a table with rows here then always returns version
   * and schema, so that this client does not overwrite the table. LanceDB's `connect` works with both.
   */
  readonly listing?: 'recursive' | 'children' | undefined
  /**
   * The handling of unknown fields and query parameters. `refuse` (the default) answers 400 and names the most similar
   * field, because the request could mean something else without it. `ignore` drops them, for newer clients.
   */
  readonly unknownFields?: 'refuse' | 'ignore' | undefined
  readonly limits?: LimitOptions | undefined
  /**
   * The most requests of one caller per time window; the server answers 503 to more. The same limit applies to requests
   * with wrong credentials of one address. Behind a proxy, set `trustProxy` too. Default: no limit.
   */
  readonly rateLimit?: { readonly requests: number; readonly perMillis: number } | undefined
  /**
   * The longest time that answers of reads are cached, in milliseconds, for a store that does not report its state: a
   * database. Changes through this server are visible at once. Changes through others may be visible only after this
   * time. So a client of several servers may not see its own last change. Never applies in a transaction. Default: 0,
   * so each read queries the database. At most 60,000.
   */
  readonly staleMillis?: number | undefined
  /**
   * The URL by which other servers over the same catalog reach this one, such as `http://10.0.0.3:2333`. They forward
   * requests of open transactions to it, including credentials, so use `https:` on an untrusted network. With false,
   * only this server can answer for its transactions. Default: the address of `serve`; false for handlers and plugins.
   */
  readonly advertise?: string | false | undefined
  /**
   * The web page at `/` for operators of the catalog. It offers changes only when it is `editable`. That is no access
   * control: `authorize` decides what a caller may do. Default: true, except for a plugin without a prefix, which
   * leaves `/` to its application.
   */
  readonly page?: boolean | 'editable' | undefined
  /** Other protocols over the same catalog, such as `icebergRest` of `tabularium/iceberg`. Default: none. */
  readonly mounts?: readonly Mount[] | undefined
  /** `/openapi.json` and `/docs`. Default: true. */
  readonly docs?: boolean | undefined
  /** `/healthz` and `/readyz`. Default: true. */
  readonly health?: boolean | undefined
  /** `/metrics`, which needs the same credentials as operations unless it is `public`. Default: true. */
  readonly metrics?: boolean | 'public' | undefined
}

export const httpOptionNames: OptionNames<HttpOptions> = {
  auth: true,
  authorize: true,
  onRefused: true,
  listing: true,
  unknownFields: true,
  limits: true,
  rateLimit: true,
  staleMillis: true,
  advertise: true,
  page: true,
  mounts: true,
  docs: true,
  health: true,
  metrics: true,
}

export interface LimitOptions {
  /** Most bytes of a JSON body. Default: 16 MiB. */
  readonly jsonBytes?: number | undefined
  /** The greatest nesting depth of objects and lists in a JSON body. Default: 256. */
  readonly jsonDepth?: number | undefined
  /** Most values of a JSON body: texts, numbers, objects, lists and their like. Default: 1,000,000. */
  readonly jsonValues?: number | undefined
  /** Most keys of one object of a JSON body, and most members of one list that are not numbers. Default: 20,000. */
  readonly jsonMembers?: number | undefined
  /** Most bytes of one text or number of a JSON body, with its key. Default: 1 MiB. */
  readonly jsonTextBytes?: number | undefined
  /** Most bytes of an Arrow body, and of one record batch where rows are written while they arrive. Default: 256 MiB. */
  readonly arrowBytes?: number | undefined
  /**
   * Most bytes of an Arrow stream that is sent without its length, to create a table or to insert rows. They are written
   * while they arrive, in memory that does not grow with them. Default: 64 GiB.
   */
  readonly streamedBytes?: number | undefined
  /**
   * The memory budget of all requests, in bytes: for bodies, as received and decoded, and for answers that clients
   * still read. Bodies count as they arrive. A request that waits too long for room gets 503. Default: 1 GiB.
   */
  readonly bodyBytes?: number | undefined
  /**
   * The size of the answer cache, in bytes. It holds answers that depend only on the catalog's records, until a record
   * changes. 0 disables it. Default: 32 MiB.
   */
  readonly answerBytes?: number | undefined
  /** Most concurrent streams of changes (`/v1/changes`); the server answers 503 to more. Default: 256. */
  readonly streams?: number | undefined
  /** Most concurrent streams of changes of one caller. Default: 32. */
  readonly streamsPerCaller?: number | undefined
  /** Most requests in flight; the server answers 503 to more. Default: 512. */
  readonly inFlight?: number | undefined
  /** The average event loop delay above which the server answers 503, in milliseconds. Default: 1000. */
  readonly eventLoopDelay?: number | undefined
  /** `Retry-After` of a 503 answer, in seconds. Default: 1. */
  readonly retryAfter?: number | undefined
}

export type Limits = { readonly [Name in keyof LimitOptions]-?: number }

const mebibyte = 1024 * 1024

/** The limits with their defaults. */
export function limitsOf(given: LimitOptions = {}): Limits {
  const limits = {
    jsonBytes: given.jsonBytes ?? 16 * mebibyte,
    jsonDepth: given.jsonDepth ?? 256,
    jsonValues: given.jsonValues ?? 1_000_000,
    jsonMembers: given.jsonMembers ?? 20_000,
    jsonTextBytes: given.jsonTextBytes ?? mebibyte,
    arrowBytes: given.arrowBytes ?? 256 * mebibyte,
    streamedBytes: given.streamedBytes ?? 64 * 1024 * mebibyte,
    bodyBytes: given.bodyBytes ?? 1024 * mebibyte,
    answerBytes: given.answerBytes ?? 32 * mebibyte,
    streams: given.streams ?? 256,
    streamsPerCaller: given.streamsPerCaller ?? 32,
    inFlight: given.inFlight ?? 512,
    eventLoopDelay: given.eventLoopDelay ?? 1_000,
    retryAfter: given.retryAfter ?? 1,
  }
  requireKnown('limits', given, limits)
  // An allowed body must fit into the budget when it is the only one.
  return { ...limits, bodyBytes: Math.max(limits.bodyBytes, limits.arrowBytes, limits.jsonBytes) }
}

const maxStale = 60_000

/** The checked option `staleMillis`. */
export function staleMillisOf({ staleMillis = 0 }: HttpOptions): number {
  if (staleMillis >= 0 && staleMillis <= maxStale) return staleMillis
  throw invalid(
    `staleMillis must be a number of milliseconds from 0 to ${maxStale.toLocaleString('en')}; it is ${String(staleMillis)}.`,
  )
}

/** The options of the plugin: the catalog, and how it is served. */
export interface PluginOptions extends HttpOptions {
  readonly catalog: Catalog
}
