import { CatalogError } from '../../base/errors.ts'
import { anySignal } from '../../base/scheduling/signals.ts'
import { sleep } from '../../base/time.ts'
import { parse } from '../json.ts'

/** Where a catalog of Iceberg REST is, and as whom it is asked. */
export interface RemoteOptions {
  /** The URL before `/v1`. */
  readonly url: string
  /** A bearer token. */
  readonly token?: string | undefined
  /** `id:secret`, or a secret, which is exchanged for a token. */
  readonly credential?: string | undefined
  /** The scope of that token. Default: `catalog`. */
  readonly scope?: string | undefined
  /** Where the token is asked for. Default: `v1/oauth/tokens` of the catalog. */
  readonly oauthUrl?: string | undefined
  /** Which of the catalogs of the server is meant. */
  readonly warehouse?: string | undefined
}

/** Most bytes of an answer. Metadata of a table with many snapshots may have 100 MB. */
const mostBytes = 256 << 20
/** How long an answer may take, in milliseconds. */
const longest = 120_000
/** Delays before a request is sent again that a server did not answer, or could not answer yet. */
const delays = [200, 1_000, 4_000]
/** Longest delay that a server may ask for. */
const longestDelay = 30_000

/** A request that a server of Iceberg REST refused. */
export class RemoteRefused extends CatalogError {
  readonly status: number

  constructor(status: number, type: string | undefined, message: string) {
    super(codeOf(status), message)
    this.status = status
    this.type = type
  }

  readonly type: string | undefined
}

function codeOf(status: number) {
  if (status === 401) return 'Unauthenticated'
  if (status === 403) return 'PermissionDenied'
  return status === 404 ? 'TableNotFound' : status >= 500 ? 'ServiceUnavailable' : 'InvalidInput'
}

/** Sends requests to a server of Iceberg REST. Answers are bounded in bytes and time. */
export class RestClient {
  readonly #base: string
  readonly #options: RemoteOptions
  readonly #signal: AbortSignal | undefined
  #token: string | undefined

  constructor(options: RemoteOptions, signal: AbortSignal | undefined) {
    this.#base = baseOf(options.url)
    this.#options = options
    this.#signal = signal
    this.#token = options.token
  }

  /** Gets a token for the credential, where there is one. */
  async authenticate(): Promise<void> {
    const { credential, scope = 'catalog', oauthUrl = `${this.#base}/v1/oauth/tokens` } = this.#options
    if (credential === undefined || this.#token !== undefined) return
    const at = credential.indexOf(':')
    const form = new URLSearchParams({ grant_type: 'client_credentials', scope })
    if (at > 0) form.set('client_id', credential.slice(0, at))
    form.set('client_secret', credential.slice(at + 1))
    const answer = (await this.#exchange('POST', oauthUrl, {
      body: form.toString(),
      type: 'application/x-www-form-urlencoded',
    })) as { readonly access_token?: unknown } | undefined
    if (typeof answer?.access_token !== 'string')
      throw unexpected(oauthUrl, 'has no access_token, though it accepted the credential')
    this.#token = answer.access_token
  }

  /** The answer to a request for a path behind `/v1/`. It is parsed, and not checked. */
  get(path: string): Promise<unknown> {
    return this.#exchange('GET', `${this.#base}/v1/${path}`)
  }

  /** As `get`, for a change. It is sent once: the caller sees by the state whether it was made. */
  post(path: string, body: unknown): Promise<unknown> {
    const sent = { body: JSON.stringify(body), type: 'application/json' }
    return this.#exchange('POST', `${this.#base}/v1/${path}`, sent)
  }

  async #exchange(
    method: 'GET' | 'POST',
    url: string,
    sent?: { readonly body: string; readonly type: string },
  ): Promise<unknown> {
    for (let attempt = 0; ; attempt++) {
      const answer = await this.#send(method, url, sent)
      const delay = method === 'GET' ? delays[attempt] : undefined
      if (answer instanceof CatalogError || (isBusy(answer.status) && delay !== undefined)) {
        if (delay === undefined) throw answer
        const asked = answer instanceof CatalogError ? 0 : answer.retryAfter
        await sleep(Math.min(Math.max(delay, asked), longestDelay), this.#signal && { signal: this.#signal })
      } else {
        if (answer.status < 300) return answer.text === '' ? undefined : parsed(answer.text, url)
        throw refused(answer, url)
      }
    }
  }

  async #send(
    method: string,
    url: string,
    sent: { readonly body: string; readonly type: string } | undefined,
  ) {
    const timeout = AbortSignal.timeout(longest)
    const signal = anySignal(this.#signal, timeout)
    try {
      const response = await fetch(url, {
        method,
        headers: {
          accept: 'application/json',
          ...(sent && { 'content-type': sent.type }),
          ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
        },
        ...(sent && { body: sent.body }),
        ...(signal && { signal }),
      })
      const text = await boundedText(response, url)
      const seconds = Number(response.headers.get('retry-after') ?? 0)
      return { status: response.status, text, retryAfter: Number.isFinite(seconds) ? seconds * 1_000 : 0 }
    } catch (cause) {
      this.#signal?.throwIfAborted()
      if (cause instanceof CatalogError && cause.code === 'InvalidInput') throw cause
      const why = timeout.aborted ? `within ${longest / 1_000} s` : `(${causeOf(cause)})`
      return new CatalogError('ServiceUnavailable', `${url} did not answer ${why}. Try again later.`, {
        cause,
      })
    }
  }
}

/** The URL before `/v1`, without a slash at its end. */
function baseOf(url: string): string {
  const base = url.replace(/\/+$/, '').replace(/\/v1$/, '')
  if (/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/i.test(base) && URL.canParse(base)) return base
  throw new CatalogError(
    'InvalidInput',
    `${url} is not the URL of a catalog of Iceberg REST. Write, for example, https://host/iceberg.`,
  )
}

function isBusy(status: number): boolean {
  return status === 429 || status === 502 || status === 503 || status === 504
}

function causeOf(error: unknown): string {
  const { message = String(error), cause } = (error ?? {}) as Error
  return cause instanceof Error ? `${message}: ${cause.message}` : message
}

/** The text of an answer; fails for one that is too long, without reading all of it. */
async function boundedText(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > mostBytes) throw unexpected(url, `has more than ${mostBytes >> 20} MiB`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes).toString('utf8')
}

function parsed(text: string, url: string): unknown {
  try {
    return parse(text)
  } catch (cause) {
    throw unexpected(url, 'is no JSON', cause)
  }
}

function refused({ status, text }: { readonly status: number; readonly text: string }, url: string) {
  let error: { readonly message?: unknown; readonly type?: unknown } | undefined
  try {
    error = (JSON.parse(text) as { readonly error?: typeof error })?.error
  } catch {
    // A proxy may answer with a page.
  }
  const type = typeof error?.type === 'string' ? error.type : undefined
  const message = typeof error?.message === 'string' ? error.message.slice(0, 1_000) : `status ${status}`
  return new RemoteRefused(status, type, type ? message : `${url} answered: ${message}`)
}

/** The error for an answer that no server of Iceberg REST gives. */
export function unexpected(url: string, fact: string, cause?: unknown): CatalogError {
  return new CatalogError(
    'InvalidInput',
    `The answer of ${url} ${fact}. Check that this is a catalog of Iceberg REST.`,
    { cause },
  )
}
