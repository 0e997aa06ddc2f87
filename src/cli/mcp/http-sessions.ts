import { randomUUID } from 'node:crypto'
import { requestMemory } from '../../base/scheduling/request-memory.ts'
import { unrefTimer } from '../../base/scheduling/unref-timer.ts'
import { clearTimeout, setTimeout, type Timer } from '../../base/time.ts'
import { requestId } from '../../catalog/index.ts'
import type { Mount, MountedRequest } from '../../server/mount.ts'
import type { OperationOptions } from '../../tabularium/index.ts'
import type { Served } from './connection.ts'
import { type Report, type ServedConnection, serveConnection } from './protocol-server.ts'
import type { Sdk } from './sdk.ts'

/** Where clients of the protocol find it. */
export const mcpPath = '/mcp'

export interface SessionLimits {
  /** Most sessions at once. */
  readonly count: number
  /** How long a session may go without a request, in milliseconds. */
  readonly idleMillis: number
}

/** A session: one client, which names it in a header. */
interface Session {
  readonly id: string
  /** The caller who began it. For others it does not exist. */
  readonly owner: string | undefined
  readonly connection: ServedConnection
  readonly transport: InstanceType<Sdk['HttpTransport']>
  /** What ends the waiting for the answer of each request, by the id that its client gave it. */
  readonly waiting: Map<unknown, (answer: Response) => void>
  idle: Timer | undefined
}

/** The sessions of a server over HTTP, as a protocol for its option `mounts`. */
export class HttpSessions implements AsyncDisposable {
  readonly mount: Mount
  readonly #sdk: Sdk
  readonly #served: Served
  readonly #limits: SessionLimits
  readonly #report: Report
  readonly #sessions = new Map<string, Session>()

  constructor(sdk: Sdk, served: Served, limits: SessionLimits, report: Report) {
    this.#sdk = sdk
    this.#served = served
    this.#limits = limits
    this.#report = report
    this.mount = {
      path: mcpPath,
      route: ({ method }) => ({
        name: 'mcp',
        access: [],
        // Operations of the same server are refused, so that it has no answers to drop.
        changes: false,
        body: method === 'POST' ? 'json' : 'none',
        run: async (request) => answerOf(await this.#respond(method, request)),
      }),
      ownAnswer: () => undefined,
      answer: (code, detail, status) => ({ status, type: json, body: errorText(`${code}: ${detail}`) }),
    }
  }

  /** How many sessions there are. */
  get size(): number {
    return this.#sessions.size
  }

  /** Ends all sessions, and takes back what they did not commit. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)))
  }

  async #respond(method: string, request: MountedRequest): Promise<Response> {
    const { headers, principal, body } = request
    if (method !== 'POST' && method !== 'DELETE') return notAllowed()
    if (Array.isArray(body)) return refusal(400, 'Batches are not supported. Send each message by itself.')
    const id = headers['mcp-session-id']
    const known = typeof id === 'string' ? this.#sessions.get(id) : undefined
    if (id !== undefined && known?.owner !== principal?.name) return unknownSession()
    if (id !== undefined && known === undefined) return unknownSession()
    if (known !== undefined) return this.#ask(known, method, request)
    if (method === 'DELETE' || !this.#sdk.types.isInitializeRequest(body))
      return refusal(
        400,
        'The request names no session. Send initialize first, then the header Mcp-Session-Id of its answer.',
      )
    if (this.#sessions.size >= this.#limits.count)
      return refusal(503, `There are ${this.#limits.count} sessions, which is the most. Try again later.`, {
        'retry-after': '10',
      })
    const session = await this.#begin(principal?.name)
    const answer = await this.#ask(session, method, request)
    if (!answer.ok) await this.#end(session)
    return answer
  }

  async #begin(owner: string | undefined): Promise<Session> {
    const id = randomUUID()
    const transport = new this.#sdk.HttpTransport({ sessionIdGenerator: () => id, enableJsonResponse: true })
    const connection = serveConnection(this.#sdk, this.#served, owner, this.#report)
    const session: Session = { id, owner, connection, transport, waiting: new Map(), idle: undefined }
    this.#sessions.set(id, session)
    await connection.server.connect(transport)
    // The client has ended it.
    const { onclose } = transport
    transport.onclose = () => {
      onclose?.()
      void this.#end(session)
    }
    return session
  }

  async #end(session: Session): Promise<void> {
    if (!this.#sessions.delete(session.id)) return
    clearTimeout(session.idle)
    for (const stop of session.waiting.values()) stop(unknownSession())
    await session.connection.close().catch(this.#report)
  }

  /** The answer of the SDK. While it is awaited, the session does not end for being idle. */
  async #ask(session: Session, method: string, request: MountedRequest): Promise<Response> {
    const { id, method: asked, params } = (request.body ?? {}) as Message
    const { waiting } = session
    clearTimeout(session.idle)
    const ask = () => this.#handle(session, method, request)
    try {
      if (asked !== undefined && id !== undefined) return await this.#untilStopped(session, id, request, ask)
      const answer = await ask()
      // The SDK never answers a request that was canceled.
      if (asked === 'notifications/cancelled') waiting.get(params?.requestId)?.(accepted())
      return answer
    } finally {
      if (waiting.size === 0 && this.#sessions.has(session.id)) this.#endWhenIdle(session)
    }
  }

  #endWhenIdle(session: Session): void {
    clearTimeout(session.idle)
    session.idle = unrefTimer(setTimeout(() => void this.#end(session), this.#limits.idleMillis))
  }

  /** The answer, unless the caller has gone, has canceled the request, or the session ends before. */
  async #untilStopped(
    { waiting }: Session,
    id: unknown,
    { options: { signal } }: MountedRequest,
    ask: () => Promise<Response>,
  ): Promise<Response> {
    if (waiting.has(id)) return refusal(400, 'A request of this session with the same id has no answer yet.')
    const stopped = new Promise<Response>((resolve) => waiting.set(id, resolve))
    const onGone = () => waiting.get(id)?.(accepted())
    signal?.addEventListener('abort', onGone, { once: true })
    try {
      return await Promise.race([ask(), stopped])
    } finally {
      signal?.removeEventListener('abort', onGone)
      waiting.delete(id)
    }
  }

  #handle({ transport }: Session, method: string, request: MountedRequest): Promise<Response> {
    const { body, principal, headers } = request
    const given = new Request(`http://localhost${mcpPath}`, { method, headers: plainHeaders(headers) })
    const extra = { options: optionsOf(request) }
    const authInfo = { token: '', clientId: principal?.name ?? '', scopes: [], extra }
    return transport.handleRequest(given, { parsedBody: body, authInfo })
  }
}

/** The parts of a message that say how it is answered. */
interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly requestId?: unknown }
}

/** The options for the operations of a request. */
function optionsOf({ options }: MountedRequest): OperationOptions {
  const { signal, [requestId]: id, [requestMemory]: memory } = options
  return { signal, [requestId]: id, ...(memory && { [requestMemory]: { ...memory, inParts: false } }) }
}

/** The headers that the SDK looks at. */
function plainHeaders(headers: MountedRequest['headers']): Record<string, string> {
  const names = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version'] as const
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  )
}

const json = 'application/json'

async function answerOf(response: Response) {
  const { status, headers } = response
  const body = await response.text()
  const { 'content-type': type, ...others } = Object.fromEntries(headers)
  return { status, body, headers: others, ...(type !== undefined && { type }) }
}

function errorText(message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null })
}

function accepted(): Response {
  return new Response(null, { status: 202 })
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return new Response(errorText(message), { status, headers: { 'content-type': json, ...headers } })
}

function notAllowed(): Response {
  return refusal(405, 'This server sends nothing by itself, and takes POST and DELETE.', {
    allow: 'POST, DELETE',
  })
}

/** The answer after which clients begin a new session. */
function unknownSession(): Response {
  return refusal(404, 'There is no such session, or it has ended. Begin a new one with initialize.')
}
