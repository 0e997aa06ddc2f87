import { invalid } from '../base/errors.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'

/** A token, or a function that returns one. Called before the first request, and when the server refuses a token. */
export type TokenSource = string | (() => string | Promise<string>)

/** Sends a request, like the global `fetch`. */
export type Fetch = (request: Request) => Promise<Response>

export interface ClientOptions {
  /**
   * Sent as `Authorization: Bearer`. A function is called once and its token is cached. When the server answers 401,
   * the function is called again, and the request is sent again.
   */
  readonly token?: TokenSource | undefined
  /** Sent as `x-api-key`. */
  readonly apiKey?: string | undefined
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /**
   * How long a server may take to answer an operation without rows, and to begin the stream of `watch`, in
   * milliseconds. Default: 30,000; 0 means no limit.
   */
  readonly timeout?: number | undefined
  /**
   * How long a server may take to answer an operation that reads or writes rows, in milliseconds. Default: 0, which
   * means no limit. Node's own `fetch` gives up after five minutes without an answer.
   */
  readonly rowTimeout?: number | undefined
  /**
   * How often a read-only operation is sent again when the server is busy (503, 429) or cannot be reached. A timeout is
   * not retried, except by `watch`. Default: 3. The waits are random and grow, and are at least what the server asks for, up to `maxWait`.
   */
  readonly retries?: number | undefined
  /** The longest wait before a retry, in milliseconds. Default: 30,000. */
  readonly maxWait?: number | undefined
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined
}

const names: OptionNames<ClientOptions> = {
  token: true,
  apiKey: true,
  headers: true,
  timeout: true,
  rowTimeout: true,
  retries: true,
  maxWait: true,
  fetch: true,
}

/** Checked options with their defaults. */
export interface Settings {
  /** The server's URL without a slash at its end. */
  readonly base: string
  readonly token: TokenSource | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly timeout: number
  readonly rowTimeout: number
  readonly retries: number
  readonly maxWait: number
  readonly fetch: Fetch
}

/** Checks the options. Throws `InvalidInput` for an invalid URL, and for negative numbers. */
export function settingsOf(url: string | URL, options: ClientOptions): Settings {
  requireKnown('A catalog behind a URL', options, names)
  const { token, apiKey, headers = {} } = options
  if (typeof token === 'string') requireHeaderValue('token', token)
  if (apiKey !== undefined) requireHeaderValue('apiKey', apiKey)
  for (const [name, value] of Object.entries(headers))
    requireHeaderValue(`headers[${JSON.stringify(name)}]`, value)
  return {
    base: baseOf(url),
    token,
    headers: apiKey === undefined ? headers : { ...headers, 'x-api-key': apiKey },
    timeout: nonNegative('timeout', options.timeout, 30_000),
    rowTimeout: nonNegative('rowTimeout', options.rowTimeout, 0),
    retries: nonNegative('retries', options.retries, 3),
    maxWait: nonNegative('maxWait', options.maxWait, 30_000),
    fetch: options.fetch ?? ((request) => fetch(request)),
  }
}

function baseOf(url: string | URL): string {
  const parsed = url instanceof URL ? url : URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
    throw invalid(`connect cannot reach ${JSON.stringify(url)}. Give a URL such as http://127.0.0.1:2333.`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw invalid('The URL holds a user name or password. Give credentials as token or apiKey instead.')
  }
  if (parsed.search !== '' || parsed.hash !== '') {
    throw invalid(`The URL ${parsed.origin}${parsed.pathname} has a query or a fragment; leave it out.`)
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '')}`
}

function requireHeaderValue(name: string, value: string): void {
  if (isHeaderValue(value)) return
  throw invalid(
    `${name} is empty, or holds characters that are invalid in an HTTP header. Check how it was read.`,
  )
}

function nonNegative(name: string, given: number | undefined, fallback: number): number {
  const value = given ?? fallback
  if (!(value >= 0)) throw invalid(`${name} must be a number from 0; it is ${String(given)}.`)
  return value
}

/** Whether a credential is valid as a header value. An invalid one is still a secret: never put it in a message. */
export function isHeaderValue(text: string): boolean {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
}
