import { Command, CommanderError } from 'commander'
import { CatalogError } from '../index.ts'
import { backupCommand, restoreCommand } from './backup.ts'
import { changesCommand } from './changes.ts'
import { operationCommand } from './command.ts'
import { copyCommand, exportCommand, importCommand } from './export.ts'
import { fakeCommand } from './fake.ts'
import type { Io } from './io.ts'
import { vacuumCommand, verifyCommand } from './maintenance.ts'
import { migrateCommand } from './migrate.ts'
import { openCommand } from './open-page.ts'
import { definitions, isUnsupported } from './record.ts'
import { serveCommand } from './serve.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

/** The exit codes, for scripts. */
const exitCodes = { done: 0, refused: 1, usage: 2, interrupted: 130 } as const

/**
 * Runs the command in `args` and resolves to the exit code. An error is one line on the error stream: its code, for
 * an error of the catalog, and what to do next.
 */
export async function main(args: readonly string[], io: Io, signal: AbortSignal): Promise<number> {
  try {
    await program(io, signal).parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    const [text, code] = describeError(error, signal)
    io.stderr.write(`tabularium: ${visible(text)}\n`)
    return code
  }
}

function describeError(error: unknown, signal: AbortSignal): [text: string, code: number] {
  if (signal.aborted && error === signal.reason) return ['interrupted', exitCodes.interrupted]
  if (error instanceof UsageError) return [error.message, exitCodes.usage]
  if (error instanceof CatalogError)
    return [`${error.code}: ${error.message}${causeText(error)}`, exitCodes.refused]
  return [error instanceof Error ? error.message : String(error), exitCodes.refused]
}

/** The cause of an `Internal` error, whose own message says little. */
function causeText({ code, cause }: CatalogError): string {
  return code === 'Internal' && cause instanceof Error ? ` Cause: ${cause.message}` : ''
}

const examples = `
Examples:
  $ tabularium serve ./catalog --no-auth
  $ tabularium create ./catalog flights --data flights.csv
  $ tabularium list ./catalog
  $ tabularium count ./catalog flights --where 'delay > 60'
  $ tabularium query http://127.0.0.1:2333 flights --limit 10

Identifiers are names joined by dots (prod.flights); --delimiter sets another delimiter. A token or key
for a server may also be in TABULARIUM_TOKEN or TABULARIUM_API_KEY. Exit codes: 0 success, 1 refused by the
catalog, 2 invalid command line, 130 interrupted.
`

/** The whole program: serving, maintenance, and a command for every operation. */
function program(io: Io, signal: AbortSignal): Command {
  const root = new Command('tabularium')
    .description(
      'A table catalog in a directory, in a database or behind a URL: namespaces, tables, versions, tags, rows.',
    )
    .version(io.version)
    // Options behind a command's name belong to the command, even `--version`.
    .enablePositionalOptions()
    .usage('<command> <location> [identifier] [options]')
    .addHelpText('after', examples)
  const commands = [
    serveCommand(io, signal),
    openCommand(io, signal),
    fakeCommand(io, signal),
    changesCommand(io, signal),
    migrateCommand(io),
    verifyCommand(io, signal),
    vacuumCommand(io, signal),
    backupCommand(io, signal),
    restoreCommand(io, signal),
    exportCommand(io, signal),
    importCommand(io, signal),
    copyCommand(io, signal),
    ...definitions.map((operation) => operationCommand(operation, io, signal)),
  ]
  const unsupported = new Set(definitions.filter(isUnsupported).map(({ name }) => name))
  for (const [index, command] of commands.entries()) {
    const operation = definitions[index - (commands.length - definitions.length)]
    root.addCommand(configure(command, io), {
      hidden: operation !== undefined && unsupported.has(operation.name),
    })
  }
  return configure(root, io)
}

/** Makes a command throw errors instead of ending the process, and print to the program's streams. */
function configure(command: Command, io: Io): Command {
  const help = command.name() === 'tabularium' ? 'tabularium --help' : `tabularium ${command.name()} --help`
  return command
    .exitOverride()
    .showHelpAfterError(`(see ${help})`)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'tabularium: ')),
    })
    .configureHelp({ subcommandTerm: (sub) => [sub.name(), ...sub.aliases()].join(', ') })
}
