import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { connect, type Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { CatalogError } from '../../base/errors.ts'
import { clearTimeout, setTimeout } from '../../base/time.ts'
import { tooLarge } from '../core/body.ts'

/** The timeout for connecting to another server, in milliseconds. */
const connectMillis = 5_000

/**
 * The failure of a request to another server.
 *
 * - `refused`: no process listens there.
 * - `unreachable`: there was no connection, so nothing was sent.
 * - `broken`: the request was sent, at least in part, and its outcome is unknown.
 */
export class HopFailed extends Error {
  readonly kind: 'refused' | 'unreachable' | 'broken'

  constructor(kind: HopFailed['kind'], cause?: unknown) {
    super(`The request to the other server failed: ${kind}.`, { cause })
    this.kind = kind
  }
}

/** A request for another server. */
export interface HopRequest {
  readonly url: string
  readonly method: string
  readonly headers: OutgoingHttpHeaders
  /** The body: bytes, or a stream of at most `maxBytes`. */
  readonly body: Buffer | Readable | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** The HTTP client for requests to other servers. */
export class HopClient {
  readonly #http = new HttpAgent({ keepAlive: true, maxFreeSockets: 64 })
  readonly #https = new HttpsAgent({ keepAlive: true, maxFreeSockets: 64 })

  /** Sends a request once. Resolves when the headers of the answer arrive. Fails with {@link HopFailed}. */
  send(outgoing: HopRequest): Promise<IncomingMessage> {
    const { url, method, headers, signal } = outgoing
    const isTls = url.startsWith('https:')
    return new Promise((resolve, reject) => {
      let isConnected = false
      const request = (isTls ? httpsRequest : httpRequest)(url, {
        method,
        headers,
        signal,
        agent: isTls ? this.#https : this.#http,
      })
      const timer = setTimeout(() => request.destroy(new Error('no connection in time')), connectMillis)
      request.once('socket', (socket: Socket) => {
        const connected = () => {
          isConnected = true
          clearTimeout(timer)
          // The body is read only now, so it is still complete when the connection fails.
          writeBody(request, outgoing)
        }
        if (request.reusedSocket || !socket.connecting) connected()
        else socket.once(isTls ? 'secureConnect' : 'connect', connected)
      })
      request.once('response', resolve)
      // The listener stays for errors after the answer, which end the answer's own stream.
      request.on('error', (cause: Error & { code?: string }) => {
        clearTimeout(timer)
        if (cause instanceof CatalogError) return reject(cause)
        const kind = isConnected ? 'broken' : cause.code === 'ECONNREFUSED' ? 'refused' : 'unreachable'
        reject(new HopFailed(kind, cause))
      })
    })
  }

  close(): void {
    this.#http.destroy()
    this.#https.destroy()
  }
}

function writeBody(request: ReturnType<typeof httpRequest>, { body, maxBytes }: HopRequest): void {
  if (body === undefined || Buffer.isBuffer(body)) {
    request.end(body)
    return
  }
  let bytes = 0
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) request.destroy(tooLarge(maxBytes))
  })
  body.once('error', (error) => request.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) request.destroy(new Error('the body broke off'))
  })
  body.pipe(request)
  // If the answer arrives before the end of the body, the rest of the body is not sent.
  request.once('response', () => {
    if (!body.readableEnded) body.unpipe(request)
  })
}

/** Whether no process listens at a URL. */
export function refusesConnections(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
    const done = (isRefused: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isRefused)
    }
    const timer = setTimeout(() => done(false), 1_000)
    socket.once('connect', () => done(false))
    socket.on('error', (error: Error & { code?: string }) => done(error.code === 'ECONNREFUSED'))
  })
}
