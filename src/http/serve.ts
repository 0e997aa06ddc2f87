import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Catalog } from '../catalog/handle.ts'
import { CatalogError, invalid } from '../errors.ts'
import { type OptionNames, requireKnown } from '../model/options.ts'
import { isLoopback } from './auth/loopback.ts'
import { type HttpOptions, httpOptionNames } from './options.ts'
import { buildServer, type Extend } from './server.ts'

/** How a catalog is served; everything but `auth` has a default. */
export interface ServeOptions extends HttpOptions {
  /** The address to listen on. Default: 127.0.0.1, which only this machine reaches. */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. Default: 2333. */
  readonly port?: number | undefined
  /** Whether headers such as `X-Forwarded-For` are believed, and whose; as Fastify's option. Default: false. */
  readonly trustProxy?: boolean | string | readonly string[] | number | undefined
  readonly timeouts?: TimeoutOptions | undefined
  /** Most connections at once; further ones are dropped. Default: 10,000. */
  readonly connections?: number | undefined
  /** Most bytes of headers of a request. Default: 16 KiB. */
  readonly headerBytes?: number | undefined
  /** Least level that goes into the log, on standard error; false for none. Default: `warn`. */
  readonly log?: 'debug' | 'info' | 'warn' | 'error' | false | undefined
}

const names: OptionNames<ServeOptions> = {
  ...httpOptionNames,
  host: true,
  port: true,
  trustProxy: true,
  timeouts: true,
  connections: true,
  headerBytes: true,
  log: true,
}

/** Times in milliseconds. */
export interface TimeoutOptions {
  /** For the headers of a request to arrive. Default: 10 s. */
  readonly headers?: number | undefined
  /** For a request to arrive whole. Default: 5 min. */
  readonly request?: number | undefined
  /** How long an idle connection is kept. Default: 72 s, longer than the minute of most proxies. */
  readonly keepAlive?: number | undefined
  /** How long a connection may be silent while something is under way. Default: 10 min. */
  readonly silence?: number | undefined
  /** How long `close` waits for what runs. Default: 30 s. */
  readonly shutdown?: number | undefined
}

/** A catalog being served. */
export interface RunningServer extends AsyncDisposable {
  /** Where it is, such as `http://127.0.0.1:2333`. */
  readonly url: string
  /**
   * Takes nothing new, finishes what runs, and lets go of the port. What is not done within the shutdown time
   * is broken off. The catalog stays open.
   */
  close(): Promise<void>
}

/**
 * Serves a catalog over HTTP.
 *
 * ```ts
 * await using server = await serve(catalog, { auth: { tokens: [process.env.TOKEN!] } })
 * console.log(server.url)
 * ```
 *
 * Fails with `InvalidInput` when the options let in nobody or would let in everybody: without credentials a
 * catalog is served on a loopback address only, and only when `auth` is `false`.
 */
export function serve(catalog: Catalog, options: ServeOptions): Promise<RunningServer> {
  return serveWith(catalog, options)
}

/** The same, with routes of somebody else's beside those of the catalog. */
export async function serveWith(
  catalog: Catalog,
  options: ServeOptions,
  extend?: Extend,
): Promise<RunningServer> {
  requireKnown('serve', options, names)
  const { host = '127.0.0.1', port = 2333, timeouts = {}, connections = 10_000, log = 'warn' } = options
  if (options.auth === false && !isLoopback(host)) {
    throw invalid(
      `auth: false serves everybody who can connect, so it works on a loopback address only, and ${host} is none. Listen on 127.0.0.1, or set up auth.`,
    )
  }
  const app = await buildServer(catalog, options, {
    logger: log === false ? false : { level: log, stream: process.stderr },
    http: {
      maxHeaderSize: options.headerBytes ?? 16 * 1024,
      headersTimeout: timeouts.headers ?? 10_000,
      requestTimeout: timeouts.request ?? 300_000,
      keepAliveTimeout: timeouts.keepAlive ?? 72_000,
      connectionsCheckingInterval: 1_000,
    },
    silence: timeouts.silence ?? 600_000,
    extend,
    ...(options.trustProxy === undefined ? {} : { trustProxy: options.trustProxy as boolean }),
  })
  app.server.maxConnections = connections
  const open = connectionsOf(app.server)
  try {
    await app.listen({ host, port })
  } catch (cause) {
    await app.close()
    throw cannotListen(host, port, cause)
  }
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeWithin(app, open, timeouts.shutdown ?? 30_000)
    return closing
  }
  return { url: urlOf(app.server.address(), host), close, [Symbol.asyncDispose]: close }
}

/** The open connections of a server. */
function connectionsOf(server: Server): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return open
}

async function closeWithin(
  app: Awaited<ReturnType<typeof buildServer>>,
  open: ReadonlySet<Socket>,
  millis: number,
): Promise<void> {
  // Of a connection that never said anything, Node would wait for the headers until they are late.
  for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  const timer = setTimeout(() => app.server.closeAllConnections(), millis)
  try {
    await app.close()
  } finally {
    clearTimeout(timer)
  }
}

function urlOf(
  address: ReturnType<Awaited<ReturnType<typeof buildServer>>['server']['address']>,
  host: string,
): string {
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

function cannotListen(host: string, port: number, cause: unknown): CatalogError {
  const { code } = cause as { code?: unknown }
  const why = code === 'EADDRINUSE' ? 'the port is in use' : String(code ?? cause)
  return new CatalogError(
    'ServiceUnavailable',
    `The server cannot listen on ${host}:${port}: ${why}. Choose another port, or 0 for a free one.`,
    { cause },
  )
}
