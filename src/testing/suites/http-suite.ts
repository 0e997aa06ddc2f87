import { randomBytes } from 'node:crypto'
import type { OperationName } from '../../catalog/operations/index.ts'
import { wire } from '../../protocol/wire.ts'
import {
  type CatalogSuiteOptions,
  catalogSuite,
  lackingOperations,
  missingFeatures,
} from './catalog-suite.ts'
import { bodies } from './http/bodies.ts'
import { changes } from './http/changes.ts'
import { paths } from './http/paths.ts'
import { transactions } from './http/transactions.ts'
import { asker, good, type HttpTrial, problem, streamer, tablePath } from './http/trial.ts'
import { type Case, type Runner, register, rule, type Topic } from './suite.ts'

const errors: Topic<HttpTrial> = {
  name: 'errors',
  cases: [
    rule(
      'http.error-404',
      'document 7, status 404',
      'What is not there is 404, with the five fields of an error, `code` and `error`.',
      [],
      async (trial: HttpTrial) => {
        const { ask, home } = trial
        problem(await ask('POST', tablePath(trial, 'x', 'describe'), { body: {} }), 404, 'TableNotFound')
        problem(await ask('GET', `/v1/namespace/${home}$x/table/list`), 404, 'NamespaceNotFound')
      },
    ),
    rule(
      'http.error-409',
      'document 7, status 409',
      'A taken name, and a version that is not the next, are 409.',
      [],
      async (trial: HttpTrial) => {
        const { ask, post, home } = trial
        await post(tablePath(trial, 't', 'declare'))
        problem(await ask('POST', tablePath(trial, 't', 'declare'), { body: {} }), 409, 'TableAlreadyExists')
        problem(
          await ask('POST', `/v1/namespace/${home}/create`, { body: {} }),
          409,
          'NamespaceAlreadyExists',
        )
        problem(await ask('POST', `/v1/namespace/${home}/drop`, { body: {} }), 409, 'NamespaceNotEmpty')
        await post(tablePath(trial, 't', 'version/create'), { version: 1, manifest_path: 'm' })
        const body = { version: 5, manifest_path: 'm' }
        problem(
          await ask('POST', tablePath(trial, 't', 'version/create'), { body }),
          409,
          'ConcurrentModification',
        )
      },
    ),
    rule(
      'http.error-400',
      'document 7, status 400',
      'JSON that is malformed, no object, or has fields of the wrong type is 400, and nothing happens.',
      [],
      async (trial: HttpTrial) => {
        const { ask } = trial
        const path = tablePath(trial, 't', 'declare')
        const bodies = ['{"a":', '{} x', 'hello', '[]', '7', '"x"', '{"properties":[]}', '{"location":7}']
        for (const body of bodies) problem(await ask('POST', path, { body }), 400, 'InvalidInput')
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }), 404, 'TableNotFound')
      },
    ),
    rule(
      'http.content-type',
      'document 4',
      'A JSON body is sent as application/json; another content type is 400.',
      [],
      async (trial: HttpTrial) => {
        for (const type of [
          'text/plain',
          'application/x-www-form-urlencoded',
          'application/vnd.apache.arrow.stream',
        ]) {
          const asking = { body: '{}', headers: { 'content-type': type } }
          problem(await trial.ask('POST', tablePath(trial, 't', 'declare'), asking), 400)
        }
      },
    ),
    rule(
      'http.unauthorized',
      'document 5',
      'Without valid credentials every operation is 401, and nothing happens.',
      ['token'],
      async (trial: HttpTrial) => {
        const { ask, home } = trial
        for (const token of [null, 'not the token', `${trial.token}x`]) {
          problem(
            await ask('POST', tablePath(trial, 't', 'declare'), { body: {}, token }),
            401,
            'Unauthenticated',
          )
          problem(await ask('GET', `/v1/namespace/${home}/table/list`, { token }), 401, 'Unauthenticated')
        }
        const basic = { authorization: `Basic ${btoa(`me:${trial.token}`)}` }
        problem(await ask('GET', `/v1/namespace/${home}/list`, { token: null, headers: basic }), 401)
        problem(await ask('POST', tablePath(trial, 't', 'describe'), { body: {} }), 404, 'TableNotFound')
      },
    ),
    rule(
      'http.auth-first',
      'document 5; decision: identity',
      'Credentials are checked before anything else; an identity in the body does not take their place.',
      ['token'],
      async (trial: HttpTrial) => {
        const { ask, token } = trial
        const path = tablePath(trial, 't', 'declare')
        problem(await ask('POST', path, { body: '{"a":', token: null }), 401)
        problem(await ask('POST', tablePath(trial, 'none', 'describe'), { body: {}, token: null }), 401)
        const identity = { api_key: token, auth_token: token }
        problem(await ask('POST', path, { body: { identity }, token: null }), 401)
      },
    ),
  ],
}

/** One case for each missing operation: its route exists, and responds with 406. */
function lackingRoutes(
  lacks: ReadonlySet<OperationName>,
  left: readonly Case<HttpTrial>[],
): Topic<HttpTrial> {
  return { name: 'routes of what is lacking', cases: [...lacks].map((name) => refusal(name, left)) }
}

function refusal(name: OperationName, left: readonly Case<HttpTrial>[]): Case<HttpTrial> {
  const { methods, path, body } = wire[name]
  const unjudged = left.filter(({ needs }) => needs.includes(name)).map(({ id }) => id)
  const note = unjudged.length > 0 ? ` Not judged without it: ${unjudged.join(', ')}.` : ''
  return rule(
    `http.lacking.${name}`,
    'document 7, status 406',
    `${methods[0]} ${path} is 406, an unsupported operation.${note}`,
    [],
    async ({ ask, home }) => {
      const bare = /\/transaction\//.test(path) ? 'none' : `${home}$t`
      const address = path.replace('{id}', bare).replace(/\{\w+\}/, 'a')
      const asking = body === 'json' && methods[0] === 'POST' ? { body: {} } : {}
      problem(await ask(methods[0], address, asking), 406, 'Unsupported')
    },
  )
}

export interface HttpSuiteOptions extends CatalogSuiteOptions {
  /** The URL of the server, or a function that prepares the server and returns its URL; called for each case. */
  readonly url: string | (() => string | Promise<string>)
  /** A token with all permissions. Without it, the server must accept every caller, and refusals are not tested. */
  readonly token?: string
  /** A token of another caller, with the same permissions. Without it, what separates callers is not tested. */
  readonly otherToken?: string
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
}

export const httpTopics = [paths, bodies, errors, transactions, changes] as const

/**
 * Registers the cases that every server of the protocol must pass, in whatever language it is written. They are the
 * cases of the protocol itself, with plain `fetch`, and those of {@link catalogSuite} through the client.
 *
 * ```ts
 * httpSuite({ describe, test }, { url: 'http://127.0.0.1:2333', token: process.env.TOKEN })
 * ```
 */
export function httpSuite(runner: Runner, options: HttpSuiteOptions): void {
  const { name = 'the server', token, otherToken, fetch: send = (request) => fetch(request) } = options
  const lacks = lackingOperations(options.lacks)
  const missing = missingFeatures(options.lacks)
  for (const [need, given] of Object.entries({ token, otherToken }))
    if (given === undefined) missing.add(need)
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
    const url = await base()
    const ask = asker(url, token, send)
    const stream = streamer(url, token, send)
    const home = `suite-${randomBytes(6).toString('hex')}`
    const post: HttpTrial['post'] = async (path, content = {}) =>
      good(await ask('POST', path, { body: content }))
    await post(`/v1/namespace/${home}/create`)
    try {
      await body({ ask, stream, post, home, token, otherToken })
    } finally {
      await ask('POST', `/v1/namespace/${home}/drop`, { body: { behavior: 'Cascade' } }).catch(() => {})
    }
  })
  const open = async () => {
    const { connect } = await import('../../client/index.ts')
    return connect(await base(), { fetch: send, retries: 0, ...(token === undefined ? {} : { token }) })
  }
  catalogSuite(runner, open, { ...options, name: `${name}, through the client` })
}
