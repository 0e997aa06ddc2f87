import { Command, Option } from 'commander'
import { type Catalog, CatalogError } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import { locationArgument } from '../location-argument.ts'
import { isUrl, openLocal, openLocation } from '../open.ts'
import { addRootOption, type RootOptions, toBytes, toCount, toMillis } from '../options.ts'
import { addListenOptions, authOf, type TypedAuth, tellListening } from '../serve.ts'
import { UsageError } from '../usage.ts'
import { visible } from '../values.ts'

interface Typed extends Omit<TypedAuth, 'token'>, RootOptions {
  readonly write: boolean
  readonly rows: number
  readonly bytes: number
  readonly http: boolean
  readonly host: string
  readonly port: number
  /** A list as typed, and a text from a profile. */
  readonly token?: string | readonly string[]
  readonly apiKey?: string
  readonly sessions: number
  readonly idle: number
  readonly json?: boolean
}

const examples = `
Examples:
  $ tabularium mcp ./catalog
  $ tabularium mcp ./catalog --write
  $ tabularium mcp https://tables.example --token …
  $ TABULARIUM_TOKEN=… tabularium mcp ./catalog --http
  $ claude mcp add tables -- npx tabularium mcp ./catalog
`

/** The command that offers a catalog to language models, by the Model Context Protocol. */
export function mcpCommand(io: Io): Command {
  const summary = 'Offer a catalog to language models (MCP).'
  const command = new Command('mcp')
    .summary(summary)
    .description(
      `${summary} It speaks the Model Context Protocol over its standard streams, or over HTTP. Needs the package @modelcontextprotocol/sdk.`,
    )
    .helpGroup('The catalog itself:')
    .addArgument(
      locationArgument(
        '[location]',
        'directory of a catalog, URL of a database or server, or memory:',
        './catalog',
      ),
    )
    .option('--write', 'offer changes, too; each client commits its own, or takes them back', false)
    .option('--rows <number>', 'most rows of one answer', toCount, 1_000)
    .option('--bytes <size>', 'most text of one answer, as 100KB or 1MiB', toBytes, 256 * 1024)
    .option('--http', `serve over HTTP, at /mcp, instead of the standard streams`, false)
  addListenOptions(command, 2334)
    .addOption(new Option('--api-key <key>', 'API key for a server').env('TABULARIUM_API_KEY'))
    .option('--sessions <number>', 'with --http: most clients at once', toCount, 100)
    .option('--idle <time>', 'with --http: how long a client may send nothing, as 10m', toMillis, 1_800_000)
    .option('--json', 'with --http: print the URL as JSON')
  return addRootOption(command)
    .addHelpText('after', examples)
    .action((location: string, typed: Typed) => runMcp(location, typed, io))
}

async function runMcp(location: string, typed: Typed, io: Io): Promise<void> {
  const auth = typed.http ? authFor(location, typed, io) : undefined
  // Before the catalog is opened: without the package there is nothing to do.
  const sdk = await (await import('./sdk.ts')).loadSdk()
  await using catalog = await open(location, typed, io)
  const served = { catalog, writes: typed.write, limits: { rows: typed.rows, bytes: typed.bytes } }
  const report = (error: unknown) => {
    io.stderr.write(`tabularium: ${visible(error instanceof Error ? describe(error) : String(error))}\n`)
  }
  if (auth === undefined) {
    const { serveStreams } = await import('./stdio.ts')
    // Awaited, so that the catalog stays open.
    await serveStreams(sdk, served, io, io.signal, report)
    return
  }
  const [{ HttpSessions, mcpPath }, { serve }] = await Promise.all([
    import('./http-sessions.ts'),
    import('../../server/index.ts'),
  ])
  const { host, port, sessions: count, idle: idleMillis, json } = typed
  await using sessions = new HttpSessions(sdk, served, { count, idleMillis }, report)
  await using server = await serve(catalog, {
    auth,
    host,
    port,
    mounts: [sessions.mount],
    page: false,
    docs: false,
    advertise: false,
    // Clients of this protocol do not try again, and sessions bound their number. So they wait rather than fail.
    limits: { eventLoopDelay: 0 },
    authorize: (_principal, _operation, _id, { path }) => {
      if (path !== mcpPath) throw elsewhere(mcpPath)
    },
  })
  tellListening({ url: `${server.url}${mcpPath}` }, { iceberg: false, json }, io)
  if (io.signal.aborted) return
  await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }))
}

function authFor(location: string, { token, ...typed }: Typed, io: Io): ReturnType<typeof authOf> {
  if (isUrl(location))
    throw new UsageError(
      'with --http, mcp takes the directory of a catalog, postgres://…, or memory:; leave --http out for a server',
    )
  return authOf({ ...typed, ...(Array.isArray(token) && { token }) }, io)
}

async function open(location: string, typed: Typed, io: Io): Promise<Catalog> {
  const { write, apiKey, token: given, locationRoot } = typed
  if (!isUrl(location)) return openLocal(location, write, { locationRoot, readOnly: !write }, io)
  const typedToken = typeof given === 'object' ? given.at(-1) : given
  return openLocation(location, false, { token: typedToken ?? io.env.TABULARIUM_TOKEN, apiKey })
}

function elsewhere(path: string): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    `This server speaks the Model Context Protocol only, at ${path}. For operations over HTTP, run tabularium serve.`,
  )
}

function describe(error: Error): string {
  const { message, cause } = error
  return cause instanceof Error ? `${message} Cause: ${cause.message}` : message
}
