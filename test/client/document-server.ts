/*
 * A server of the service document and of nothing else, for tests: its nine operations with the fields, parameters,
 * statuses and five-field errors that the document lists. It refuses whatever the document does not have. It keeps
 * tables as plain objects, and predicates are words that say how many rows they hold for.
 */

interface Table {
  rows: number
  /** Rows of each version; the first is version 1. */
  readonly versions: number[]
  readonly tags: Map<string, number>
  metadata: Readonly<Record<string, string>>
  readonly location: string
}

interface Reply {
  readonly status?: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

type Body = Readonly<Record<string, unknown>>

class Refused extends Error {
  readonly status: keyof typeof problems
  constructor(status: keyof typeof problems, detail = '') {
    super(detail === '' ? '' : `${detail} is not what the document says.`)
    this.status = status
  }
}

const problems = {
  400: ['/errors/bad-request', 'Malformed request'],
  401: ['/errors/unauthorized-request', 'No valid authentication credentials for the operation'],
  403: ['/errors/forbidden-request', 'Not authorized to make this request'],
  404: ['/errors/not-found-error', 'Not found Error'],
  406: ['/errors/unsupported-operation', 'The server does not support this operation'],
  409: ['/errors/conflict', 'The namespace has been concurrently modified'],
  500: ['/errors/server-error', 'Internal Server Error'],
  503: ['/errors/service-unavailable', 'Slow down'],
} as const

const shared = ['identity', 'context', 'id']

/** The fields of the JSON bodies, by the last words of the path. */
const bodies: Readonly<Record<string, readonly string[]>> = {
  delete: [...shared, 'predicate', 'branch'],
  deregister: shared,
  count_rows: [...shared, 'version', 'branch', 'predicate'],
  rename: [...shared, 'new_table_name', 'new_namespace_id'],
  'tags/update': [...shared, 'tag', 'version', 'branch'],
  describe: shared,
  'batch-commit': ['operations', 'identity', 'context'],
}

const members: Readonly<Record<string, readonly string[]>> = {
  declare_table: [...shared, 'location', 'vend_credentials', 'properties'],
  deregister_table: shared,
  // The document does not show the fields of these two; they are the protocol's.
  create_table_version: [
    ...shared,
    'version',
    'branch',
    'manifest_path',
    'manifest_size',
    'e_tag',
    'metadata',
  ],
  delete_table_versions: [...shared, 'branch', 'ranges'],
}

/** Parameters of the query, by the last words of the path. */
const parameters: Readonly<Record<string, readonly string[]>> = {
  'schema_metadata/update': ['branch'],
  'table/list': ['page_token', 'limit', 'include_declared'],
}

export class DocumentServer {
  readonly tables = new Map<string, Table>()
  readonly transactions = new Map<string, string>()
  /** Every request, as method and path with the query. */
  readonly seen: string[] = []
  /** The status that the next request is answered with. */
  next: keyof typeof problems | undefined
  #ids = 0

  /** Puts a table there, with so many rows in each version. */
  put(id: string, ...versions: number[]): void {
    const table = {
      rows: versions.at(-1) ?? 0,
      versions,
      tags: new Map(),
      metadata: {},
      location: `s3://b/${id}`,
    }
    this.tables.set(id, table)
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, searchParams, search } = new URL(request.url)
    this.seen.push(`${request.method} ${pathname}${search}`)
    try {
      if (request.headers.get('authorization') !== 'Bearer token') throw new Refused(401)
      const { next } = this
      this.next = undefined
      if (next !== undefined) throw new Refused(next)
      const { body, headers } = await this.#answer(request, pathname, searchParams)
      return new Response(JSON.stringify(body), {
        status: 200,
        headers: { 'content-type': 'application/json', 'x-served-by': 'the document', ...headers },
      })
    } catch (error) {
      const status = error instanceof Refused ? error.status : 500
      const [type, title] = problems[status]
      const body = {
        type,
        title,
        status,
        detail: error instanceof Refused ? error.message : String(error),
        instance: pathname,
      }
      const headers = {
        'content-type': 'application/json',
        ...(status === 503 ? { 'retry-after': '0' } : {}),
      }
      return new Response(JSON.stringify(body), { status, headers })
    }
  }

  async #answer(request: Request, path: string, query: URLSearchParams): Promise<Reply> {
    const [, kind, id = '', verb = ''] =
      /^\/v1\/(table|namespace|transaction)\/(?:([^/]+)\/)?(.+)$/.exec(path) ?? []
    const allowed = ['delimiter', ...(parameters[verb] ?? [])]
    for (const name of query.keys()) if (!allowed.includes(name)) throw new Refused(400, `parameter ${name}`)
    const name = decodeURIComponent(id)
    if (verb === 'table/list' && request.method === 'GET') return { body: this.#list(name, query) }
    if (request.method !== 'POST' || request.headers.get('content-type') !== 'application/json')
      throw new Refused(400, 'how it is sent')
    const body = (await request.json()) as Body
    if (verb === 'schema_metadata/update') return { body: this.#setMetadata(name, body) }
    const fields = bodies[verb]
    if (fields === undefined) throw new Refused(404, 'no such path')
    onlyThese(body, fields)
    if (kind === 'table' && id !== '' && !Array.isArray(body.id)) throw new Refused(400, 'id')
    return this.#perform(kind!, name, verb, body)
  }

  #perform(kind: string, name: string, verb: string, body: Body): Reply {
    if (kind === 'transaction') {
      const status = this.transactions.get(name.split('$').at(-1)!)
      if (status === undefined) throw new Refused(404)
      return { body: { status, properties: {} } }
    }
    switch (verb) {
      case 'batch-commit':
        return { body: this.#commit(body.operations as Body[]) }
      case 'delete': {
        const table = this.#table(name)
        table.rows -= held(body.predicate, table.rows)
        table.versions.push(table.rows)
        return { body: { version: table.versions.length, transaction_id: this.#record() } }
      }
      case 'count_rows': {
        const table = this.#table(name)
        const rows = body.version === undefined ? table.rows : table.versions[(body.version as number) - 1]
        if (rows === undefined) throw new Refused(404)
        return {
          body: body.predicate === undefined ? rows : held(body.predicate, rows),
          headers: { 'x-scanned': String(rows) },
        }
      }
      case 'deregister':
        return { body: { ...this.#deregister(name), transaction_id: this.#record() } }
      case 'rename': {
        const parent = (body.new_namespace_id as string[] | undefined) ?? name.split('$').slice(0, -1)
        const target = [...parent, body.new_table_name].join('$')
        if (this.tables.has(target)) throw new Refused(409)
        this.tables.set(target, this.#table(name))
        this.tables.delete(name)
        return { body: {} }
      }
      case 'tags/update': {
        const { tags } = this.#table(name)
        if (!tags.has(String(body.tag))) throw new Refused(404)
        tags.set(String(body.tag), body.version as number)
        return { body: {} }
      }
      default:
        throw new Refused(404)
    }
  }

  #commit(operations: Body[]): unknown {
    const before = new Map(this.tables)
    try {
      const results = operations.map((step) => {
        const [[member, asked], ...more] = Object.entries(step) as [[string, Body], ...unknown[]]
        if (more.length > 0 || members[member] === undefined) throw new Refused(400, 'one member')
        onlyThese(asked, members[member])
        const name = (asked.id as string[]).join('$')
        if (member === 'deregister_table') return { [member]: this.#deregister(name) }
        if (member === 'declare_table') {
          if (this.tables.has(name)) throw new Refused(409)
          this.put(name)
          return { [member]: { location: `s3://b/${name}`, properties: null } }
        }
        const table = this.#table(name)
        if (member === 'delete_table_versions') return { [member]: { deleted_count: 0 } }
        table.versions.push(table.rows)
        return { [member]: { version: { version: asked.version, manifest_path: asked.manifest_path } } }
      })
      return { results, transaction_id: this.#record() }
    } catch (error) {
      this.tables.clear()
      for (const [id, table] of before) this.tables.set(id, table)
      throw error
    }
  }

  #list(namespace: string, query: URLSearchParams): unknown {
    const all = [...this.tables.keys()]
      .sort()
      .filter((id) => namespace === '$' || id.startsWith(`${namespace}$`))
    const declared = query.get('include_declared') !== 'false'
    const listed = declared ? all : all.filter((id) => this.tables.get(id)!.versions.length > 0)
    const start = Number(query.get('page_token') ?? 0)
    const size = Number(query.get('limit') ?? 100)
    const end = start + size
    return { tables: listed.slice(start, end), page_token: end < listed.length ? String(end) : '' }
  }

  #setMetadata(name: string, body: Body): Body {
    if (Object.values(body).some((value) => typeof value !== 'string')) throw new Refused(400)
    this.#table(name).metadata = body as Readonly<Record<string, string>>
    return body
  }

  #deregister(name: string): Body {
    const { location } = this.#table(name)
    this.tables.delete(name)
    return { id: name.split('$'), location, properties: null }
  }

  #table(name: string): Table {
    const table = this.tables.get(name)
    if (table === undefined) throw new Refused(404, `The table ${name}`)
    return table
  }

  /** Records a transaction, its status in one of the spellings that the document allows. */
  #record(): string {
    const id = `tx${++this.#ids}`
    this.transactions.set(id, ['succeeded', 'SUCCEEDED', 'Succeeded'][this.#ids % 3]!)
    return id
  }
}

/** Refuses fields that the document does not have, and values that stand for nothing. */
function onlyThese(given: Body, fields: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (!fields.includes(name)) throw new Refused(400, `field ${name}`)
    if (value === null || (name === 'branch' && value === '')) throw new Refused(400, `no value in ${name}`)
    if (name === 'context' && Object.keys(value as object).some((key) => key.startsWith('header.')))
      throw new Refused(400, 'headers in the context')
  }
}

/** How many of the rows a predicate holds for: all for `true`, or as many as it says. */
function held(predicate: unknown, rows: number): number {
  if (predicate === 'true') return rows
  const [, number] = /^(\d+) rows$/.exec(String(predicate)) ?? []
  if (number === undefined) throw new Refused(400, 'predicate')
  return Number(number)
}
