import assert from 'node:assert/strict'
import { wallClock } from '../../../base/time.ts'
import { parse, stringify } from '../../../iceberg/json.ts'
import { show } from '../checks.ts'

// biome-ignore lint/suspicious/noExplicitAny: servers answer as they like, and the cases compare it.
export type Answered = any

/** An answer of Iceberg REST. */
export interface IcebergReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, with all digits of its integers; undefined for a body that is none. */
  readonly body: Answered
  /** What was asked and answered, for failures. */
  readonly told: string
}

/** A part of a path: a text is a segment, and a list of texts is a namespace. */
export type Part = string | readonly string[]

export interface IcebergAsking {
  /** A text is sent as it is, all else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** The token to send in place of the right one; null sends none. */
  readonly token?: string | null
}

/** What a server says of itself by `config`. */
export interface IcebergConfig {
  readonly prefix: string
  /** What joins the levels of a namespace in a path, encoded. */
  readonly separator: string
}

/** The context of a case. */
export interface IcebergTrial {
  /** Sends a request to a path below `/v1/`. */
  readonly ask: (method: string, path: readonly Part[], asking?: IcebergAsking) => Promise<IcebergReply>
  /** The case's own namespace, empty at the start. */
  readonly home: readonly string[]
}

/** Sends requests with plain `fetch`. `prefixed` paths stand behind the prefix of the configuration. */
export function icebergAsker(
  url: string,
  { prefix, separator }: IcebergConfig,
  token: string | undefined,
  send: (request: Request) => Promise<Response>,
): IcebergTrial['ask'] {
  const encoded = (part: Part) =>
    typeof part === 'string'
      ? encodeURIComponent(part)
      : part.map((level) => encodeURIComponent(level)).join(separator)
  return async (method, path, { body, headers = {}, query = {}, token: other } = {}) => {
    const isConfig = path[0] === 'config'
    const below = [...(prefix === '' || isConfig ? [] : [prefix]), ...path.map(encoded)].join('/')
    const search = new URLSearchParams(query).toString()
    const presented = other === undefined ? token : (other ?? undefined)
    const request = new Request(`${url}/v1/${below}${search === '' ? '' : `?${search}`}`, {
      method,
      headers: {
        ...(presented !== undefined && { authorization: `Bearer ${presented}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : stringify(body) }),
    })
    const response = await send(request)
    const text = await response.text()
    const told = `${method} ${below} answered ${response.status}: ${text.slice(0, 300)}`
    return { status: response.status, headers: response.headers, text, body: parsed(text), told }
  }
}

function parsed(text: string): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Asserts that an answer is JSON with status 200, and returns it. */
export function good(reply: IcebergReply): Answered {
  assert.equal(reply.status, 200, reply.told)
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json\b/, reply.told)
  assert.ok(typeof reply.body === 'object' && reply.body !== null, reply.told)
  return reply.body
}

/** Asserts that an answer says only that something was done, or is there. */
export function done(reply: IcebergReply): void {
  assert.ok(reply.status === 204 || reply.status === 200, reply.told)
  if (reply.status === 204) assert.equal(reply.text, '', reply.told)
}

/** Asserts that an answer is an error in the form of the specification. `type` is one of several, or any. */
export function failed(reply: IcebergReply, status: number | readonly number[], ...type: string[]): void {
  const statuses = typeof status === 'number' ? [status] : status
  assert.ok(statuses.includes(reply.status), `${statuses.join(' or ')} was expected: ${reply.told}`)
  assert.match(reply.headers.get('content-type') ?? '', /\bjson\b/, reply.told)
  const { error } = (reply.body ?? {}) as { error?: Readonly<Record<string, unknown>> }
  assert.ok(typeof error === 'object' && error !== null, `The body has no error: ${reply.told}`)
  assert.ok(typeof error.message === 'string' && error.message !== '', `No message: ${reply.told}`)
  assert.ok(typeof error.type === 'string' && error.type !== '', `No type: ${reply.told}`)
  assert.equal(error.code, reply.status, `The code is ${show(error.code)}: ${reply.told}`)
  if (type.length > 0)
    assert.ok(type.includes(error.type), `The type should be ${type.join(' or ')}: ${reply.told}`)
}

/** Asserts that something is not there, by an answer to HEAD. */
export function absent(reply: IcebergReply): void {
  assert.equal(reply.status, 404, reply.told)
  assert.equal(reply.text, '', reply.told)
}

/** The path of a table in the namespace of the case. */
export function tableAt({ home }: IcebergTrial, name: string): readonly Part[] {
  return ['namespaces', home, 'tables', name]
}

export const schema = {
  type: 'struct',
  'schema-id': 0,
  fields: [
    { id: 1, name: 'id', required: true, type: 'long' },
    { id: 2, name: 'day', required: false, type: 'date' },
  ],
} as const

/** Creates a table, and returns the answer. */
export async function createTable(trial: IcebergTrial, name: string, more: object = {}): Promise<Answered> {
  const body = { name, schema, ...more }
  return good(await trial.ask('POST', ['namespaces', trial.home, 'tables'], { body }))
}

export async function loadTable(trial: IcebergTrial, name: string): Promise<Answered> {
  return good(await trial.ask('GET', tableAt(trial, name)))
}

/** Commits to a table. */
export function commit(
  trial: IcebergTrial,
  name: string,
  updates: readonly unknown[],
  requirements: readonly unknown[] = [],
): Promise<IcebergReply> {
  return trial.ask('POST', tableAt(trial, name), { body: { requirements, updates } })
}

/** Commits to a table, asserts that the answer is as a load, and returns the new metadata. */
export async function committed(
  trial: IcebergTrial,
  name: string,
  updates: readonly unknown[],
  requirements: readonly unknown[] = [],
): Promise<Answered> {
  const answer = good(await commit(trial, name, updates, requirements))
  const loaded = await loadTable(trial, name)
  assert.deepEqual(answer.metadata, loaded.metadata)
  assert.equal(answer['metadata-location'], loaded['metadata-location'])
  return loaded.metadata
}

/** Asserts that attempts leave tables as they were. */
export async function unchanged(
  trial: IcebergTrial,
  names: readonly string[],
  attempt: () => Promise<void>,
): Promise<void> {
  const states = async () => {
    const found = []
    for (const name of names) {
      const { metadata, 'metadata-location': location } = await loadTable(trial, name)
      found.push({ metadata, location })
    }
    return found
  }
  const before = await states()
  await attempt()
  assert.deepEqual(await states(), before)
}

/** The updates that add a snapshot to a branch. */
export function snapshotUpdates(
  id: number | bigint,
  {
    parent,
    sequence = 1,
    branch = 'main',
    more = {},
  }: { parent?: number | bigint; sequence?: number; branch?: string; more?: object } = {},
): unknown[] {
  const snapshot = {
    'snapshot-id': id,
    ...(parent !== undefined && { 'parent-snapshot-id': parent }),
    'sequence-number': sequence,
    'timestamp-ms': wallClock(),
    'manifest-list': `file:///nowhere/snap-${id}.avro`,
    summary: { operation: 'append' },
    'schema-id': 0,
    ...more,
  }
  return [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', 'ref-name': branch, type: 'branch', 'snapshot-id': id },
  ]
}

/** The names of a listing of tables or views. */
export function namesIn(answer: Answered): string[] {
  return answer.identifiers.map(({ name }: { name: string }) => name).sort()
}

/** All pages of a listing of so many items each. Asserts that none is larger, and that the listing ends. */
export async function pagesOf(
  trial: IcebergTrial,
  path: readonly Part[],
  query: Readonly<Record<string, string>>,
): Promise<Answered[][]> {
  const pages: Answered[][] = []
  for (let token = ''; ; ) {
    const answer = good(await trial.ask('GET', path, { query: { ...query, pageToken: token } }))
    const items = answer.identifiers ?? answer.namespaces
    assert.ok(items.length <= Number(query.pageSize), `A page of ${items.length} items`)
    pages.push(items)
    token = answer['next-page-token'] ?? ''
    if (token === '') return pages
    assert.ok(pages.length < 50, 'The listing has no end')
  }
}

/** A UUID that nothing has. */
export const otherUuid = '00000000-0000-4000-8000-000000000000'
