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

/** How long a connection to another server may take, in milliseconds. */
const connectMillis = 5_000

/**
 * Why a request to another server has no answer.
 *
 * - `refused`: nobody listens there.
 * - `unreachable`: there was no connection, so nothing was sent.
 * - `broken`: it was sent, at least in part, and what became of it is not known.
 */
export class HopFailed extends Error {
  readonly kind: 'refused' | 'unreachable' | 'broken'

  constructor(kind: HopFailed['kind'], cause?: unknown) {
    super(`The request to the other server failed: ${kind}.`, { cause })
    this.kind = kind
  }
}

/** A request for another server. */
export interface Hop {
  readonly url: string
  readonly method: string
  readonly headers: OutgoingHttpHeaders
  /** The body: bytes, or a stream of at most so many. */
  readonly body: Buffer | Readable | undefined
  readonly mostBytes: number
  readonly signal: AbortSignal
}

/** The connections of a server to others. */
export class Hops {
  readonly #http = new HttpAgent({ keepAlive: true, maxFreeSockets: 64 })
  readonly #https = new HttpsAgent({ keepAlive: true, maxFreeSockets: 64 })

  /** Sends a request once, and resolves with the answer when its headers have come. Fails with {@link HopFailed}. */
  send(hop: Hop): Promise<IncomingMessage> {
    const { url, method, headers, signal } = hop
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
          // A body is touched only now, so that it is whole when there was no connection.
          writeBody(request, hop)
        }
        if (request.reusedSocket || !socket.connecting) connected()
        else socket.once(isTls ? 'secureConnect' : 'connect', connected)
      })
      request.once('response', resolve)
      // It stays for errors that come after the answer: those end the answer's own stream.
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

function writeBody(request: ReturnType<typeof httpRequest>, { body, mostBytes }: Hop): void {
  if (body === undefined || Buffer.isBuffer(body)) {
    request.end(body)
    return
  }
  let bytes = 0
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > mostBytes) request.destroy(tooLarge(mostBytes))
  })
  body.once('error', (error) => request.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) request.destroy(new Error('the body broke off'))
  })
  body.pipe(request)
  // An answer may come before the body is whole; the rest of it is not for the other server then.
  request.once('response', () => {
    if (!body.readableEnded) body.unpipe(request)
  })
}

/** Whether nobody listens at a URL. */
export function isDeserted(url: string): Promise<boolean> {
  const { protocol, hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[(.*)\]$/, '$1')
    const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) })
    const done = (isSo: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(isSo)
    }
    const timer = setTimeout(() => done(false), 1_000)
    socket.once('connect', () => done(false))
    socket.on('error', (error: Error & { code?: string }) => done(error.code === 'ECONNREFUSED'))
  })
}
