import { CatalogError } from '../base/errors.ts'
import { inTransactionHeader } from '../base/model/transaction-id.ts'
import { sleep, wallClock } from '../base/time.ts'
import type { AnyOperation } from '../catalog/index.ts'
import { errorOfResponse, isOfCatalog } from '../protocol/status.ts'
import type { Credentials } from './credentials.ts'
import type { Settings } from './options.ts'
import type { Outgoing } from './request.ts'
import { type Failure, type Received, redirected, send } from './send.ts'

/**
 * Sends a request, with retries, and resolves to the successful response. Rejects when a retry cannot help or no
 * retries are left. An abort rejects with the signal's reason.
 */
export async function exchange(
  settings: Settings,
  credentials: Credentials,
  operation: AnyOperation,
  outgoing: Outgoing,
  { signal, inParts }: { readonly signal: AbortSignal | undefined; readonly inParts?: boolean | undefined },
): Promise<Received> {
  const timeout = outgoing.route.rows ? settings.rowTimeout : settings.timeout
  for (let attempt = 0; ; attempt++) {
    const outcome = await sendWithToken(credentials, outgoing, (token) =>
      send(settings, outgoing, token, timeout, signal, inParts),
    )
    if (!('error' in outcome) && outcome.status >= 200 && outcome.status < 300) return outcome
    const error =
      unansweredChange(settings.base, outcome, operation, outgoing) ??
      ('error' in outcome ? outcome.error : errorOf(settings, outcome, outgoing.route.path))
    const isRepeatable = !operation.changes || operation.repeatable || outgoing.isKeyed
    const isFinal = !isRepeatable || attempt >= settings.retries
    const wait = isFinal ? undefined : retryDelayAfter(outcome, attempt)
    if (wait === undefined || wait > settings.maxWait) throw error
    await sleep(wait, { signal })
  }
}

/** Statuses of a server, or of a proxy before it, that may have an answer in a moment. */
const busyStatuses: ReadonlySet<number> = new Set([429, 502, 503])

function retryDelayAfter(outcome: Received | Failure, attempt: number): number | undefined {
  if ('error' in outcome) return outcome.isRetryable ? retryDelay(attempt, undefined) : undefined
  if (!busyStatuses.has(outcome.status)) return undefined
  return retryDelay(attempt, outcome.headers.get('retry-after'))
}

/** Sends once, and a second time with another token when the server answers 401. */
async function sendWithToken(
  credentials: Credentials,
  outgoing: Outgoing,
  send: (token: string | undefined) => Promise<Received | Failure>,
): Promise<Received | Failure> {
  const token = await credentials.current()
  const first = await send(token)
  if ('error' in first || first.status !== 401) return first
  const renewed = await credentials.renewed(token)
  // Rows of a source were read, and cannot be sent twice.
  const isRead = typeof outgoing.body === 'object' && !(outgoing.body instanceof Uint8Array)
  return renewed === undefined || isRead ? first : send(renewed)
}

export function errorOf({ base }: Settings, { status, headers, body }: Received, path: string): CatalogError {
  const location = headers.get('location')
  if (status < 400 && location !== null) return redirected(base, location)
  return errorOfResponse(status, parsed(body), path)
}

/** A body as JSON, or as text when it is none. */
function parsed(body: Uint8Array): unknown {
  const text = new TextDecoder().decode(body)
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const firstDelay = 100
const maxDelay = 5_000

/**
 * The delay before a retry, in milliseconds: what the server asks for, plus a random part whose bound doubles with
 * every attempt. It keeps clients that were refused together from retrying together. `attempt` counts from 0.
 */
export function retryDelay(
  attempt: number,
  retryAfter: string | null | undefined,
  { random = Math.random, now = wallClock }: { random?: () => number; now?: () => number } = {},
): number {
  const jitter = Math.min(maxDelay, firstDelay * 2 ** attempt) * random()
  return (retryAfter ? retryAfterMillis(retryAfter, now()) : 0) + jitter
}

/** `Retry-After` in milliseconds. The header has seconds or a date (RFC 9110, section 10.2.3). Zero when invalid. */
function retryAfterMillis(retryAfter: string, now: number): number {
  if (/^\s*\d+\s*$/.test(retryAfter)) return Number(retryAfter) * 1000
  const date = Date.parse(retryAfter)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now)
}

/**
 * The error of a change that the server may have made, although no answer arrived. Undefined when the server did not
 * make it, or when the request changes nothing. A caller who retries such a change may make it twice.
 */
function unansweredChange(
  base: string,
  outcome: Received | Failure,
  operation: AnyOperation,
  { headers, isKeyed }: Outgoing,
): CatalogError | undefined {
  const text = outcomeText(base, outcome)
  if (!operation.changes || text === undefined) return undefined
  const cause = 'error' in outcome ? outcome.error.cause : undefined
  return new CatalogError(
    'ServiceUnavailable',
    text + adviceFor(operation, isKeyed, inTransactionHeader in headers),
    {
      cause,
    },
  )
}

function outcomeText(base: string, outcome: Received | Failure): string | undefined {
  if ('error' in outcome) return outcome.maybeReceived
  const { status, body } = outcome
  // A proxy that does not know the method or the version of HTTP passes nothing on.
  if (status < 500 || status === 501 || status === 505 || isOfCatalog(status, parsed(body))) return undefined
  return `What stands before the server at ${base} answered with status ${status}`
}

function adviceFor(operation: AnyOperation, isKeyed: boolean, isInside: boolean): string {
  if (operation.name === 'beginTransaction')
    return '. Begin another transaction: one that nobody uses expires.'
  if (operation.repeatable)
    return '. Ask again, or describe the transaction: its status tells what became of it.'
  if (isKeyed)
    return ', so the change may have been made or not. Send it again with the same idempotency key.'
  if (isInside)
    return ', and the request may have been done inside of its transaction. Give that up, and begin another one.'
  return ', so the change may have been made or not. Look before you make it again.'
}
