import type { FastifyInstance } from 'fastify'
import { invalid } from '../../errors.ts'
import { type Authenticate, authenticator, type Principal } from '../auth/auth.ts'
import { requireLocal } from '../auth/loopback.ts'
import { Gate } from '../limits/admission-control.ts'
import { eventLoopWatch, type RateLimit, rateLimit } from '../limits/pressure.ts'
import { limitsOf, type PluginOptions } from '../options.ts'
import { Metrics } from '../pages/metrics.ts'
import type { Exchange } from './exchange.ts'
import { ResponseCache } from './response-cache.ts'

/** What all parts of one mounted catalog share. */
export interface Serving {
  readonly options: PluginOptions
  readonly gate: Gate
  readonly metrics: Metrics
  readonly cache: ResponseCache
  /** Lets a request in, or fails with 401 or 403. */
  readonly admit: (exchange: Exchange) => Principal | undefined | Promise<Principal | undefined>
  readonly rateLimit: RateLimit | undefined
  /** Writes what only whoever runs the server is to know. */
  readonly log: Pick<FastifyInstance['log'], 'error'>
}

/** Checks the options and makes what they ask for. */
export async function openServing(fastify: FastifyInstance, options: PluginOptions): Promise<Serving> {
  const { auth, catalog } = options
  if (typeof catalog?.describeTable !== 'function')
    throw invalid('The catalog to serve is missing: open one with openCatalog.')
  if (auth === undefined || auth === null) {
    throw invalid(
      'auth is missing: a catalog is not served to everybody by accident. Give tokens, jwt or verify, or auth: false to let in everybody on this machine.',
    )
  }
  const limits = limitsOf(options.limits)
  const gate = new Gate(limits, await eventLoopWatch(fastify, limits.eventLoopDelay))
  return {
    options,
    gate,
    metrics: new Metrics(gate),
    cache: new ResponseCache(catalog, limits.answerBytes),
    admit: admission(auth === false ? undefined : await authenticator(auth)),
    rateLimit: options.rateLimit && (await rateLimit(fastify, options.rateLimit)),
    log: fastify.log,
  }
}

function admission(authenticate: Authenticate | undefined): Serving['admit'] {
  if (authenticate) return (exchange) => authenticate(exchange.raw.headers, () => exchange.info())
  return ({ raw }) => {
    requireLocal(raw)
    return undefined
  }
}
