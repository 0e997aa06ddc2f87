import { readFile } from 'node:fs/promises'
import { Command, Option } from 'commander'
import type { Io } from './io.ts'
import { toNumber } from './options.ts'
import { tellListening } from './serve.ts'
import { UsageError } from './usage.ts'

type Seed = import('../testing/index.ts').Seed

interface Typed {
  readonly host: string
  readonly port: number
  readonly token?: string
  readonly seed?: string
  readonly now?: string
  readonly control?: boolean
  readonly lanceFolder?: string
  readonly iceberg?: boolean
  readonly icebergFolder?: string
  readonly endWithInput?: boolean
  readonly listing: 'recursive' | 'children'
  readonly log: 'debug' | 'info' | 'warn' | 'error'
  readonly json?: boolean
}

const examples = `
Examples:
  $ tabularium fake --seed seed.json --control
  $ curl -X POST http://127.0.0.1:PORT/_control/faults -d '{"operation":"countTableRows","fail":"ServiceUnavailable","times":1}'
  $ curl -X POST http://127.0.0.1:PORT/_control/reset
`

/** The command that serves a fake catalog to test suites in any language, until an interrupt. */
export function fakeCommand(io: Io): Command {
  const summary = 'Serve a fake catalog to a test suite.'
  return new Command('fake')
    .summary(summary)
    .description(
      `${summary} It is in memory, and its answers are the same in every run. Once it listens, it prints one line with its URL.`,
    )
    .helpGroup('The catalog itself:')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes a free one', toNumber, 0)
    .option(
      '--token <token>',
      'token that callers must send (default: TABULARIUM_TOKEN, or none, for this machine alone)',
    )
    .option('--seed <file>', 'JSON file with the content to begin with: namespaces and tables with rows')
    .option('--now <date>', 'the initial time of its clock', '2026-01-01T00:00:00Z')
    .option('--control', 'routes below /_control that add faults, move the clock, seed and reset')
    .option(
      '--lance-folder <folder>',
      "an empty folder where declared tables lie, for Lance's own clients, which keep versions through the fake",
    )
    .option('--iceberg', 'serve Iceberg REST at /iceberg')
    .option(
      '--iceberg-folder <folder>',
      'an empty folder where tables of Iceberg lie (default: a temporary one); implies --iceberg',
    )
    .option(
      '--end-with-input',
      'end when standard input does, and so with the process that holds its other end, however that ends',
    )
    .addOption(
      new Option(
        '--listing <kind>',
        'what a listing of tables answers: full identifiers, or direct children, for connectNamespace of LanceDB',
      )
        .choices(['recursive', 'children'])
        .default('recursive'),
    )
    .addOption(
      new Option('--log <level>', 'least level that is logged, on standard error')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('warn'),
    )
    .option('--json', 'print the URL as JSON')
    .addHelpText('after', examples)
    .action(async (typed: Typed) => {
      const { host, port, seed, now, control, lanceFolder, icebergFolder, endWithInput, listing, log, json } =
        typed
      const iceberg = typed.iceberg ?? icebergFolder !== undefined
      const token = typed.token ?? (io.env.TABULARIUM_TOKEN || undefined)
      const { fakeServer } = await import('../testing/index.ts')
      await using server = await fakeServer({
        seed: seed === undefined ? undefined : await readSeed(seed),
        now,
        host,
        port,
        token,
        control,
        lanceFolder,
        icebergFolder,
        iceberg,
        http: { listing, log },
      })
      tellListening(server, { iceberg, json }, io)
      if (io.signal.aborted) return
      const interrupted = new Promise<void>((resolve) =>
        io.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
      await Promise.race([interrupted, ...(endWithInput ? [ended(io.stdin)] : [])])
    })
}

/** Resolves at the end of a stream. A pipe whose other end was killed may end with an error. */
async function ended(stream: Io['stdin']): Promise<void> {
  stream.unref?.()
  try {
    for await (const _ of stream);
  } catch {}
}

async function readSeed(file: string): Promise<Seed> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Seed
  } catch (cause) {
    throw new UsageError(`--seed: ${(cause as Error).message}`)
  }
}
