import type { Server } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { CatalogError, invalid } from '../base/errors.ts'
import { type OptionNames, requireKnown } from '../base/model/options.ts'
import { clearInterval, clearTimeout, nextTurn, setInterval, setTimeout, sleep } from '../base/time.ts'
import type { Catalog } from '../catalog/handle/handle.ts'
import { isLoopback } from './auth/loopback.ts'
import { requireCatalog } from './core/context.ts'
import { type Extension, type HttpCore, openHttpCore } from './core/core.ts'
import { logger } from './logger.ts'
import { nodeServer } from './node-server.ts'
import { type HttpOptions, httpOptionNames } from './options.ts'
import { likelyUrl } from './servers/own-server.ts'
import { callerAddressOf } from './trust-proxy.ts'

/** How a catalog is served; everything but `auth` has a default. */
export interface ServeOptions extends HttpOptions {
  /** The address to listen on. Default: 127.0.0.1, which only this machine can reach. */
  readonly host?: string | undefined
  /** The port to listen on; 0 takes a free one. Default: 2333. */
  readonly port?: number | undefined
  /** Whether the server believes `X-Forwarded-For`, and from which proxies, as Fastify's option. Default: false. */
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
  /** For the headers of a request to arrive. Default: 10 s. */
  readonly headers?: number | undefined
  /** For a request to arrive whole. Default: 5 min. */
  readonly request?: number | undefined
  /** How long an idle connection is kept. Default: 72 s, longer than the minute of most proxies. */
  readonly keepAlive?: number | undefined
  /** How long a connection may be silent while a request is under way. Default: 10 min. */
  readonly silence?: number | undefined
  /**
   * How long the body of a request may stand still; one of which less than 16 KiB comes in this time counts as
   * standing still. The server answers 400. Default: 10 s.
   */
  readonly upload?: number | undefined
  /** How long a client may not read of a large answer before the server breaks it off. Default: 60 s. */
  readonly download?: number | undefined
  /**
   * How long `close` goes on serving at first, while `/readyz` answers 503: the time in which load balancers notice.
   * Requests are answered as before, also those on new connections. Default: 0; at most an hour.
   */
  readonly drain?: number | undefined
  /**
   * How long `close` then leaves idle connections open for one more request. It is answered, and ends its connection. Behind a
   * load balancer, requests are on their way to such connections. Default: 0; the command `serve` gives 500 ms.
   */
  readonly linger?: number | undefined
  /** How long `close` then waits for requests under way. Default: 30 s. */
  readonly shutdown?: number | undefined
}

/** A catalog being served. */
export interface RunningServer extends AsyncDisposable {
  /** Where the server is, such as `http://127.0.0.1:2333`. */
  readonly url: string
  /**
   * Lets `/readyz` answer 503 at once. After the time to drain, if there is any, it refuses new requests, finishes
   * those under way, and frees the port. It breaks off requests that take longer than the shutdown time, and gives
   * up the transactions that callers left open. The catalog stays open.
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
 * Fails with `InvalidInput` when the options would let in nobody, or everybody. Without credentials it serves a
 * catalog on a loopback address only, and only when `auth` is `false`.
 */
export function serve(catalog: Catalog, options: ServeOptions): Promise<RunningServer> {
  return serveWith(catalog, options)
}

/** Serves a catalog, and routes besides those of the catalog. */
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
  const toLog = logger(log, (line) => process.stderr.write(line))
  const callerAddress = callerAddressOf(options.trustProxy)
  const core = await openHttpCore(
    { ...options, catalog },
    { log: toLog, silences: { upload: timeouts.upload, download: timeouts.download } },
    extension,
  )
  const server = nodeServer(core, {
    node: {
      maxHeaderSize: options.headerBytes ?? 16 * 1024,
      headersTimeout: timeouts.headers ?? 10_000,
      requestTimeout: timeouts.request ?? 300_000,
      keepAliveTimeout: timeouts.keepAlive ?? 72_000,
      connectionsCheckingInterval: 1_000,
    },
    silence: timeouts.silence ?? 600_000,
    connections,
    callerAddress,
  })
  const open = connectionsOf(server)
  try {
    await listening(server, host, port)
  } catch (cause) {
    await core.close()
    throw cannotListen(host, port, cause)
  }
  const url = urlOf(server, host)
  const { advertise = likelyUrl(host, url) } = options
  if (advertise) core.advertise(advertise)
  toLog.info({}, `Server listening at ${url}`)
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeWithin(server, core, open, timeouts)
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

const mostDrain = 3_600_000

function requireDrain({ drain = 0 }: TimeoutOptions): void {
  if (drain >= 0 && drain <= mostDrain) return
  throw invalid(
    `timeouts.drain must be a number of milliseconds from 0 to ${mostDrain.toLocaleString('en')}; it is ${String(drain)}.`,
  )
}

/** How long a connection is idle at most, in milliseconds, while the server closes. */
const idleMillis = 50

async function closeWithin(
  server: Server,
  core: HttpCore,
  open: ReadonlySet<Socket>,
  { drain = 0, linger = 0, shutdown = 30_000 }: TimeoutOptions,
): Promise<void> {
  core.drain()
  if (drain > 0) await sleep(drain)
  const left = linger > 0 ? await leave(server, core, linger) : undefined
  core.stop()
  // Node would wait until the headers of a silent connection are late.
  for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
  const timer = setTimeout(() => server.closeAllConnections(), shutdown)
  // It ends idle connections, too.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Answers that began before now, streams above all, said that their connections stay open after them.
  const idle = setInterval(() => server.closeIdleConnections(), idleMillis)
  await (left?.closed ?? closed)
  clearInterval(idle)
  clearTimeout(timer)
  await core.close()
}

/**
 * Takes no new connections, and ends each one with its next answer, until there are none or the time is over. What it
 * returns is closed when the last one has ended.
 */
async function leave(
  server: Server,
  core: HttpCore,
  millis: number,
): Promise<{ closed: Promise<void> } | undefined> {
  // Servers of other runtimes have no way to go on with the connections that there are.
  if (!(server instanceof NetServer)) return undefined
  core.leave()
  const over = new AbortController()
  const late = sleep(millis, { signal: over.signal })
    .catch(() => {})
    .finally(() => over.abort())
  await acceptAll(server, over.signal)
  // That of the server itself would end idle connections.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  await Promise.race([closed, late])
  over.abort()
  return { closed }
}

/**
 * Accepts the connections that the kernel has made. It would reset them with the end of the port. As each turn of the
 * event loop accepts one, there are none after a turn that accepted none.
 */
async function acceptAll(server: Server, signal: AbortSignal): Promise<void> {
  let accepted = 0
  const count = () => accepted++
  server.on('connection', count)
  // The turn under way may have looked before.
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
  return new CatalogError(
    'ServiceUnavailable',
    `The server cannot listen on ${host}:${port}: ${why}. Choose another port, or 0 for a free one.`,
    { cause },
  )
}
