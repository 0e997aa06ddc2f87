import { Command, CommanderError } from 'commander'
import { isUnsupported } from '../catalog/index.ts'
import { CatalogError } from '../tabularium/index.ts'
import { firstWord, withChosenProfile } from './chosen-profile.ts'
import { isNamed, listedCommand, operationCommand } from './command.ts'
import { fieldsAsFlags } from './field-flags.ts'
import { flagsAsTyped } from './flags-as-typed.ts'
import type { Io } from './io.ts'
import { resolveLocations } from './location-argument.ts'
import { withNearOption } from './near-miss.ts'
import { type AnyOperation, definitions } from './record.ts'
import { UsageError } from './usage.ts'
import { visible } from './values.ts'

export { endSoon } from './end-soon.ts'
export { whenNpxEnds } from './npx.ts'

/** The exit codes, for scripts. */
export const exitCodes = { done: 0, refused: 1, usage: 2, interrupted: 130 } as const

/**
 * Runs the command in `args` and resolves to the exit code. An error prints one line on the error stream, with the code
 * of a catalog error and the next step.
 */
export async function main(args: readonly string[], io: Io): Promise<number> {
  try {
    const word = firstWord(args)
    const root = await program(io, word)
    // Before its options are read: those of the root, such as `--version`, would be taken for what was asked.
    const named = word === 'help' ? args[args.indexOf(word) + 1] : word
    if (named && !named.startsWith('-') && named !== 'help' && !hasCommand(root, named)) {
      const { unknownCommand } = await import('./near-miss.ts')
      throw unknownCommand(root, named)
    }
    await root.parseAsync(withChosenProfile(root, args, io), { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander takes over the exit code of the process, which stands for a failure until the command has ended.
      const isAskedFor = error.code === 'commander.help' && args.includes('help')
      return error.exitCode === 0 || isAskedFor ? exitCodes.done : exitCodes.usage
    }
    const [text, code] = describeError(error, args, io)
    io.stderr.write(`tabularium: ${visible(asTyped(text, args))}\n`)
    return code
  }
}

function hasCommand({ commands }: Command, word: string): boolean {
  return commands.some((one) => one.name() === word || one.aliases().includes(word))
}

function describeError(
  error: unknown,
  args: readonly string[],
  { signal }: Io,
): [text: string, code: number] {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  if (signal.aborted && (error === signal.reason || cause === signal.reason))
    return ['interrupted', exitCodes.interrupted]
  if (error instanceof UsageError) return [error.message, exitCodes.usage]
  if (error instanceof CatalogError) {
    const operation = definitions.find((one) => isNamed(one, firstWord(args)))
    const told = error.code === 'InvalidInput' ? flagsAsTyped(error.message, args) : error.message
    const fields = operation ? fieldsAsFlags(told, operation, args) : told
    // The server speaks of headers, which nobody types here.
    const text =
      error.code === 'Unauthenticated' ? `${fields} Here: --token, TABULARIUM_TOKEN or a profile.` : fields
    return [`${error.code}: ${text}${causeText(error)}`, exitCodes.refused]
  }
  return [error instanceof Error ? error.message : String(error), exitCodes.refused]
}

/** The longest word that can be an identifier, in characters. */
const maxIdentifier = 9_000

/** Rewrites identifiers in a message as they were typed. The catalog joins names with `$`. */
function asTyped(message: string, args: readonly string[]): string {
  const option = args.findIndex((word) => /^--delimiter(?:=|$)/.test(word))
  const between = (option < 0 ? '' : (args[option]!.split('=', 2)[1] ?? args[option + 1])) || '.'
  let text = message.replace(/(?<= is not empty: it holds )\S+/, (names) => names.replaceAll('$', between))
  for (const word of args) {
    if (word.length > maxIdentifier || !word.includes(between)) continue
    const names = word.split(between)
    // The longest first, since the shorter ones are prefixes of it.
    for (let depth = names.length; depth > 1; depth--) {
      const part = names.slice(0, depth)
      text = text.replaceAll(part.join('$'), () => part.join(between))
    }
  }
  return text
}

/** The cause of an `Internal` error, whose own message is generic. */
function causeText({ code, cause }: CatalogError): string {
  return code === 'Internal' && cause instanceof Error ? ` Cause: ${cause.message}` : ''
}

const examples = `
Examples:
  $ tabularium serve ./catalog --no-auth
  $ tabularium create ./catalog flights --data flights.csv
  $ tabularium list ./catalog
  $ tabularium count ./catalog flights --where 'delay > 60'
  $ tabularium query 127.0.0.1:2333 flights --order-by 'delay desc' --limit 10

A location is a directory, a URL, the address of a server of this machine, or @NAME for a profile. Identifiers
are names joined by dots (prod.flights); --delimiter sets another delimiter. A token or key for a server may
also be in TABULARIUM_TOKEN or TABULARIUM_API_KEY. Exit codes: 0 success, 1 refused by the
catalog, 2 invalid command line, 130 interrupted.
`

function newRoot(io: Io): Command {
  return (
    new Command('tabularium')
      .description(
        'A table catalog in a directory, in a database or behind a URL: namespaces, tables, versions, tags, rows.',
      )
      .version(io.version)
      // Options after a command's name belong to the command, even `--version`.
      .enablePositionalOptions()
      .option(
        '-C, --profile <name>',
        'the catalog of this profile (or TABULARIUM_PROFILE), and no location is typed',
      )
      .usage('<command> <location> [identifier] [options]')
      .addHelpText('after', examples)
      .hook('preAction', (_root, command) => resolveLocations(command, io))
  )
}

/**
 * The root command: serving, maintenance, and a command for every operation. With `word`, the first word of a command
 * line, it has only the commands that this line can need. Loading and making all of them takes longer than most of them.
 */
export async function program(io: Io, word?: string): Promise<Command> {
  const root = newRoot(io)
  const named = definitions.filter((operation) => isNamed(operation, word))
  for (const operation of named) addOperation(root, operation, io, operationCommand(operation, io))
  if (named.length > 0) return configure(root, io)
  const { completeCommand } = await import('./completion/completion-command.ts')
  const complete = completeCommand((first) => (first === undefined ? listing(io) : program(io, first)), io)
  if (word !== complete.name()) {
    await addAll(root, io, (operation) => operationCommand(operation, io))
  }
  // Groups of commands are shown in the order in which they were added, and this one's comes last.
  root.addCommand(configure(complete, io), { hidden: true })
  return configure(root, io)
}

/** The root command with all commands, for completions of a first word. Those of operations are only listed. */
async function listing(io: Io): Promise<Command> {
  const root = newRoot(io)
  await addAll(root, io, listedCommand)
  return configure(root, io)
}

async function addAll(root: Command, io: Io, commandOf: (operation: AnyOperation) => Command): Promise<void> {
  const { itself, more } = (await import('./other-commands.ts')).otherCommands(io)
  for (const command of itself) root.addCommand(configure(command, io))
  for (const operation of definitions) addOperation(root, operation, io, commandOf(operation))
  for (const command of more) root.addCommand(configure(command, io))
}

function addOperation(root: Command, operation: AnyOperation, io: Io, command: Command): void {
  root.addCommand(configure(command, io), { hidden: isUnsupported(operation) })
}

/** Configures a command and its subcommands to throw errors and to print to the streams of `io`. */
function configure(command: Command, io: Io, path = ''): Command {
  const name = command.name() === 'tabularium' ? '' : `${path}${command.name()} `
  if (name !== '') for (const inner of command.commands) configure(inner, io, name)
  return command
    .exitOverride()
    .showHelpAfterError(`(see tabularium ${name}--help)`)
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(withNearOption(command, text).replace(/^error: /, 'tabularium: ')),
    })
    .configureHelp({ subcommandTerm: (sub) => [sub.name(), ...sub.aliases()].join(', ') })
}
