import { brokenStreams } from './streams.ts'

type Send = (request: Request) => Promise<Response>

interface Parts {
  readonly request: Request
  readonly url: URL
  /** The body as text. */
  readonly body: string
}

/** Changes the request, or responds instead of the server. */
type Before = (parts: Parts) => Request | Response
/** Changes a response. It gets a JSON body parsed. */
type After = (response: Response, json: Record<string, unknown>, parts: Parts) => Response

function broken(before: Before, after: After = (response) => response): (real: Send) => Send {
  return (real) => async (request) => {
    const body = await request.clone().text()
    const parts = { request, url: new URL(request.url), body }
    const changed = before(parts)
    if (changed instanceof Response) return changed
    const response = await real(changed)
    // A stream never ends.
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const answered = (await response
      .clone()
      .json()
      .catch(() => undefined)) as Record<string, unknown> | undefined
    return answered === undefined ? response : after(response, answered, parts)
  }
}

const same: Before = ({ request }) => request
const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(typeof body === 'string' ? body : JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })

/** The request with another address, body or headers. */
function like({ request, url, body }: Parts, headers: Record<string, string> = {}): Request {
  const kept = { ...Object.fromEntries(request.headers), ...headers }
  return new Request(url, { method: request.method, headers: kept, ...(body === '' ? {} : { body }) })
}

const onError = (change: (body: Record<string, unknown>) => unknown): After => {
  return (response, body) => (response.ok ? response : json(response.status, change(body)))
}

const whenStatus = (status: number, other: number): After => {
  return (response, body) => (response.status === status ? json(other, { ...body, status: other }) : response)
}

const onPath = (path: RegExp, change: (body: Record<string, unknown>) => unknown): After => {
  return (response, body, { url }) =>
    response.ok && path.test(url.pathname) ? json(200, change(body)) : response
}

const isJson = (body: string) => {
  try {
    JSON.parse(body)
    return true
  } catch {
    return false
  }
}

/** Servers each broken in one way, with the case that must notice. */
export const brokenServers: readonly (readonly [
  name: string,
  rule: string,
  make: (real: Send, token: string) => Send,
])[] = [
  ['answers malformed JSON with 404', 'http.error-400', broken(same, whenStatus(400, 404))],
  [
    'answers with a trace of its own code',
    'http.error-404',
    broken(
      same,
      onError((body) => ({ ...body, detail: 'Error\n    at find (/srv/app/node_modules/catalog.js:7:3)' })),
    ),
  ],
  [
    'leaves out fields of the error body',
    'http.error-404',
    broken(
      same,
      onError(({ instance, ...body }) => body),
    ),
  ],
  [
    'leaves out code and error',
    'http.error-404',
    broken(
      same,
      onError(({ code, error, ...body }) => body),
    ),
  ],
  [
    'titles its errors as it likes',
    'http.error-409',
    broken(
      same,
      onError((body) => ({ ...body, title: 'Conflict' })),
    ),
  ],
  [
    'gives the wrong code',
    'http.error-409',
    broken(
      same,
      onError((body) => ({ ...body, code: 14 })),
    ),
  ],
  ['answers conflicts with 400', 'http.error-409', broken(same, whenStatus(409, 400))],
  [
    'answers an unknown route with a page',
    'http.unknown-route',
    broken(same, (response) =>
      response.status === 404 ? json(404, '<h1>Not found</h1>', { 'content-type': 'text/html' }) : response,
    ),
  ],
  [
    'explains in an object',
    'http.plans',
    broken(
      same,
      onPath(/explain_plan$/, (plan) => ({ plan })),
    ),
  ],
  [
    'describes any index',
    'http.indices',
    broken(same, (response, _, { url }) =>
      /index\/.*\/stats$/.test(url.pathname) && response.status === 404
        ? json(200, { index_type: 'BTREE' })
        : response,
    ),
  ],
  [
    'counts in an object',
    'http.count',
    broken(
      same,
      onPath(/count_rows$/, (count) => ({ count })),
    ),
  ],
  [
    'answers the bare version of new columns',
    'http.columns',
    broken(
      same,
      onPath(/add_columns$/, (answer) => (answer as { version?: number }).version ?? answer),
    ),
  ],
  [
    'wraps schema metadata',
    'http.metadata',
    broken(
      same,
      onPath(/schema_metadata/, (metadata) => ({ metadata })),
    ),
  ],
  [
    'tells the status of a transaction in small letters',
    'http.transaction',
    broken(
      same,
      onPath(/transaction/, (body) => ({ ...body, status: 'succeeded' })),
    ),
  ],
  [
    'leaves out the version of a delete',
    'http.delete',
    broken(
      same,
      onPath(/delete$/, ({ version, ...body }) => body),
    ),
  ],
  [
    'does not look at the limit',
    'http.list',
    broken((parts) => {
      parts.url.searchParams.delete('limit')
      return like(parts)
    }),
  ],
  [
    'does not look at the delimiter',
    'http.delimiter',
    broken((parts) => {
      parts.url.searchParams.delete('delimiter')
      return like(parts)
    }),
  ],
  [
    'decodes paths twice',
    'http.encoding',
    broken((parts) => {
      parts.url.pathname = parts.url.pathname.replaceAll('%25', '%')
      return like(parts)
    }),
  ],
  [
    'has no root',
    'http.root',
    broken((parts) => (/\/namespace\/(\$|%24)\//.test(parts.url.pathname) ? json(404, {}) : parts.request)),
  ],
  [
    'does not look at the id in the body',
    'http.body-id',
    broken((parts) => like({ ...parts, body: parts.body.replace(/"id":(\[.*?\]|".*?")/, '"_":0') })),
  ],
  [
    'takes any content type',
    'http.content-type',
    broken((parts) => like(parts, { 'content-type': 'application/json' })),
  ],
  [
    'needs a body',
    'http.empty-body',
    broken(({ request, body }) => (request.method === 'POST' && body === '' ? json(400, {}) : request)),
  ],
  [
    'takes null for a value',
    'http.nulls',
    broken(({ request, body }) => (/:null/.test(body) ? json(400, {}) : request)),
  ],
  [
    'takes a context of any shape',
    'http.context',
    broken((parts) => like({ ...parts, body: parts.body.replace(/"context":[^}]*\}?/, '"_":0}') })),
  ],
  [
    'lists by POST alone',
    'http.methods',
    broken(({ request }) => (request.method === 'GET' ? json(405, {}) : request)),
  ],
  [
    'does not count by GET',
    'http.get-too',
    broken(({ request, url }) =>
      request.method === 'GET' && /count_rows/.test(url.pathname) ? json(405, {}) : request,
    ),
  ],
  [
    'calls Arrow plain bytes',
    'http.arrow',
    (real) => async (request) => {
      const response = await real(request)
      const type = response.headers.get('content-type') ?? ''
      if (!type.includes('arrow')) return response
      return new Response(response.body, { headers: { 'content-type': 'application/octet-stream' } })
    },
  ],
  [
    'answers in the order of insertion',
    'http.query',
    broken((parts) => like({ ...parts, body: parts.body.replace(/"order_by":\[[^\]]*\],?/, '') })),
  ],
  [
    'fails where it should say 406',
    'http.lacking.createMaterializedView',
    broken(same, whenStatus(406, 500)),
  ],
  [
    'lets in everybody',
    'http.unauthorized',
    (real, token) => broken((parts) => like(parts, { authorization: `Bearer ${token}` }))(real),
  ],
  [
    'reads the body before it asks who sent it',
    'http.auth-first',
    broken(({ request, body }) => (body !== '' && !isJson(body) ? json(400, {}) : request)),
  ],
  [
    'takes an identity for a credential',
    'http.auth-first',
    (real, token) =>
      broken((parts) =>
        parts.body.includes(token) ? like(parts, { authorization: `Bearer ${token}` }) : parts.request,
      )(real),
  ],
  [
    'says who is there to strangers',
    'http.auth-first',
    broken(({ request, url }) =>
      !request.headers.has('authorization') && url.pathname.includes('none') ? json(404, {}) : request,
    ),
  ],
  ['knows no header of transactions', 'http.inside', broken((parts) => withoutHeader(parts))],
  [
    'gives an answer from inside of a transaction to others',
    'http.inside-kept',
    (real) => keepingAnswers(real),
  ],
  [
    'says that a lost race was a bad request',
    'http.inside-ended',
    broken(same, (response, body, { url }) =>
      url.pathname.endsWith('/commit') ? whenStatus(409, 400)(response, body, {} as Parts) : response,
    ),
  ],
  [
    'does as asked when a transaction is not there',
    'http.inside-ended',
    broken((parts) =>
      parts.request.headers.get(header)?.startsWith('01ARZ') ? withoutHeader(parts) : parts.request,
    ),
  ],
  [
    'lets everybody into every transaction',
    'http.inside-owner',
    (real, token) =>
      broken((parts) =>
        parts.request.headers.has(header) ? like(parts, { authorization: `Bearer ${token}` }) : parts.request,
      )(real),
  ],
  [
    'lets everybody end every transaction',
    'http.inside-owner',
    (real, token) =>
      broken((parts) =>
        /\/(commit|rollback)$/.test(parts.url.pathname)
          ? like(parts, { authorization: `Bearer ${token}` })
          : parts.request,
      )(real),
  ],
  ['commits the parts of a batch alone', 'http.batch', (real) => (request) => inParts(real, request)],
  ...brokenStreams,
]

/** Commits the operations of a batch separately. */
async function inParts(real: Send, request: Request): Promise<Response> {
  const { operations } = (await request
    .clone()
    .json()
    .catch(() => ({}))) as { operations?: object[] }
  if (!operations || operations.length < 2) return real(request)
  let last: Response | undefined
  for (const operation of operations) {
    const body = JSON.stringify({ operations: [operation] })
    last = await real(new Request(request.url, { method: 'POST', headers: request.headers, body }))
    if (!last.ok) break
  }
  return last!
}

const header = 'x-tabularium-transaction'

function withoutHeader(parts: Parts): Request {
  const { request, url, body } = parts
  const headers = new Headers(request.headers)
  headers.delete(header)
  return new Request(url, { method: request.method, headers, ...(body === '' ? {} : { body }) })
}

/** Caches a listing until the next commit. */
function keepingAnswers(real: Send): Send {
  const kept = new Map<string, Response>()
  return async (request) => {
    const isInside = request.headers.has(header)
    if (request.method !== 'GET') {
      if (!isInside) kept.clear()
      return real(request)
    }
    const found = kept.get(request.url) ?? (await real(request))
    kept.set(request.url, found.clone())
    return found
  }
}
