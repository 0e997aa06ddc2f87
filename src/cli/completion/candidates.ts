import type { Argument, Command, Option } from 'commander'
import type { Io } from '../io.ts'
import { isLocation } from '../locations/location-argument.ts'
import { profilePath, readProfiles } from '../profiles/profile-file.ts'
import { branchNames, type CompletionTarget, namesIn, tagNames } from './catalog-names.ts'

/** A completion for the word under the cursor. */
export interface Candidate {
  readonly value: string
  readonly about?: string
}

export interface Candidates {
  readonly found: readonly Candidate[]
  /** Whether the shell should also offer file names. */
  readonly files: boolean
}

const nothing: Candidates = { found: [], files: false }

/** Completions for the last word. `words` follow the name of the program. */
export async function candidatesFor(
  root: Command,
  words: readonly string[],
  io: Io,
  signal: AbortSignal,
): Promise<Candidates> {
  const typed = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const { command, operands, values, pendingOption } = parseLine(root, typed)
  const found = await candidates({ command, operands, values, pendingOption, current }, io, signal)
  return { ...found, found: found.found.filter(({ value }) => value.startsWith(current)) }
}

/** The words before the cursor, parsed. */
interface ParsedLine {
  readonly command: Command
  readonly operands: readonly string[]
  /** The values of options, by attribute. */
  readonly values: ReadonlyMap<string, string>
  /** The option whose value is being typed. */
  readonly pendingOption: Option | undefined
}

function parseLine(root: Command, typed: readonly string[]): ParsedLine {
  let command = root
  let operands: string[] = []
  let pendingOption: Option | undefined
  const values = new Map<string, string>()
  for (const word of typed) {
    if (pendingOption !== undefined) {
      values.set(pendingOption.attributeName(), word)
      pendingOption = undefined
    } else if (word.startsWith('-') && word !== '-') {
      const [name, value] = word.split(/=(.*)/s)
      const option = command.options.find(({ short, long }) => short === name || long === name)
      if (option === undefined || !(option.required || option.optional)) continue
      if (value === undefined) pendingOption = option
      else values.set(option.attributeName(), value)
    } else {
      const inner = operands.length === 0 ? subcommand(command, word) : undefined
      if (inner === undefined) operands = [...operands, word]
      else command = inner
    }
  }
  return { command, operands, values, pendingOption }
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((one) => one.name() === word || one.aliases().includes(word))
}

async function candidates(
  { command, operands, values, pendingOption, current }: ParsedLine & { readonly current: string },
  io: Io,
  signal: AbortSignal,
): Promise<Candidates> {
  const targetOf = (at: readonly string[]): CompletionTarget => ({
    location: at[0] ?? '',
    names: at[1] ?? '',
    delimiter: values.get('delimiter') ?? '.',
    token: values.get('token'),
    apiKey: values.get('apiKey'),
  })
  const profile = values.get('profile')
  const given =
    profile !== undefined && isLocation(command.registeredArguments[0])
      ? [`@${profile}`, ...operands]
      : operands
  if (pendingOption !== undefined) return valuesOf(pendingOption, targetOf(given), io, signal)
  if (current.startsWith('-')) return { found: optionsOf(command), files: false }
  if (command.commands.length > 0 && operands.length === 0)
    return { found: commandsOf(command), files: false }
  const argument = argumentAt(command, given.length)
  if (argument === undefined) return nothing
  if (argument.argChoices) return { found: argument.argChoices.map((value) => ({ value })), files: false }
  if (isLocation(argument)) return { found: await profilesOf(io), files: !current.startsWith('@') }
  const kind = argument.name()
  if (kind === 'table' || kind === 'namespace') {
    return { found: await namesIn({ ...targetOf(given), names: current }, kind, io, signal), files: false }
  }
  return { found: [], files: /folder|copy|target|file/.test(kind) }
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  return (
    registeredArguments[index] ??
    (registeredArguments.at(-1)?.variadic ? registeredArguments.at(-1) : undefined)
  )
}

async function valuesOf(
  option: Option,
  target: CompletionTarget,
  io: Io,
  signal: AbortSignal,
): Promise<Candidates> {
  if (option.argChoices) return { found: option.argChoices.map((value) => ({ value })), files: false }
  const name = option.attributeName()
  if (name === 'profile') {
    const found = await profilesOf(io)
    return { found: found.map(({ value, ...about }) => ({ ...about, value: value.slice(1) })), files: false }
  }
  if (name === 'tag') return { found: await tagNames(target, io, signal), files: false }
  if (name === 'branch' || name === 'fromBranch')
    return { found: await branchNames(target, io, signal), files: false }
  return { found: [], files: /<(?:file|folder)>/.test(option.flags) }
}

function optionsOf(command: Command): Candidate[] {
  const all = [
    ...command.options.filter(({ hidden }) => !hidden),
    command.createOption('--help', 'say how it is used'),
  ]
  return all.flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : []))
}

function commandsOf(command: Command): Candidate[] {
  const shown = command.createHelp().visibleCommands(command)
  return shown.flatMap((one) =>
    [one.name(), ...one.aliases()].map((value) => ({ value, about: one.summary() || one.description() })),
  )
}

async function profilesOf(io: Io): Promise<Candidate[]> {
  const names = Object.keys(await readProfiles(profilePath(io)))
  return names.map((name) => ({ value: `@${name}` }))
}
