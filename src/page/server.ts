import type { Identifier } from '../base/model/identifier.ts'
import { inTransactionHeader } from '../base/model/transaction-id.ts'
import { changesPath, eventStreamType, lastEventHeader } from '../protocol/events.ts'
import { encodePathId } from '../protocol/path-id.ts'

interface Settings {
  readonly editable: boolean
  readonly token: boolean
  readonly listing: 'recursive' | 'children'
}

/** The server's settings, from a meta tag of the page. */
export const settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=tabularium]')!.content,
) as Settings

const tokenKey = 'tabularium-token'

/** The token to send, kept while this tab is open. No request has it in its URL. */
export const token = {
  get: () => sessionStorage.getItem(tokenKey) ?? undefined,
  set: (given: string) => sessionStorage.setItem(tokenKey, given),
  forget: () => sessionStorage.removeItem(tokenKey),
}

/** An error response, or with status 0, no response at all. */
export class ServerError extends Error {
  readonly status: number
  readonly transaction: string | undefined
  /** The protocol's error number, if the response has one. */
  readonly code: number | undefined

  constructor(status: number, message: string, transaction?: string, code?: number) {
    super(message)
    this.status = status
    this.transaction = transaction
    this.code = code
  }
}

/** A transaction that this page began, and the transactions inside of it, which are recorded when it commits. */
export interface Within {
  readonly transaction?: {
    readonly id: string
    readonly inner: { readonly id: unknown; readonly what: string }[]
  }
}

export interface RequestOptions extends Within {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
}

/** A transaction that a response to this page named. */
export interface SeenTransaction {
  readonly id: string
  readonly what: string
  readonly at: number
  /** The error message of its request, if that failed. */
  readonly failure?: string | undefined
}

const seen: SeenTransaction[] = []
const maxSeen = 200

/** The transactions that responses to this page named, latest first. */
export function seenTransactions(): readonly SeenTransaction[] {
  return seen
}

function recordTransaction(transaction: unknown, what: string, failure?: string): void {
  const ids = Array.isArray(transaction) ? transaction : [transaction]
  for (const id of ids) {
    if (typeof id !== 'string' || seen.some((known) => known.id === id)) continue
    seen.unshift({ id, what, at: Date.now(), failure })
  }
  seen.length = Math.min(seen.length, maxSeen)
}

/** Records the transactions inside of a committed one. */
export function recordInner({ transaction }: Within): void {
  for (const { id, what } of transaction?.inner ?? []) recordTransaction(id, what)
}

/** Sends a POST about a namespace, table or transaction, and returns the JSON of the response. */
export async function post<T>(
  kind: 'namespace' | 'table' | 'transaction',
  id: Identifier,
  verb: string,
  asked: RequestOptions = {},
): Promise<T> {
  return (await send('POST', pathOf(kind, id, verb), asked)).json() as Promise<T>
}

/** Begins a transaction and returns its id. */
export async function beginTransaction(): Promise<string> {
  const response = await send('POST', 'v1/transaction/begin', { body: {} })
  return ((await response.json()) as { transaction_id: string }).transaction_id
}

/** A page of transactions. Servers of other implementations may refuse this. */
export async function listTransactions<T>(body: unknown, signal: AbortSignal): Promise<T> {
  return (await send('POST', 'v1/transaction/list', { body, signal })).json() as Promise<T>
}

/** Sends a GET about a namespace or table, and returns the JSON of the response. */
export async function get<T>(
  kind: 'namespace' | 'table',
  id: Identifier,
  verb: string,
  asked: RequestOptions = {},
): Promise<T> {
  return (await send('GET', pathOf(kind, id, verb), asked)).json() as Promise<T>
}

/** Sends a GET for a page of the server, and returns its text. */
export async function getText(path: string, signal: AbortSignal): Promise<string> {
  return (await send('GET', path, { signal })).text()
}

/** Sends a POST about a table, and returns the bytes of the response. */
export async function postForBytes(id: Identifier, verb: string, asked: RequestOptions): Promise<Uint8Array> {
  return new Uint8Array(await (await send('POST', pathOf('table', id, verb), asked)).arrayBuffer())
}

function pathOf(kind: string, id: Identifier, verb: string): string {
  const segment = encodePathId(id)
  // Browsers resolve `.` and `..` in a path even when they are percent-encoded.
  if (/^(%2E){1,2}$/.test(segment))
    throw new ServerError(400, `A browser cannot ask for what is named ${id[0]} alone. Use the command line.`)
  return `v1/${kind}/${segment}/${verb}`
}

/**
 * The stream of changes after the token `since`, or the response that refuses it. A refusal is not an error: the page
 * works without the stream.
 */
export function openChanges(since: string | undefined, signal: AbortSignal): Promise<Response> {
  const headers = {
    ...tokenHeader(),
    accept: eventStreamType,
    ...(since !== undefined && { [lastEventHeader]: since }),
  }
  const url = urlOf(changesPath.slice(1))
  return fetch(url, { headers, signal, credentials: 'same-origin', cache: 'no-store' })
}

/** The URL of this server, as the command line takes it. */
export function serverUrl(): string {
  return urlOf('').href.replace(/\/$/, '')
}

/** The URL of a path of this server. */
export function urlOf(path: string): URL {
  return new URL(path, document.baseURI.replace(/[?#].*/s, ''))
}

/** The header with the token, if there is one. */
export function tokenHeader(): Record<string, string> {
  const known = token.get()
  return known === undefined ? {} : { authorization: `Bearer ${known}` }
}

async function send(method: string, path: string, asked: RequestOptions): Promise<Response> {
  const { query = {}, body, signal, transaction } = asked
  const url = urlOf(path)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const sent = token.get()
  const headers = tokenHeader()
  if (transaction) headers[inTransactionHeader] = transaction.id
  const isBytes = body instanceof Uint8Array
  if (body !== undefined)
    headers['content-type'] = isBytes ? 'application/vnd.apache.arrow.stream' : 'application/json'
  let response: Response
  try {
    response = await fetch(url, {
      method,
      headers,
      body: body === undefined ? null : isBytes ? (body as BodyInit) : JSON.stringify(body),
      signal: signal ?? null,
      credentials: 'same-origin',
      cache: 'no-store',
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ServerError(0, 'The server gave no answer.')
  }
  if (response.ok) {
    await recordFrom(response, path, transaction)
    return response
  }
  const error = await errorOf(response, path)
  // The body of an aborted request may be incomplete.
  signal?.throwIfAborted()
  // The user may have entered another token in the meantime.
  if (error.status === 401 && token.get() === sent) for (const listener of listeners) listener()
  throw error
}

async function recordFrom(response: Response, path: string, inside: Within['transaction']): Promise<void> {
  // Not recorded: the operations inside describe a transaction better than its begin and end.
  if (/^v1\/transaction\/(begin$|[^/]+\/(commit|rollback)$)/.test(path)) return
  if (!response.headers.get('content-type')?.startsWith('application/json')) return
  const answer = (await response.clone().json()) as { transaction_id?: unknown } | null
  if (typeof answer !== 'object' || !answer?.transaction_id) return
  const [id, what] = [answer.transaction_id, decodeURIComponent(path)]
  if (inside) inside.inner.push({ id, what })
  else recordTransaction(id, what)
}

const listeners = new Set<() => void>()

/** Calls back when the server refuses the token, or asks for one. */
export function onUnauthenticated(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

async function errorOf(response: Response, path: string): Promise<ServerError> {
  const body = (await response.json().catch(() => ({}))) as {
    detail?: string
    transaction_id?: string
    code?: number
  }
  const message = body.detail || `The server answered with status ${response.status}.`
  recordTransaction(body.transaction_id, decodeURIComponent(path), message)
  return new ServerError(response.status, message, body.transaction_id, body.code)
}
