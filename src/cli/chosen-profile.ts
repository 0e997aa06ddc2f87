import type { Command } from 'commander'
import type { Io } from './io.ts'
import { isLocation } from './location-argument.ts'
import { UsageError } from './usage.ts'

/** The environment variable that names the profile for commands without a location. */
const variable = 'TABULARIUM_PROFILE'

/**
 * Inserts the location of the profile that `-C` or the environment names into the arguments. The environment counts
 * only where no location was typed: a text with a slash, a scheme, a port or a leading `@`.
 */
export function withChosenProfile(root: Command, args: readonly string[], { env }: Io): readonly string[] {
  const { chosen, rest } = readChosen(args)
  const command = root.commands.find((one) => one.name() === rest[0] || one.aliases().includes(rest[0] ?? ''))
  if (command === undefined) return rest
  const [first] = command.registeredArguments
  const [name, ...others] = rest as [string, ...string[]]
  if (chosen !== undefined) {
    if (!isLocation(first)) throw new UsageError(`-C names a catalog, and ${name} takes none: leave it out`)
    return [name, `@${chosen}`, ...others]
  }
  const byDefault = env[variable]
  if (!byDefault || !isLocation(first) || !first!.required) return rest
  const typed = firstOperand(command, others)
  if (typed !== undefined && looksLikeLocation(typed)) return rest
  return [name, `@${byDefault}`, ...others]
}

/** The name of the command in the arguments. Undefined where there is none yet. */
export function firstWord(args: readonly string[]): string | undefined {
  return args.length < 2 ? args[0] : readChosen(args).rest[0]
}

function readChosen(args: readonly string[]): { chosen: string | undefined; rest: readonly string[] } {
  const [first = '', second] = args
  const [, joined] = /^(?:-C=?|--profile=)(.+)$/s.exec(first) ?? []
  if (joined !== undefined) return { chosen: joined, rest: args.slice(1) }
  if (first !== '-C' && first !== '--profile') return { chosen: undefined, rest: args }
  if (second === undefined)
    throw new UsageError(`${first} needs the name of a profile: tabularium profile list`)
  return { chosen: second, rest: args.slice(2) }
}

/** The first argument that is neither an option nor the value of one. */
function firstOperand({ options }: Command, args: readonly string[]): string | undefined {
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!
    if (!word.startsWith('-') || word === '-') return word
    if (options.some(({ short, long, required }) => required && (short === word || long === word))) i++
  }
  return undefined
}

function looksLikeLocation(text: string): boolean {
  return /^@|[/\\]|^(?:memory|file):|:\d{1,5}$/.test(text)
}
