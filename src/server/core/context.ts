import { invalid } from '../../base/errors.ts'
import { clearInterval, setInterval } from '../../base/time.ts'
import { type Catalog, startUpkeep } from '../../catalog/index.ts'
import { authenticator } from '../auth/auth.ts'
import { Authorizer } from '../auth/authorize.ts'
import { requireLocal } from '../auth/loopback.ts'
import type { Principal } from '../auth/principal.ts'
import {
  AdmissionControl,
  type EventLoopWatch,
  type TransferTimes,
  watchEventLoop,
} from '../limits/admission-control.ts'
import { EventStreams } from '../limits/event-streams.ts'
import { type RateLimit, rateLimiter } from '../limits/rate-limit.ts'
import type { Log } from '../logger.ts'
import { limitsOf, type PluginOptions, staleMillisOf } from '../options.ts'
import { Metrics } from '../pages/metrics.ts'
import { Forwarder } from '../servers/forwarder.ts'
import { OwnServer } from '../servers/own-server.ts'
import { BegunTransactions } from './begun-transactions.ts'
import type { Exchange } from './exchange.ts'
import { Readiness } from './readiness.ts'
import { ResponseCache } from './response-cache.ts'

/** The settings of an adapter. */
export interface AdapterOptions {
  readonly log: Log
  /** How often the upkeep of the catalog starts, in milliseconds. Default: every ten minutes. */
  readonly upkeepMillis?: number
  /** The path prefix of the catalog, such as `/catalog`. Default: none. */
  readonly prefix?: string
  /** The event loop's delay, for applications that already measure it. */
  readonly eventLoop?: Pick<EventLoopWatch, 'isLate'> | undefined
  /** Times of bodies and answers that differ from the defaults, in milliseconds. */
  readonly times?: { readonly [Name in keyof TransferTimes]?: number | undefined }
}

/** The state that all parts of one served catalog share. */
export interface HttpContext {
  readonly options: PluginOptions
  readonly prefix: string
  /** The number of path segments of the prefix. */
  readonly mounted: number
  readonly admission: AdmissionControl
  readonly metrics: Metrics
  readonly readiness: Readiness
  readonly streams: EventStreams
  readonly cache: ResponseCache
  readonly begun: BegunTransactions
  readonly server: OwnServer
  readonly forwarder: Forwarder
  /** Authenticates the caller, or fails with 401 or 403. */
  readonly authenticate: (exchange: Exchange) => Principal | undefined | Promise<Principal | undefined>
  /** Calls the `authorize` hook. Undefined without one. */
  readonly authorizer: Authorizer | undefined
  readonly rateLimit: RateLimit | undefined
  readonly log: Log
  /** Stops measuring the event loop, and rolls back the transactions that callers left open. */
  close(): Promise<void>
}

/** Fails with `InvalidInput` for a value that is not a catalog, such as a promise of one. */
export function requireCatalog(catalog: unknown): void {
  if (typeof (catalog as Partial<Catalog> | undefined)?.describeTable === 'function') return
  const isPromise = typeof (catalog as PromiseLike<unknown> | undefined)?.then === 'function'
  throw invalid(
    isPromise
      ? 'The catalog to serve is a promise. Await it: serve(await openCatalog(…), options).'
      : 'The catalog to serve is missing. Give one that openCatalog opened, before the options: serve(catalog, { auth: … }).',
  )
}

/** Checks the options and makes a context. */
export async function openContext(
  options: PluginOptions,
  { log, prefix = '', eventLoop, times = {}, upkeepMillis = 600_000 }: AdapterOptions,
): Promise<HttpContext> {
  const { auth, catalog } = options
  requireCatalog(catalog)
  if (auth === undefined || auth === null) {
    throw invalid(
      'auth is missing: a catalog is not served to everybody by accident. Give tokens, jwt or verify, or auth: false to let in everybody on this machine.',
    )
  }
  const limits = limitsOf(options.limits)
  const authenticate = await authentication(auth, options.rateLimit)
  const begun = new BegunTransactions(catalog)
  const server = new OwnServer()
  if (typeof options.advertise === 'string') server.advertise(options.advertise)
  const watch = watchEventLoop(eventLoop ? 0 : limits.eventLoopDelay)
  const admission = new AdmissionControl(
    limits,
    {
      upload: times.upload ?? 10_000,
      request: times.request ?? 300_000,
      download: times.download ?? 60_000,
    },
    limits.eventLoopDelay > 0 && eventLoop ? eventLoop : watch,
  )
  const mounted = prefix.split('/').length - 1
  const forwarder = new Forwarder({ catalog, own: server, limits, mounted })
  // In a catalog that nobody changes, time alone makes work for the upkeep.
  const upkeep = setInterval(() => catalog[startUpkeep]?.(), upkeepMillis)
  upkeep.unref?.()
  return {
    options,
    prefix,
    mounted,
    admission,
    metrics: new Metrics(admission, catalog),
    readiness: new Readiness(catalog, log),
    streams: new EventStreams(limits),
    cache: new ResponseCache(catalog, limits.answerBytes, staleMillisOf(options)),
    begun,
    server,
    forwarder,
    authenticate,
    authorizer: options.authorize && new Authorizer(options.authorize),
    rateLimit: options.rateLimit && rateLimiter(options.rateLimit),
    log,
    close: () => {
      clearInterval(upkeep)
      watch.close()
      forwarder.close()
      return begun.rollBack()
    },
  }
}

async function authentication(
  auth: PluginOptions['auth'],
  limit: PluginOptions['rateLimit'],
): Promise<HttpContext['authenticate']> {
  if (auth === false) return requireLocal
  const failures = limit && rateLimiter(limit, undefined, 'requests with wrong credentials')
  const authenticate = await authenticator(auth, failures)
  return (exchange) => authenticate(exchange.headers, () => exchange.info())
}
