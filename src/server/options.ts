import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../base/errors.ts'
import type { Identifier } from '../base/model/identifier.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import type { OperationName } from '../catalog/operations/index.ts'
import type { AuthOptions, Principal } from './auth/auth.ts'

/** What hooks learn about an HTTP request. */
export interface RequestInfo {
  /** The id of the request, as in logs and in the header `x-request-id` of the response. */
  readonly requestId: string
  readonly method: string
  /** The path, without the query string. */
  readonly path: string
  /** All headers, in small letters, credentials included. */
  readonly headers: IncomingHttpHeaders
  readonly remoteAddress: string | undefined
  /** The parsed body; absent before the body was read. */
  readonly body?: unknown
  /** The location that the body names for the table, in its normal spelling. */
  readonly location?: string
}

/**
 * Decides whether a caller may run an operation on the namespace or table `id`, which is undefined when the path
 * has no identifier. False, or an error, refuses with 403. The server asks before it reads the body. It asks
 * again for each table that only the body names: the new name of a renamed table, and every item of a batch. For
 * an item it gives the name of the single operation.
 *
 * It asks again when the body names a location, which `request.location` tells, and about each table that the location
 * leads to: one that lies there, or that did so until it was deregistered. What is about a transaction has the id of the
 * transaction as its `id`. `alterTransaction` is asked again with the subjects of the transaction. To find out what a
 * caller may learn of, it asks about `describeTable` and `describeNamespace`: other changes, transactions and names
 * are kept from the caller.
 */
export type AuthorizeRequest = (
  principal: Principal | undefined,
  operation: OperationName,
  id: Identifier | undefined,
  request: RequestInfo,
) => unknown

/** A request that was refused for who sent it: without valid credentials (401), or not allowed (403). */
export interface RefusedRequest {
  readonly requestId: string
  readonly method: string
  /** The path, without the query string. */
  readonly path: string
  readonly remoteAddress: string | undefined
  /** The name of the caller, where the credentials were valid. */
  readonly principal: string | undefined
  readonly operation: OperationName | undefined
  readonly status: number
}

/** How a catalog is offered over HTTP. All options but `auth` have a default. */
export interface HttpOptions {
  /**
   * Which callers to let in. `false` lets in all callers over the loopback interface, and refuses the rest. That
   * includes requests that a proxy on this machine passes on, unless `trustProxy` tells whose they are.
   */
  readonly auth: AuthOptions | false
  readonly authorize?: AuthorizeRequest | undefined
  /** Told of each request that is refused for who sent it, to be noted. It must not throw. */
  readonly onRefused?: ((refused: RefusedRequest) => void) | undefined
  /**
   * What a listing of tables answers. `recursive` (the default) gives full identifiers of all tables at and below
   * a namespace. `children` gives the bare names of the tables directly in it, and the last name as token. Set
   * `children` for LanceDB's `connectNamespace`. The description of a table that has rows here then includes
   * version and schema unasked, which keeps that client from writing over the table. LanceDB's `connect` gets
   * what it needs with either.
   */
  readonly listing?: 'recursive' | 'children' | undefined
  /**
   * What becomes of fields and query parameters that an operation does not have. `refuse` (the default) answers 400
   * and names the nearest field, since the answer would be to another question without it. `ignore` leaves them out,
   * for clients that are newer than this server.
   */
  readonly unknownFields?: 'refuse' | 'ignore' | undefined
  readonly limits?: LimitOptions | undefined
  /**
   * Most requests of one caller in a time; the server answers 503 to more. As many requests with wrong credentials
   * are taken from one address. Behind a proxy, set `trustProxy` too. Default: no such limit.
   */
  readonly rateLimit?: { readonly requests: number; readonly perMillis: number } | undefined
  /**
   * How old the answers of reads may be, in milliseconds, where the store cannot tell whether they are still true: that
   * is a database. Changes through this server show at once. Those through others may take so long to show, and so a
   * client whose requests go to several servers may not see its own last change. Never within a transaction. Default: 0,
   * so that each read asks the database. At most 60,000.
   */
  readonly staleMillis?: number | undefined
  /**
   * The URL by which other servers over the same catalog reach this one, such as `http://10.0.0.3:2333`. They pass
   * requests of open transactions on to it, credentials included, so let it be `https:` where others could listen. False
   * keeps transactions to this server. Default: where `serve` listens; with a handler or a plugin, false.
   */
  readonly advertise?: string | false | undefined
  /**
   * The page at `/` for people who look after the catalog. It offers no changes, unless it is `editable`. That hides
   * changes and forbids none: `authorize` decides what a caller may do. A plugin without a prefix leaves `/` to its
   * application, unless told otherwise. Default: true.
   */
  readonly page?: boolean | 'editable' | undefined
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
  docs: true,
  health: true,
  metrics: true,
}

export interface LimitOptions {
  /** Most bytes of a JSON body. Default: 16 MiB. */
  readonly jsonBytes?: number | undefined
  /** How deep objects and lists of a JSON body may nest. Default: 256. */
  readonly jsonDepth?: number | undefined
  /** Most values of a JSON body: texts, numbers, objects, lists and their like. Default: 1,000,000. */
  readonly jsonValues?: number | undefined
  /** Most keys of one object of a JSON body, and most members of one list that are not numbers. Default: 20,000. */
  readonly jsonMembers?: number | undefined
  /** Most bytes of one text or number of a JSON body, with its key. Default: 1 MiB. */
  readonly jsonTextBytes?: number | undefined
  /** Most bytes of an Arrow body. Default: 256 MiB. */
  readonly arrowBytes?: number | undefined
  /**
   * Most bytes of memory that requests hold together: of bodies, as they came and decoded, and of answers that wait
   * for their readers. Bodies count as they arrive. A request waits for room, and the server answers 503 when it
   * waits for too long. Default: 1 GiB.
   */
  readonly bodyBytes?: number | undefined
  /**
   * Most bytes of answers kept to be given again. Kept are answers that follow from the catalog's records alone,
   * and only until a record changes. 0 keeps none. Default: 32 MiB.
   */
  readonly answerBytes?: number | undefined
  /** Most streams of changes (`/v1/changes`) at once; the server answers 503 to more. Default: 256. */
  readonly streams?: number | undefined
  /** Most streams of changes of one caller at once. Default: 32. */
  readonly streamsPerCaller?: number | undefined
  /** Most requests under way at once; the server answers 503 to more. Default: 512. */
  readonly inFlight?: number | undefined
  /** Most milliseconds that the event loop may be late on average before the server answers 503. Default: 1000. */
  readonly eventLoopDelay?: number | undefined
  /** The seconds that a 503 answer asks to wait. Default: 1. */
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
    bodyBytes: given.bodyBytes ?? 1024 * mebibyte,
    answerBytes: given.answerBytes ?? 32 * mebibyte,
    streams: given.streams ?? 256,
    streamsPerCaller: given.streamsPerCaller ?? 32,
    inFlight: given.inFlight ?? 512,
    eventLoopDelay: given.eventLoopDelay ?? 1_000,
    retryAfter: given.retryAfter ?? 1,
  }
  requireKnown('limits', given, limits)
  // A body that is allowed must fit when it is alone.
  return { ...limits, bodyBytes: Math.max(limits.bodyBytes, limits.arrowBytes, limits.jsonBytes) }
}

const mostStale = 60_000

/** How old answers may be. */
export function staleMillisOf({ staleMillis = 0 }: HttpOptions): number {
  if (staleMillis >= 0 && staleMillis <= mostStale) return staleMillis
  throw invalid(
    `staleMillis must be a number of milliseconds from 0 to ${mostStale.toLocaleString('en')}; it is ${String(staleMillis)}.`,
  )
}

/** What is offered, and how. */
export interface PluginOptions extends HttpOptions {
  readonly catalog: Catalog
}
