import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { Command } from 'commander'
import { CatalogError } from '../tabularium/index.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { isUrl, openLocal } from './open.ts'
import { toNumber } from './options.ts'
import { definitions } from './record.ts'
import { UsageError } from './usage.ts'

interface Typed {
  readonly port: number
  readonly editable?: boolean
  readonly browser: boolean
  readonly json?: boolean
}

const examples = `
Examples:
  $ tabularium open ./catalog
  $ tabularium open ./catalog --editable
  $ tabularium open postgres://app@db.example/tables --no-browser
`

/** The command that shows a catalog in the browser until an interrupt. */
export function openCommand(io: Io): Command {
  const summary = 'Look at a catalog in the browser.'
  return new Command('open')
    .summary(summary)
    .description(
      `${summary} It serves the catalog to this machine alone, with a token made for this run, and prints the URL of its page.`,
    )
    .helpGroup('The catalog itself:')
    .addArgument(
      locationArgument('[location]', 'directory of a catalog, or the URL of a database', './catalog'),
    )
    .option('--port <number>', 'port to listen on; 0 takes a free one', toNumber, 0)
    .option('--editable', 'let the page change the catalog (default: every change is refused)')
    .option('--no-browser', 'print the URL, and open no browser')
    .option('--json', 'print the URL of the page as JSON')
    .addHelpText('after', examples)
    .action(async (location: string, { port, editable = false, browser, json }: Typed) => {
      if (isUrl(location))
        throw new UsageError(`a server shows its page itself; open ${location} in a browser`)
      const { serveWith } = await import('../server/serve.ts')
      await using catalog = await openLocal(location, false)
      const [token, code] = [secret(), secret()]
      let isUsed = false
      await using server = await serveWith(
        catalog,
        {
          auth: { tokens: [{ token, name: 'page' }] },
          port,
          page: editable ? 'editable' : true,
          authorize: (_principal, operation) => {
            if (!editable && changing.has(operation)) throw readOnly()
          },
        },
        // Other users of this machine can see the browser's arguments. So the code in that URL works only once.
        ({ method, path }) => {
          if (method !== 'GET' || path !== `/open/${code}` || isUsed) return undefined
          isUsed = true
          const headers = {
            location: `/#token=${token}`,
            'cache-control': 'no-store',
            'referrer-policy': 'no-referrer',
          }
          return Promise.resolve({ status: 303, body: '', headers })
        },
      )
      const url = `${server.url}/#token=${token}`
      io.stdout.write(json ? `${JSON.stringify({ url })}\n` : `tabularium shows the catalog at ${url}\n`)
      if (browser) openBrowser(`${server.url}/open/${code}`, io.env)
      if (io.signal.aborted) return
      await new Promise((resolve) => io.signal.addEventListener('abort', resolve, { once: true }))
    })
}

const changing: ReadonlySet<string> = new Set(
  definitions.filter(({ changes }) => changes).map(({ name }) => name),
)

function readOnly(): CatalogError {
  return new CatalogError(
    'PermissionDenied',
    'The catalog was opened to be read only. End the command, and start it again with --editable.',
  )
}

function secret(): string {
  return randomBytes(32).toString('base64url')
}

/** Opens a browser. Ignores a failure, since the URL is printed too. */
function openBrowser(url: string, env: Io['env']): void {
  const call = browserCall(process.platform, url, env)
  if (call === undefined) return
  const [command, ...args] = call
  const child = spawn(command, args, { stdio: 'ignore', detached: true, env })
  child.on('error', () => {})
  child.unref()
}

/** The program that opens a URL, with its arguments. Undefined on a machine without a display. */
export function browserCall(
  platform: NodeJS.Platform,
  url: string,
  env: Io['env'],
): [command: string, ...args: string[]] | undefined {
  if (platform === 'darwin') return ['open', url]
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open', url] : undefined
}
