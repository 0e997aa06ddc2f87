import { randomBytes } from 'node:crypto'
import { type CatalogSuiteOptions, catalogSuite, lackingOperations } from './catalog-suite.ts'
import { bodies } from './http/bodies.ts'
import { errors } from './http/errors.ts'
import { lackingRoutes } from './http/lacking.ts'
import { paths } from './http/paths.ts'
import { asker, good, type HttpTrial } from './http/trial.ts'
import { type Runner, register } from './suite.ts'

export interface HttpSuiteOptions extends CatalogSuiteOptions {
  /** The URL of the server, or a function that prepares the server and returns its URL; called for each case. */
  readonly url: string | (() => string | Promise<string>)
  /** A token with all permissions. Without it, the server must accept every caller, and refusals are not tested. */
  readonly token?: string
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export const httpTopics = [paths, bodies, errors] as const

/**
 * Registers the cases that every server of the protocol must pass, in whatever language it is written. They are the
 * cases of the protocol itself, with plain `fetch`, and those of {@link catalogSuite} through the client.
 *
 * ```ts
 * httpSuite({ describe, test }, { url: 'http://127.0.0.1:2333', token: process.env.TOKEN })
 * ```
 */
export function httpSuite(runner: Runner, options: HttpSuiteOptions): void {
  const { name = 'the server', token, fetch: send = (request) => fetch(request) } = options
  const lacks = lackingOperations(options.lacks)
  const missing = new Set<string>([...lacks, ...(token === undefined ? ['token'] : [])])
  const base = async () => {
    const url = typeof options.url === 'function' ? await options.url() : options.url
    return url.replace(/\/+$/, '')
  }
  const judged = (needs: readonly string[]) => needs.every((need) => !missing.has(need))
  const left = httpTopics.flatMap(({ cases }) => cases).filter(({ needs }) => !judged(needs))
  const topics = [
    ...httpTopics.map((topic) => ({ ...topic, cases: topic.cases.filter(({ needs }) => judged(needs)) })),
    lackingRoutes(lacks, left),
  ]
  register<HttpTrial>(runner, `${name}, by its routes`, topics, async (body) => {
    const ask = asker(await base(), token, send)
    const home = `suite-${randomBytes(6).toString('hex')}`
    const post: HttpTrial['post'] = async (path, content = {}) =>
      good(await ask('POST', path, { body: content }))
    await post(`/v1/namespace/${home}/create`)
    try {
      await body({ ask, post, home, token })
    } finally {
      await ask('POST', `/v1/namespace/${home}/drop`, { body: { behavior: 'Cascade' } }).catch(() => {})
    }
  })
  const open = async () => {
    const { connect } = await import('../../client.ts')
    return connect(await base(), { fetch: send, retries: 0, ...(token === undefined ? {} : { token }) })
  }
  catalogSuite(runner, open, { ...options, name: `${name}, through the client` })
}
