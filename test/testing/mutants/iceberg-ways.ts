import { parse, stringify } from '../../../src/iceberg/json.ts'

export type Send = (request: Request) => Promise<Response>

// biome-ignore lint/suspicious/noExplicitAny: bodies of any endpoint
export type Body = any

/** A request, with its body parsed. */
interface Asked {
  readonly method: string
  /** Below `/v1/`, not decoded. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  body: Body
}

/** Sends a request, changed in parts. */
type Ask = (changed?: Partial<Asked>) => Promise<Response>

/** A server whose answers `answer` makes. */
export function broken(answer: (asked: Asked, ask: Ask) => Promise<Response>): (real: Send) => Send {
  return (real) => async (request) => {
    const url = new URL(request.url)
    const base = url.pathname.slice(0, url.pathname.indexOf('/v1/') + 4)
    const text = await request.clone().text()
    const asked: Asked = {
      method: request.method,
      path: url.pathname.slice(base.length),
      query: url.searchParams,
      headers: request.headers,
      body: parsed(text),
    }
    return answer(asked, (changed = {}) => {
      const { method, path, query, headers, body } = { ...asked, ...changed }
      const search = query.toString() === '' ? '' : `?${query}`
      const sent = body === undefined ? text : stringify(body)
      const kept = new Headers(headers)
      if (method !== 'POST') kept.delete('content-type')
      return real(
        new Request(`${url.origin}${base}${path}${search}`, {
          method,
          headers: kept,
          ...(method === 'POST' && sent !== '' && { body: sent }),
        }),
      )
    })
  }
}

function parsed(text: string): Body {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

export const isTable = (path: string) => /^namespaces\/[^/]+\/tables\/[^/]+$/.test(path)
export const isTables = (path: string) => /^namespaces\/[^/]+\/tables$/.test(path)
export const isView = (path: string) => /^namespaces\/[^/]+\/views\/[^/]+$/.test(path)
export const isListing = (path: string) => /^namespaces\/[^/]+\/(tables|views)$/.test(path)

export const json = (status: number, body: unknown, headers: Headers = new Headers()) => {
  const all = new Headers(headers)
  all.set('content-type', 'application/json')
  all.delete('content-length')
  return new Response(typeof body === 'string' ? body : stringify(body), { status, headers: all })
}

/** Changes the bodies of good answers to some requests. */
export function answering(
  isMeant: (asked: Asked) => boolean,
  change: (body: Body, asked: Asked) => Body,
): (real: Send) => Send {
  return broken(async (asked, ask) => {
    const response = await ask()
    if (!response.ok || !isMeant(asked) || asked.method === 'HEAD' || response.status === 204) return response
    return json(response.status, change(parse(await response.text()), asked), response.headers)
  })
}

/** Changes the metadata of tables or views in answers. */
export const withMetadata = (
  change: (metadata: Body) => Body,
  isMeant: (path: string) => boolean = (path) => isTable(path) || isTables(path),
) =>
  answering(
    ({ path }) => isMeant(path),
    (body) =>
      body.metadata === undefined
        ? body
        : { ...body, metadata: { ...body.metadata, ...change(body.metadata) } },
  )

/** Changes the bodies of some requests. */
export const asking = (isMeant: (asked: Asked) => boolean, change: (body: Body) => Body) =>
  broken((asked, ask) =>
    isMeant(asked) && asked.body !== undefined ? ask({ body: change(asked.body) }) : ask(),
  )

export const isCommit = ({ method, path }: Asked) => method === 'POST' && isTable(path)

/** Leaves some requirements out of commits, also of those in transactions. */
export const ignoring = (type: RegExp) =>
  asking(
    ({ method, path }) =>
      method === 'POST' && (isTable(path) || isView(path) || path === 'transactions/commit'),
    (body) => {
      const without = (change: Body) =>
        Array.isArray(change.requirements)
          ? { ...change, requirements: change.requirements.filter((one: Body) => !type.test(one?.type)) }
          : change
      return body['table-changes'] === undefined
        ? without(body)
        : { ...body, 'table-changes': body['table-changes'].map(without) }
    },
  )

/** Leaves some updates out of commits. */
export const forgetting = (...actions: string[]) =>
  asking(
    ({ method, path }) => method === 'POST' && (isTable(path) || isView(path)),
    (body) =>
      Array.isArray(body.updates)
        ? { ...body, updates: body.updates.filter((one: Body) => !actions.includes(one?.action)) }
        : body,
  )

/** Answers errors with another status, or in another form. */
export const failing = (
  status: number,
  change: (error: Body) => { status: number; body: unknown; type?: string },
) =>
  broken(async (_, ask) => {
    const response = await ask()
    if (response.status !== status) return response
    const text = await response.text()
    if (text === '') return new Response(null, { status: change({}).status })
    const { status: changed, body, type } = change(parse(text))
    const answer = json(changed, body)
    if (type !== undefined) answer.headers.set('content-type', type)
    return answer
  })

export const typed = (status: number, from: string, to: string) =>
  failing(status, ({ error }) => ({
    status,
    body: { error: { ...error, type: error?.type === from ? to : error?.type } },
  }))

/** Makes the changes of a transaction one after the other. */
export const inParts = broken(async (asked, ask) => {
  const changes: Body[] = asked.body?.['table-changes'] ?? []
  if (asked.path !== 'transactions/commit' || changes.length < 2) return ask()
  let last: Response | undefined
  for (const change of changes) {
    last = await ask({ body: { 'table-changes': [change] } })
    if (!last.ok) break
  }
  return last!
})

/** Renames by registering the table a second time. */
export const copying = broken(async ({ path, body, headers }, ask) => {
  if (path !== 'tables/rename') return ask()
  const at = ({ namespace }: Body) => `namespaces/${encodeURIComponent(namespace.join('\u001f'))}`
  const plain = { headers, query: new URLSearchParams() }
  const source = await ask({ ...plain, method: 'GET', path: `${at(body.source)}/tables/${body.source.name}` })
  if (!source.ok) return source
  const { 'metadata-location': location } = parse(await source.text()) as Body
  const made = await ask({
    path: `${at(body.destination)}/register`,
    body: { name: body.destination.name, 'metadata-location': location },
  })
  return made.ok ? new Response(null, { status: 204 }) : made
})

/** Answers what it answered first, whatever was changed since. */
export function remembering(isMeant: (asked: Asked) => boolean): (real: Send) => Send {
  const kept = new Map<string, Response>()
  return broken(async (asked, ask) => {
    if (asked.method !== 'GET' || !isMeant(asked)) return ask()
    const found = kept.get(asked.path) ?? (await ask())
    if (found.ok) kept.set(asked.path, found.clone())
    return found.clone()
  })
}

/** Answers pages of listings as `change` has them. */
export const paging = (change: (items: Body[], asked: Asked) => Body[]) =>
  answering(
    ({ method, path, query }) => method === 'GET' && isListing(path) && query.has('pageSize'),
    (body, asked) => ({ ...body, identifiers: change(body.identifiers, asked) }),
  )

/** Begins each further page with the first item of all. */
export function repeating(): (real: Send) => Send {
  let first: Body
  return paging((items, { query }) => {
    if (query.get('pageToken') !== '') return [first, ...items.slice(1)]
    first = items[0]
    return items
  })
}

/** Gives one request with a key after another the same answer, whatever its key. */
export function confusing(): (real: Send) => Send {
  const kept = new Map<string, Response>()
  return broken(async (asked, ask) => {
    if (!asked.headers.has('idempotency-key')) return ask()
    const name = `${asked.method} ${asked.path}`
    const found = kept.get(name) ?? (await ask())
    kept.set(name, found.clone())
    return found.clone()
  })
}

export const withoutHeader = (name: string) =>
  broken((asked, ask) => {
    const headers = new Headers(asked.headers)
    headers.delete(name)
    return ask({ headers })
  })

export const tagged = (tag: (response: Response, body: string) => string) =>
  broken(async ({ path, method }, ask) => {
    const response = await ask()
    if (!response.headers.has('etag') || !response.ok) return response
    const text = await response.text()
    const headers = new Headers(response.headers)
    if (method === 'GET' && isTable(path)) headers.set('etag', tag(response, text))
    return json(response.status, text, headers)
  })

/** Tags loaded tables by their metadata files, whichever snapshots are asked for. */
export const taggedByFile = broken(async ({ path, method, headers: given }, ask) => {
  if (method !== 'GET' || !isTable(path)) return ask()
  const headers = new Headers(given)
  headers.delete('if-none-match')
  const response = await ask({ headers })
  if (!response.ok) return response
  const body = parse(await response.text()) as Body
  const etag = JSON.stringify(body['metadata-location'])
  if (given.get('if-none-match') === etag) return new Response(null, { status: 304, headers: { etag } })
  return json(200, body, new Headers({ etag }))
})
