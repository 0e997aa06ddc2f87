import { Command, Option } from 'commander'
import { isDatabaseUrl } from '../base/model/location.ts'
import {
  type Catalog,
  CatalogError,
  type DirectoryCatalogOptions,
  type LocalCatalog,
  openCatalog,
  operations,
} from '../tabularium/index.ts'
import type { AuditLog } from './audit-log.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { isUrl, openWithRetries, tellingNew } from './open.ts'
import { toBytes, toCount, toLongMillis, toMillis, toPort } from './options.ts'
import { addRetentionOptions, type RetentionTyped, retentionOptions } from './retention-options.ts'
import { rootOptions } from './root-options.ts'
import { UsageError } from './usage.ts'

/** A load balancer may have sent a request just before the server received the signal to stop. In milliseconds. */
const lingerMillis = 500

type Http = typeof import('../server/index.ts')
type ServeOptions = Parameters<Http['serve']>[1]

/** The options that reach `openCatalog` and `serve` as they were typed. */
type Passed = Pick<
  DirectoryCatalogOptions,
  | 'content'
  | 'managedVersioning'
  | 'format'
  | 'readOnly'
  | 'transactionCount'
  | 'transactionAge'
  | 'retainDropped'
  | 'arrowBytes'
> &
  Pick<ServeOptions, 'host' | 'port' | 'listing' | 'unknownFields' | 'advertise' | 'log'> &
  Pick<NonNullable<ServeOptions['limits']>, 'streamedBytes'>

/** Whom a command that serves answers, as typed. */
export interface TypedAuth {
  readonly token?: readonly string[]
  readonly auth: boolean
  readonly jwksUrl?: string
  readonly issuer?: string
  readonly audience?: readonly string[]
  readonly algorithms: string
}

interface Typed extends Passed, TypedAuth, RetentionTyped {
  readonly root?: string
  readonly contentCache?: string
  readonly contentCacheSize?: number
  readonly locationRoot?: readonly string[]
  readonly lanceProcess: boolean
  readonly lanceMemory?: number
  readonly lanceTime?: number
  readonly optimize?: boolean
  readonly transactionIdle?: number
  readonly stale?: number
  readonly drain?: number
  readonly uploadIdle?: number
  readonly page: boolean
  readonly editable?: boolean
  readonly trustProxy?: readonly string[]
  readonly iceberg: boolean
  readonly audit?: string
  readonly auditFailure: 'go-on' | 'refuse'
  readonly json?: boolean
}

const examples = `
Examples:
  $ tabularium serve ./catalog --no-auth
  $ TABULARIUM_TOKEN=… tabularium serve ./catalog --host 0.0.0.0
  $ tabularium serve ./catalog --jwks-url https://id.example/jwks --issuer https://id.example --audience tables
  $ tabularium serve ./catalog --content s3://bucket/prefix --no-auth
  $ tabularium serve postgres://app@db.example/tables --content s3://bucket/prefix
  $ tabularium serve postgres://app@db.example/tables --host 0.0.0.0 --advertise http://10.0.0.3:2333
  $ tabularium serve postgres://app@db.example/tables --host 0.0.0.0 --drain 10s
  $ tabularium serve memory: --no-auth --port 0
`

/** The command that serves a catalog until an interrupt, then finishes running requests. */
export function serveCommand(io: Io): Command {
  const summary = 'Serve a catalog over HTTP.'
  const command = new Command('serve')
    .summary(summary)
    .description(`${summary} Once it listens, it prints one line with its URL.`)
    .helpGroup('The catalog itself:')
    .addArgument(
      locationArgument(
        '[location]',
        'directory of the catalog, created when missing, postgres://…, or memory:',
        './catalog',
      ),
    )
  addListenOptions(command, 2333)
  addAnswerOptions(command)
  addStorageOptions(command)
  addRunningOptions(command)
  return command.addHelpText('after', examples).action(async (location: string, typed: Typed) => {
    if (isUrl(location))
      throw new UsageError('serve takes the directory of a catalog, postgres://…, or memory:')
    const auth = authOf(typed, io)
    const http = { ...listenOptions(typed), auth }
    await serveUntil({ location, catalog: catalogOptions(location, typed), http, typed }, io)
  })
}

/** The options of commands that serve: where they listen, and whom they answer. */
export function addListenOptions(command: Command, port: number): Command {
  return command
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', toPort, port)
    .option('--token <token>', 'a token that callers may send (repeat it; or TABULARIUM_TOKEN)', collect)
    .option('--no-auth', 'accept every caller on this machine, and no other caller')
    .option('--jwks-url <url>', 'accept JSON Web Tokens signed by the keys at this URL')
    .option('--issuer <url>', 'required issuer of the tokens')
    .option('--audience <text>', 'required audience of the tokens (repeat it)', collect)
    .option('--algorithms <list>', 'signature algorithms of the tokens', 'RS256,ES256')
}

function addAnswerOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--listing <kind>',
        'what a listing of tables answers: full identifiers, or direct children, for connectNamespace of LanceDB',
      )
        .choices(['recursive', 'children'])
        .default('recursive'),
    )
    .addOption(
      new Option(
        '--unknown-fields <what>',
        'refuse requests with fields that no operation has, or ignore them',
      )
        .choices(['refuse', 'ignore'])
        .default('refuse'),
    )
}

function addStorageOptions(command: Command): void {
  command
    .option(
      '--content <url>',
      'where the rows lie, if not in the directory: s3://bucket/prefix, az://… or gs://… (said once, when the catalog is new)',
    )
    .option(
      '--content-cache <folder>',
      'keep what is read of rows in object storage in this local folder, too',
    )
    .option('--content-cache-size <size>', 'most bytes there, as 500MiB or 10GiB (default: 10GiB)', toBytes)
    .option(
      '--root <place>',
      'the folder, or the URL such as s3://bucket/prefix, where new tables lie (default: in the directory)',
    )
    .option(
      '--location-root <place>',
      'a further folder, or a URL such as s3://bucket/prefix, for locations (repeat it)',
      collect,
    )
    .option('--managed-versioning', 'tell clients to manage versions through the catalog')
    .addOption(
      new Option(
        '--format <engine>',
        'who writes the rows of new tables: this catalog, or Lance by the package @lancedb/lancedb',
      ).choices(['arrow', 'lance']),
    )
    .option('--no-lance-process', 'run Lance in this process, and not in one of its own')
    .option(
      '--lance-memory <size>',
      "most memory of Lance's process, as 2GiB; it is ended when it takes more (default: half of the machine's)",
      toBytes,
    )
    .option(
      '--lance-time <time>',
      "how long one call of Lance's package may take, as 30s or 10m (default: 1h)",
      toMillis,
    )
    .option('--read-only', 'refuse every change, and write nothing; the catalog must be there')
    .option('--optimize', 'merge small fragments of tables in the background')
    .option(
      '--transaction-idle <time>',
      'how long a transaction may go without a request, as 30s or 10m (default: 1m)',
      toMillis,
    )
    .option(
      '--transaction-count <number>',
      'about how many records of changes are kept, in the feed, too (default: 100000)',
      toCount,
    )
    .option('--transaction-age <time>', 'how long they are kept, as 12h or 30d (default: 7d)', toLongMillis)
    .addOption(
      new Option(
        '--retain-dropped <time>',
        'how long dropped tables are held for undrop, as 12h or 30d; 0s holds none',
      )
        .argParser(toLongMillis)
        .default(toLongMillis('24h'), '1d'),
    )
  addRetentionOptions(command)
}

function addRunningOptions(command: Command): void {
  command
    .option(
      '--advertise <url>',
      'by which other servers over the same catalog reach this one, for open transactions (default: where it listens)',
    )
    .option(
      '--trust-proxy <address>',
      'believe the X-Forwarded-For of this proxy: an address, a range such as 10.0.0.0/8, or loopback (repeat it)',
      collect,
    )
    .option(
      '--stale <time>',
      'over a database, let answers of reads be up to so old, as 500ms (default: 0s)',
      toMillis,
    )
    .option(
      '--drain <time>',
      'at the end, go on serving for so long while /readyz answers 503, as 500ms or 10s (default: 0s)',
      toMillis,
    )
    .option(
      '--arrow-bytes <size>',
      'most Arrow data in one request, as 500MiB or 2GiB; it is held in memory (default: 256MiB)',
      toBytes,
    )
    .option(
      '--streamed-bytes <size>',
      'most Arrow data of rows that are written as they arrive, as 10GiB or 200GiB (default: 64GiB)',
      toBytes,
    )
    .option(
      '--upload-idle <time>',
      'how long rows and other bodies may stand still while they are sent, as 30s or 5m (default: 10s)',
      toMillis,
    )
    .option('--audit <file>', 'write each change, and each refused caller, as a line of JSON into this file')
    .addOption(
      new Option('--audit-failure <what>', 'while that file cannot be written: go on, or refuse changes')
        .choices(['go-on', 'refuse'])
        .default('go-on'),
    )
    .option('--editable', 'let the page at / change the catalog, where callers may')
    .option('--no-page', 'serve no page at /')
    .option('--no-iceberg', 'serve no Iceberg REST at /iceberg')
    .addOption(
      new Option('--log <level>', 'least level that is logged, on standard error')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('warn'),
    )
    .option('--json', 'print the URL as JSON')
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text]
}

/** The option `auth` of a server, from what was typed. */
export function authOf(typed: TypedAuth, io: Pick<Io, 'env'>): ServeOptions['auth'] {
  const { TABULARIUM_TOKEN: fromEnvironment } = io.env
  const tokens = typed.token ?? (fromEnvironment ? [fromEnvironment] : [])
  const jwt = jwtOf(typed)
  if (!typed.auth) {
    if (typed.token || jwt)
      throw new UsageError('--no-auth accepts every caller; leave out the other options for authentication')
    return false
  }
  if (tokens.length === 0 && jwt === undefined) {
    throw new UsageError(
      'no caller could use this server: give --token, or --jwks-url with --issuer and --audience; --no-auth accepts every caller on this machine',
    )
  }
  return { tokens, jwt }
}

function jwtOf({ jwksUrl, issuer, audience, algorithms }: TypedAuth) {
  if (jwksUrl === undefined && issuer === undefined && audience === undefined) return undefined
  if (!jwksUrl || !issuer || !audience?.every((text) => text !== '')) {
    throw new UsageError('JSON Web Tokens need all of --jwks-url, --issuer and --audience')
  }
  if (!URL.canParse(jwksUrl))
    throw new UsageError(`--jwks-url is no URL; write, for example, https://id.example/jwks`)
  return { jwksUrl, issuer, audience, algorithms: algorithms.split(',').map((name) => name.trim()) }
}

function catalogOptions(location: string, typed: Typed): DirectoryCatalogOptions {
  const { contentCache: folder, contentCacheSize: bytes, transactionIdle } = typed
  const { content, managedVersioning, readOnly, transactionCount, transactionAge, arrowBytes } = typed
  const { retainDropped, format } = typed
  if (bytes !== undefined && folder === undefined)
    throw new UsageError('--content-cache-size needs --content-cache, the folder')
  const options = {
    content,
    contentCache: folder === undefined ? undefined : { folder, bytes },
    ...rootOptions(location, typed),
    ...retentionOptions(typed),
    managedVersioning,
    format,
    lance: lanceOptions(typed),
    optimize: typed.optimize ? 'background' : undefined,
    readOnly,
    openTransactions: transactionIdle === undefined ? undefined : { idleSeconds: transactionIdle / 1_000 },
    transactionCount,
    transactionAge,
    retainDropped,
    arrowBytes,
  }
  // `openCatalog` refuses names of options that a location does not have.
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** A crash of Lance's native code ends one request of a server, and not the server. */
function lanceOptions({ lanceProcess: isolate, lanceMemory: memoryBytes, lanceTime: callMillis }: Typed) {
  if (isolate) return { isolate, memoryBytes, callMillis }
  if (memoryBytes === undefined && callMillis === undefined) return undefined
  throw new UsageError(
    '--lance-memory and --lance-time are about the process that --no-lance-process leaves out',
  )
}

function listenOptions({ page, editable, trustProxy, ...typed }: Typed) {
  if (!page && editable) throw new UsageError('--editable is about the page, which --no-page leaves out')
  const { host, port, listing, unknownFields, advertise, stale: staleMillis, drain, log } = typed
  const { arrowBytes, streamedBytes, uploadIdle: upload } = typed
  const shown: ServeOptions['page'] = page && editable ? 'editable' : page
  const timeouts = { drain, upload, linger: lingerMillis }
  const limits = {
    ...(arrowBytes !== undefined && { arrowBytes }),
    ...(streamedBytes !== undefined && { streamedBytes }),
  }
  const shared = { host, port, listing, unknownFields, advertise, staleMillis, log }
  return { ...shared, trustProxy, page: shown, timeouts, limits }
}

interface AuditOptions {
  readonly file: string
  readonly refuses: boolean
}

function auditOptions({ audit, auditFailure }: Typed): AuditOptions | undefined {
  if (audit !== undefined) return { file: audit, refuses: auditFailure === 'refuse' }
  if (auditFailure === 'refuse') throw new UsageError('--audit-failure needs --audit, the file')
  return undefined
}

interface Serving {
  readonly location: string
  readonly catalog: DirectoryCatalogOptions
  readonly http: ServeOptions
  readonly typed: Typed
}

async function serveUntil({ location, catalog: options, http, typed }: Serving, io: Io): Promise<void> {
  const audit = auditOptions(typed)
  const { serve } = await import('../server/index.ts')
  const opened = await openWithRetries(
    () => tellingNew(location, () => openCatalog(location, options), io),
    isDatabaseUrl(location),
    io.signal,
    io,
  )
  if (opened === undefined) return
  await using catalog = opened
  await using log = audit && (await openAudit(catalog, audit.file, io))
  const mounts = typed.iceberg ? await icebergMounts(opened) : []
  const hooks = log ? auditHooks(log, audit!.refuses) : {}
  await using server = await serve(catalog, { ...http, ...hooks, mounts })
  // No more than its URL: scripts take the last word for it.
  tellListening(server, { iceberg: false, json: typed.json }, io)
  if (io.signal.aborted) return
  await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }))
  const { drain = 0 } = typed
  if (drain > 0) {
    io.stderr.write(
      `tabularium: /readyz answers 503 now, and the server ends in ${drain / 1_000} s. A second signal ends it at once.\n`,
    )
  }
}

async function icebergMounts(catalog: LocalCatalog): Promise<NonNullable<ServeOptions['mounts']>> {
  const { icebergRest } = await import('../iceberg/index.ts')
  return [icebergRest(catalog)]
}

async function openAudit(catalog: Catalog, file: string, io: Io): Promise<AuditLog & AsyncDisposable> {
  const { AuditLog } = await import('./audit-log.ts')
  const log = await AuditLog.open(catalog, file, (message) => io.stderr.write(`tabularium: ${message}\n`))
  const reopen = () => log.reopen()
  process.on('SIGHUP', reopen)
  return Object.assign(log, {
    [Symbol.asyncDispose]: async () => {
      await log.close()
      process.off('SIGHUP', reopen)
    },
  })
}

/** The server options that feed the audit log and, with `refuses`, refuse changes while it is broken. */
function auditHooks(log: AuditLog, refuses: boolean): Pick<ServeOptions, 'onRefused' | 'authorize'> {
  const onRefused: ServeOptions['onRefused'] = (refused) => log.refused(refused)
  if (!refuses) return { onRefused }
  return {
    onRefused,
    authorize: (_principal, operation) => {
      if (!log.isBroken || !operations[operation].definition.changes) return true
      throw new CatalogError(
        'ServiceUnavailable',
        'The audit log of the server cannot be written, so it makes no changes. Ask whoever runs the server to look at its disk, and try again then.',
      )
    },
  }
}

/**
 * Prints the URL of a server, and that of Iceberg REST where it was asked for. Scripts wait for the first line to know that
 * the server listens.
 */
export function tellListening(
  { url }: { readonly url: string },
  { iceberg: hasIceberg, json }: { readonly iceberg: boolean; readonly json: boolean | undefined },
  { stdout }: Pick<Io, 'stdout'>,
): void {
  const iceberg = hasIceberg ? `${url}/iceberg` : undefined
  if (json) stdout.write(`${JSON.stringify({ url, iceberg })}\n`)
  else stdout.write(`tabularium listening on ${url}\n${hasIceberg ? `Iceberg REST at ${iceberg}\n` : ''}`)
}
