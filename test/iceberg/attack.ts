import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { icebergRest } from '../../src/iceberg/index.ts'
import { parse } from '../../src/iceberg/json.ts'
import type { Endpoint } from '../../src/iceberg/rest/endpoint.ts'
import { endpoints } from '../../src/iceberg/rest/router.ts'
import { serve } from '../../src/server/index.ts'
import type { LocalCatalog } from '../../src/tabularium/index.ts'
import { hookOfPage } from '../server/auth/attack.ts'
import { at, Draw } from '../support/draw.ts'
import { bodies, type Known, placed, spelled, viewVersion } from './attack-requests.ts'
import { schema, snapshotUpdates } from './rest.ts'

/*
 * Two callers share a catalog of Iceberg, and each may see and change its own namespace only. One knows names, places,
 * tags and ids of the other, and tries them at every endpoint.
 */

const victim = 'vict1m'
const attacker = 'mallory'
const tokenOf = (name: string) => `${name}-and-a-long-random-token`

interface Answer {
  readonly status: number
  /** Status, headers and body as text. */
  readonly heard: string
  // biome-ignore lint/suspicious/noExplicitAny: a body of any endpoint
  readonly body: any
}

/** A catalog that is served to both callers. */
export interface Attacked extends AsyncDisposable {
  ask(who: string, method: string, path: string, body?: unknown, headers?: object): Promise<Answer>
  readonly known: Known
  /** What the attacker does not know. */
  readonly secrets: readonly string[]
  /** All that is of the victim. */
  dump(): Promise<string>
}

/** Serves a catalog in which the victim has tables, views, and an open transaction. */
export async function settleIceberg(catalog: LocalCatalog): Promise<Attacked> {
  const { location } = await catalog.declareTable({ id: ['probe'] })
  await catalog.dropTable({ id: ['probe'] })
  const server = await serve(catalog, {
    port: 0,
    auth: { tokens: [victim, attacker].map((name) => ({ token: tokenOf(name), name })) },
    authorize: hookOfPage(location.slice(0, location.lastIndexOf('/') + 1)),
    limits: { eventLoopDelay: 0 },
    log: 'error',
    mounts: [icebergRest(catalog)],
  })
  const ask: Attacked['ask'] = (who, method, path, body, headers) =>
    asking(server.url, {
      method,
      path,
      body,
      headers: { authorization: `Bearer ${tokenOf(who)}`, ...headers },
    })
  const found = await possess(ask, catalog)
  return {
    ask,
    ...found,
    [Symbol.asyncDispose]: () => server.close(),
  }
}

/** Sends a path as it is: a URL parser would resolve dots. */
function asking(
  url: string,
  { method, path, body, headers }: { method: string; path: string; body: unknown; headers: object },
): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const target = {
      ...{ hostname, port, method, path: `/iceberg/v1/${path}` },
      headers: { ...headers, ...(text !== undefined && { 'content-type': 'application/json' }) },
    }
    const sent = send(target, (answer) => {
      let all = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        all += chunk
      })
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode!,
          heard: JSON.stringify([answer.statusCode, answer.headers]) + all,
          body: all === '' ? undefined : parse(all),
        }),
      )
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

/** What the victim has. Of some things the attacker knows the name, and of others where they lie. */
async function possess(ask: Attacked['ask'], catalog: LocalCatalog) {
  const as = async (method: string, path: string, body?: unknown, headers?: object) => {
    const answer = await ask(victim, method, path, body, headers)
    assert.ok(answer.status < 300, answer.heard)
    return answer
  }
  const properties = { note: 's3cret-note' }
  await as('POST', 'namespaces', { namespace: [victim], properties })
  await as('POST', 'namespaces', { namespace: [victim, 's3cret-space'] })
  const columns = { ...schema, fields: [{ id: 1, name: 's3cret-column', required: false, type: 'long' }] }
  const made: Record<string, { location: string; file: string; uuid: string }> = {}
  for (const name of ['table', 's3cret-table', 'gone', 's3cret-gone']) {
    const { body } = await as('POST', `namespaces/${victim}/tables`, { name, schema: columns, properties })
    const { location, 'table-uuid': uuid } = body.metadata
    await as('POST', `namespaces/${victim}/tables/${name}`, { updates: snapshotUpdates(5) })
    made[name] = { location, uuid, file: body['metadata-location'] }
  }
  for (const name of ['gone', 's3cret-gone']) await as('DELETE', `namespaces/${victim}/tables/${name}`)
  const view = { name: 'view', schema: columns, 'view-version': viewVersion, properties }
  const { body: shown } = await as('POST', `namespaces/${victim}/views`, view)
  const { transaction_id: open } = await catalog.beginTransaction({
    idle_timeout_seconds: 3_600,
    context: { principal: victim },
  })
  const loaded = await as('GET', `namespaces/${victim}/tables/table`)
  const etag = /"etag":"(\\"[^"]*\\")"/.exec(loaded.heard)![1]!.replaceAll('\\', '')
  const known: Known = {
    namespaces: [[victim], [victim, 's3cret-space'].slice(0, 1)],
    tables: [
      [victim, 'table'],
      [victim, 'gone'],
      [victim, 'none'],
    ],
    views: [[victim, 'view']],
    locations: [made['s3cret-table']!.location, made['s3cret-gone']!.location],
    metadata: [made['s3cret-table']!.file, made['s3cret-gone']!.file],
    transactions: [open!],
    etags: [etag],
  }
  const last = (location: string) => location.slice(location.lastIndexOf('/') + 1)
  const secrets = [
    's3cret',
    ...[made.table!, made.gone!].flatMap(({ location, uuid }) => [last(location), uuid]),
    shown.metadata['view-uuid'],
  ]
  return { known, secrets, dump: () => dumpOf(as) }
}

/** All that the victim can see of its own. Metadata files of dropped tables are registered and dropped again. */
async function dumpOf(as: (method: string, path: string) => Promise<Answer>): Promise<string> {
  const said: unknown[] = []
  for (const path of ['', '/tables', '/views', '/tables/table', '/tables/s3cret-table', '/views/view'])
    said.push((await as('GET', `namespaces/${victim}${path}`)).body)
  said.push((await as('GET', `namespaces?parent=${victim}`)).body)
  return JSON.stringify(said, (_, value) => (typeof value === 'bigint' ? String(value) : value))
}

/** The path of an endpoint, with what stands for its variables. */
export function pathOf({ path }: Endpoint, namespace: string, name: string): string {
  return path.replace('{namespace}', namespace).replace('{name}', name)
}

/** Gives the attacker a namespace, tables and a view of its own, where an attack has used them up. */
async function equip({ ask }: Attacked): Promise<Known> {
  const as = (method: string, path: string, body?: unknown) => ask(attacker, method, path, body)
  await as('POST', 'namespaces', { namespace: [attacker] })
  for (const name of ['own', 'gone']) await as('POST', `namespaces/${attacker}/tables`, { name, schema })
  await as('POST', `namespaces/${attacker}/views`, { name: 'see', schema, 'view-version': viewVersion })
  const loaded = await as('GET', `namespaces/${attacker}/tables/own`)
  await as('DELETE', `namespaces/${attacker}/tables/gone`)
  return {
    namespaces: [[attacker]],
    tables: [
      [attacker, 'own'],
      [attacker, 'new'],
    ],
    views: [[attacker, 'see']],
    locations: [loaded.body?.metadata?.location ?? 'file:///nowhere'],
    metadata: [loaded.body?.['metadata-location'] ?? 'file:///nowhere/metadata/1.metadata.json'],
    transactions: [],
    etags: [],
  }
}

const inOneGo = 40

/** Attacks each endpoint in turn. Returns the endpoints that the attacker could use on what is its own. */
export async function attackIceberg(attacked: Attacked, count: number, seed: number): Promise<Set<string>> {
  const { ask, known, secrets, dump } = attacked
  const draw = new Draw(seed)
  const done = new Set<string>()
  const before = await dump()
  for (let round = 0; round * inOneGo < count; round++) {
    const own = await equip(attacked)
    const tried: unknown[] = []
    for (let i = 0; i < inOneGo; i++) {
      const endpoint = at(endpoints, (round * inOneGo + i) % endpoints.length)
      const attack = drawn(endpoint, own, known, draw)
      tried.push(attack)
      const { path, body, headers } = attack
      const { status, heard } = await ask(attacker, endpoint.method, path, body, headers)
      assert.notEqual(status, 500, `${endpoint.name} ${JSON.stringify(attack)} (seed ${seed}): ${heard}`)
      if (status < 300) done.add(endpoint.name)
      const leaked = secrets.filter((secret) => heard.includes(secret))
      // A location that the attacker sent may come back.
      const sent = decodeURIComponent(JSON.stringify(attack).replaceAll('%', '%25'))
      const told = leaked.filter((secret) => !sent.includes(secret))
      assert.deepEqual(told, [], `${endpoint.name} ${JSON.stringify(attack)} (seed ${seed}) tells ${heard}`)
    }
    assert.equal(await dump(), before, `It changed with one of ${JSON.stringify(tried)} (seed ${seed})`)
  }
  return done
}

function drawn(endpoint: Endpoint, own: Known, known: Known, draw: Draw) {
  const pick = (from: (known: Known) => readonly (readonly string[])[]) =>
    draw.oneOf([...from(own), ...from(known)])
  const kind = (of: Known) => (/[vV]iew/.test(endpoint.name) ? of.views : of.tables)
  const id = pick(kind)
  const namespace = draw.chance(0.7) ? id.slice(0, -1) : pick((of) => of.namespaces)
  const location = placed(draw.oneOf([...own.locations, ...known.locations]), draw)
  const metadata = placed(draw.oneOf([...own.metadata, ...known.metadata]), draw)
  const other = draw.chance(0.8) ? pick(kind) : pick((of) => [...of.tables, ...of.views])
  const isNew = /^(create|register)/.test(endpoint.name) && draw.chance(0.5)
  const name = isNew ? 'new' : id.at(-1)!
  const path = pathOf(
    endpoint,
    namespace.map((level) => spelled(level, draw)).join('%1F'),
    spelled(name, draw),
  )
  const made = bodies[endpoint.name]?.({ namespace, name }, { location, metadata, other })
  const headers = {
    ...(draw.chance(0.2) && { 'x-tabularium-transaction': draw.oneOf(known.transactions) }),
    ...(draw.chance(0.2) && { 'if-none-match': draw.oneOf(['*', ...known.etags]) }),
    ...(draw.chance(0.2) && { 'idempotency-key': '017f22e2-79b0-7cc3-98c4-dc0c0c07398f' }),
    ...(draw.chance(0.2) && { 'x-iceberg-access-delegation': 'vended-credentials' }),
    ...(draw.chance(0.1) && { 'x-tabularium-principal': victim }),
  }
  const parent = pick((of) => of.namespaces).join('\u001f')
  const query = draw.oneOf(['', '', `?parent=${encodeURIComponent(parent)}`, '?purgeRequested=true'])
  return { path: path + query, body: made && draw.oneOf(made), headers }
}

export { attacker, victim }
