import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { commits } from './iceberg/commits.ts'
import { config } from './iceberg/config.ts'
import {
  type EndpointName,
  endpoints,
  endpointsUnlessListed,
  type IcebergFeature,
  indispensable,
} from './iceberg/endpoints.ts'
import { lacking } from './iceberg/lacking.ts'
import { namespaces } from './iceberg/namespaces.ts'
import { places } from './iceberg/places.ts'
import { repeatTopics } from './iceberg/repeats.ts'
import { requirementTopic } from './iceberg/requirements.ts'
import { tableTopics } from './iceberg/tables.ts'
import { transactions } from './iceberg/transactions.ts'
import { type Answered, good, type IcebergConfig, type IcebergTrial, icebergAsker } from './iceberg/trial.ts'
import { updateTopics } from './iceberg/updates.ts'
import { viewTopics } from './iceberg/views.ts'
import { type Runner, register } from './suite.ts'

export const icebergTopics = [
  config,
  namespaces,
  ...tableTopics,
  places,
  requirementTopic,
  ...updateTopics,
  commits,
  transactions,
  ...viewTopics,
  ...repeatTopics,
] as const

export interface IcebergSuiteOptions {
  /** The name of the group of cases. Default: `the Iceberg REST server`. */
  readonly name?: string
  /** Where `/v1/config` begins, such as `http://127.0.0.1:2333/iceberg`. */
  readonly url: string
  /** The `warehouse` that `config` is asked for. Default: none. */
  readonly warehouse?: string
  /** A token with all permissions. Without it, the server must accept every caller, and refusals are not tested. */
  readonly token?: string
  /**
   * What the server lacks besides endpoints, which `config` lists: `etags`, `pages` of listings, `nested` namespaces,
   * `v3` tables. The suite then judges that it shows so.
   */
  readonly lacks?: readonly IcebergFeature[]
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/**
 * Registers the cases that every server of Iceberg REST must pass, in whatever language it is written. It asks the server
 * for its configuration first, so await it. Cases for endpoints that `config` does not list are left out: the report names
 * them, with the endpoint that they need.
 *
 * Each case works in a namespace of its own and drops it at the end. Tables have no rows, so no files are read.
 *
 * ```ts
 * import { describe, test } from 'node:test'
 * import { icebergSuite } from 'tabularium/testing'
 *
 * await icebergSuite({ describe, test }, { url: 'http://127.0.0.1:2333/iceberg' })
 * ```
 *
 * Rejects when there is no configuration, or when it lacks an endpoint that no case can do without.
 */
export async function icebergSuite(runner: Runner, options: IcebergSuiteOptions): Promise<void> {
  const {
    name = 'the Iceberg REST server',
    token,
    lacks = [],
    fetch: send = (request) => fetch(request),
  } = options
  const url = options.url.replace(/\/+$/, '')
  const askPlain = icebergAsker(url, { prefix: '', separator: '%1F' }, token, send)
  const query: Record<string, string> =
    options.warehouse === undefined ? {} : { warehouse: options.warehouse }
  const answer = good(await askPlain('GET', ['config'], { query }))
  const missing = new Set<string>([...missingEndpoints(answer), ...lacks])
  if (token === undefined) missing.add('token')
  if (answer['idempotency-key-lifetime'] === undefined) missing.add('idempotency')
  const judged = (needs: readonly string[]) => needs.every((need) => !missing.has(need))
  const left = icebergTopics.flatMap(({ cases }) => cases).filter(({ needs }) => !judged(needs))
  const topics = [
    ...icebergTopics.map((topic) => ({ ...topic, cases: topic.cases.filter(({ needs }) => judged(needs)) })),
    lacking(missing, left),
  ]
  const ask = icebergAsker(url, configOf(answer), token, send)
  register<IcebergTrial>(runner, name, topics, async (body) => {
    const home = [`suite-${randomBytes(6).toString('hex')}`]
    good(await ask('POST', ['namespaces'], { body: { namespace: home } }))
    try {
      await body({ ask, home })
    } finally {
      await clear(ask, home, missing).catch(() => {})
    }
  })
}

function configOf({ defaults, overrides }: Answered): IcebergConfig {
  const { prefix = '', 'namespace-separator': separator = '%1F' } = { ...defaults, ...overrides }
  return { prefix, separator }
}

function missingEndpoints({ endpoints: listed }: Answered): EndpointName[] {
  const names = Object.keys(endpoints) as EndpointName[]
  const missing =
    listed === undefined
      ? names.filter((name) => !endpointsUnlessListed.includes(name))
      : names.filter((name) => !listed.includes(endpoints[name]))
  const needed = missing.filter((name) => indispensable.includes(name))
  assert.deepEqual(needed, [], 'No server can be judged without these endpoints.')
  return missing
}

/** Drops a namespace with all that is in it. */
async function clear(
  ask: IcebergTrial['ask'],
  namespace: readonly string[],
  missing: ReadonlySet<string>,
): Promise<void> {
  const namesOf = async (kind: string) => {
    const { body } = await ask('GET', ['namespaces', namespace, kind])
    return (body?.identifiers ?? []) as { name: string }[]
  }
  for (const { name } of await namesOf('tables'))
    await ask('DELETE', ['namespaces', namespace, 'tables', name])
  if (!missing.has('listViews') && !missing.has('dropView'))
    for (const { name } of await namesOf('views'))
      await ask('DELETE', ['namespaces', namespace, 'views', name])
  if (!missing.has('listNamespaces') && !missing.has('nested')) {
    const { body } = await ask('GET', ['namespaces'], { query: { parent: namespace.join('\u001f') } })
    for (const inner of (body?.namespaces ?? []) as string[][])
      if (inner.length > namespace.length) await clear(ask, inner, missing)
  }
  await ask('DELETE', ['namespaces', namespace])
}
