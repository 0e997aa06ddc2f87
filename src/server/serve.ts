import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { CatalogError, invalid } from '../base/errors.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'
import { clearInterval, clearTimeout, nextTurn, setInterval, setTimeout, sleep } from '../base/time.ts'
import type { Catalog } from '../catalog/index.ts'
import { isLoopback } from './auth/loopback.ts'
import { requireCatalog } from './core/context.ts'
import { type Extension, type HttpCore, openHttpCore } from './core/core.ts'
import { logger } from './logger.ts'
import { nodeServer } from './node-server.ts'
import { type HttpOptions, httpOptionNames } from './options.ts'
import { likelyUrl } from './servers/own-server.ts'
import { callerAddressOf } from './trust-proxy.ts'

/** How a catalog is served. All options except `auth` have a default. */
export interface ServeOptions extends HttpOptions {
  /** The address to listen on. Default: 127.0.0.1, which only this machine can reach. */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. Default: 2333. */
  readonly port?: number | undefined
  /** The proxies whose `X-Forwarded-For` is trusted, as Fastify's option of this name. Default: false. */
  readonly trustProxy?: boolean | string | readonly string[] | number | undefined
  readonly timeouts?: TimeoutOptions | undefined
  /** Most connections at once; the server drops further ones. Default: 10,000. */
  readonly connections?: number | undefined
  /** Most bytes of headers of a request. Default: 16 KiB. */
  readonly headerBytes?: number | undefined
  /** The least level that is logged, on standard error; false logs nothing. Default: `warn`. */
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
  /** For the headers of a request. Default: 10 s. */
  readonly headers?: number | undefined
  /**
   * For a body that is read whole before the operation begins; the server then answers 400. Rows that are written while
   * they arrive may take longer. Default: 5 min.
   */
  readonly request?: number | undefined
  /** How long an idle connection is kept. Default: 72 s, longer than the minute of most proxies. */
  readonly keepAlive?: number | undefined
  /** How long a connection with a request in flight may be idle. Default: 10 min. */
  readonly silence?: number | undefined
  /**
   * How long the body of a request may stall. A body stalls when less than 16 KiB of it arrives in this time. Rows that
   * are written while they arrive stall when nothing arrives in this time, or less than 16 KiB in six times this. The
   * server then answers 400. Default: 10 s.
   */
  readonly upload?: number | undefined
  /** How long a client may stop reading a large answer before the server aborts it. Default: 60 s. */
  readonly download?: number | undefined
  /**
   * How long `close` first continues to serve, while `/readyz` answers 503, so that load balancers notice. Requests are
   * answered as before, also on new connections. Default: 0; at most an hour.
   */
  readonly drain?: number | undefined
  /**
   * How long `close` then keeps idle connections open for one more request, whose answer ends the connection. A load
   * balancer may already have sent requests on such connections. Default: 0; the command `serve` sets 500 ms.
   */
  readonly linger?: number | undefined
  /** How long `close` then waits for requests in flight. Default: 30 s. */
  readonly shutdown?: number | undefined
}

/** A catalog being served. */
export interface RunningServer extends AsyncDisposable {
  /** The URL of the server, such as `http://127.0.0.1:2333`. */
  readonly url: string
  /**
   * Makes `/readyz` answer 503 at once. After the drain time, it refuses new requests, finishes those in flight, and
   * frees the port. It aborts requests that take longer than the shutdown time, and rolls back the transactions that
   * callers left open. The catalog stays open.
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
 * Fails with `InvalidInput` when the options would admit no caller, or every caller. Without credentials it serves a
 * catalog only on a loopback address, and only when `auth` is `false`.
 */
export function serve(catalog: Catalog, options: ServeOptions): Promise<RunningServer> {
  return serveWith(catalog, options)
}

/** Serves a catalog, and the additional routes of `extension`. */
export async function serveWith(
  catalog: Catalog,
  options: ServeOptions = {} as ServeOptions,
  extension?: Extension,
): Promise<RunningServer> {
  requireCatalog(catalog)
  requireKnown('serve', options, names)
  const { host = '127.0.0.1', port = 2333, timeouts = {}, connections = 10_000, log = 'warn' } = options
  if (options.auth === false && !isLoopback(host)) {
    throw invalid(
      `auth: false serves everybody who can connect, so it works on a loopback address only, and ${host} is not one. Listen on 127.0.0.1, or set up auth.`,
    )
  }
  requireDrain(timeouts)
  const serverLog = logger(log, (line) => process.stderr.write(line))
  const callerAddress = callerAddressOf(options.trustProxy)
  const core = await openHttpCore(
    { ...options, catalog },
    {
      log: serverLog,
      times: { upload: timeouts.upload, request: timeouts.request, download: timeouts.download },
    },
    extension,
  )
  const server = nodeServer(core, {
    node: {
      maxHeaderSize: options.headerBytes ?? 16 * 1024,
      headersTimeout: timeouts.headers ?? 10_000,
      // The core bounds bodies, and knows which of them are large and may take long.
      requestTimeout: 0,
      keepAliveTimeout: timeouts.keepAlive ?? 72_000,
      connectionsCheckingInterval: 1_000,
    },
    silence: timeouts.silence ?? 600_000,
    connections,
    callerAddress,
  })
  const sockets = connectionsOf(server)
  try {
    await listening(server, host, port)
  } catch (cause) {
    await core.close()
    throw cannotListen(host, port, cause)
  }
  const url = urlOf(server, host)
  const { advertise = likelyUrl(host, url) } = options
  if (advertise) core.advertise(advertise)
  serverLog.info({}, `Server listening at ${url}`)
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeWithin(server, core, sockets, timeouts)
    return closing
  }
  return { url, close, [Symbol.asyncDispose]: close }
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
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

const maxDrain = 3_600_000

function requireDrain({ drain = 0 }: TimeoutOptions): void {
  if (drain >= 0 && drain <= maxDrain) return
  throw invalid(
    `timeouts.drain must be a number of milliseconds from 0 to ${maxDrain.toLocaleString('en')}; it is ${String(drain)}.`,
  )
}

/** How often idle connections are closed while the server closes, in milliseconds. */
const idleMillis = 50

async function closeWithin(
  server: Server,
  core: HttpCore,
  sockets: ReadonlySet<Socket>,
  { drain = 0, linger = 0, shutdown = 30_000 }: TimeoutOptions,
): Promise<void> {
  core.drain()
  if (drain > 0) await sleep(drain)
  const lingered = linger > 0 ? await lingerFor(server, core, linger) : undefined
  core.stop()
  // Node would wait for the headers timeout of connections without a request.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  const timer = setTimeout(() => server.closeAllConnections(), shutdown)
  // `close` also closes idle connections.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Answers that began earlier, mostly streams, have announced keep-alive, so their connections become idle later.
  const idle = setInterval(() => server.closeIdleConnections(), idleMillis)
  await (lingered?.closed ?? closed)
  clearInterval(idle)
  clearTimeout(timer)
  await core.close()
}

/**
 * Accepts no new connections, and closes each connection with its next answer, for `millis` milliseconds or until all
 * are closed. `closed` of the result resolves when the last connection has ended.
 */
async function lingerFor(
  server: Server,
  core: HttpCore,
  millis: number,
): Promise<{ closed: Promise<void> } | undefined> {
  // Servers of other runtimes cannot stop listening and keep their connections.
  if (!(server instanceof NetServer)) return undefined
  core.closeConnections()
  const end = new AbortController()
  const timeout = sleep(millis, { signal: end.signal })
    .catch(() => {})
    .finally(() => end.abort())
  await acceptAll(server, end.signal)
  // Not `server.close`, which would close idle connections.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  await Promise.race([closed, timeout])
  end.abort()
  return { closed }
}

/**
 * Accepts the connections in the kernel's backlog, which would be reset when the port closes. Each turn of the event
 * loop accepts one, so the backlog is empty after a turn without a connection.
 */
async function acceptAll(server: Server, signal: AbortSignal): Promise<void> {
  let accepted = 0
  const count = () => accepted++
  server.on('connection', count)
  // The current turn may have polled already.
  await nextTurn()
  for (let before = -1; before !== accepted && !signal.aborted; ) {
    before = accepted
    await nextTurn()
  }
  server.off('connection', count)
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
}

function cannotListen(host: string, port: number, cause: unknown): CatalogError {
  const { code } = cause as { code?: unknown }
  const why = code === 'EADDRINUSE' ? 'the port is in use' : String(code ?? cause)
  const isHost = ['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL'].includes(String(code))
  const next = isHost
    ? 'Give an address of this machine as host, such as 127.0.0.1.'
    : 'Choose another port, or 0 for a free one.'
  return new CatalogError(
    'ServiceUnavailable',
    `The server cannot listen on ${host}:${port}: ${why}. ${next}`,
    { cause },
  )
}
