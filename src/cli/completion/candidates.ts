import type { Argument, Command, Option } from 'commander'
import type { Catalog } from '../../tabularium/index.ts'
import type { Io } from '../io.ts'
import { isLocation, resolveLocation } from '../location-argument.ts'
import { openLocation } from '../open.ts'
import { profilePath, readProfiles } from '../profiles/profile-file.ts'

/** A completion for the word under the cursor. */
interface Candidate {
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
export async function candidatesFor(root: Command, words: readonly string[], io: Io): Promise<Candidates> {
  const typed = words.slice(0, -1)
  const current = words.at(-1) ?? ''
  const { command, operands, values, pendingOption } = parseLine(root, typed)
  const found = await candidates({ command, operands, values, pendingOption, current }, io)
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
  if (pendingOption !== undefined) return valuesOf(pendingOption, targetOf(given), io)
  if (current.startsWith('-')) return { found: optionsOf(command), files: false }
  if (command.commands.length > 0 && operands.length === 0)
    return { found: commandsOf(command), files: false }
  const argument = argumentAt(command, given.length)
  if (argument === undefined) return nothing
  if (argument.argChoices) return { found: argument.argChoices.map((value) => ({ value })), files: false }
  if (isLocation(argument)) return { found: await profilesOf(io), files: !current.startsWith('@') }
  const kind = argument.name()
  if (kind === 'table' || kind === 'namespace') {
    return { found: await namesIn({ ...targetOf(given), names: current }, kind, io), files: false }
  }
  return { found: [], files: /folder|copy|target|file/.test(kind) }
}

function argumentAt({ registeredArguments }: Command, index: number): Argument | undefined {
  return (
    registeredArguments[index] ??
    (registeredArguments.at(-1)?.variadic ? registeredArguments.at(-1) : undefined)
  )
}

async function valuesOf(option: Option, target: CompletionTarget, io: Io): Promise<Candidates> {
  if (option.argChoices) return { found: option.argChoices.map((value) => ({ value })), files: false }
  const name = option.attributeName()
  if (name === 'profile') {
    const found = await profilesOf(io)
    return { found: found.map(({ value, ...about }) => ({ ...about, value: value.slice(1) })), files: false }
  }
  if (name === 'tag') return { found: await tagNames(target, io), files: false }
  if (name === 'branch' || name === 'fromBranch')
    return { found: await branchNames(target, io), files: false }
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

/** The catalog and the identifier in a command line. */
interface CompletionTarget {
  readonly location: string
  /** The identifier typed so far. */
  readonly names: string
  readonly delimiter: string
  readonly token: string | undefined
  readonly apiKey: string | undefined
}

/** The most completions of one kind. */
const most = 200

/** Namespaces that begin with the typed text. For a table, also tables, and each namespace ends in the delimiter. */
export function namesIn(
  { names, ...target }: CompletionTarget,
  kind: 'table' | 'namespace',
  io: Io,
): Promise<Candidate[]> {
  return withCatalog({ names, ...target }, io, async (catalog) => {
    const { delimiter } = target
    const parts = names.split(delimiter)
    const [parent, prefix] = [parts.slice(0, -1), parts.at(-1)!]
    const listed = await Promise.all([
      childrenOf(catalog, 'namespace', parent, prefix, io.signal),
      kind === 'table' ? childrenOf(catalog, 'table', parent, prefix, io.signal) : [],
    ])
    const [namespaces, tables] = listed.map((found) =>
      found
        // A name that contains the delimiter cannot be typed with this delimiter.
        .filter((name) => name.startsWith(prefix) && !name.includes(delimiter))
        .map((name) => [...parent, name].join(delimiter)),
    )
    const end = kind === 'table' ? delimiter : ''
    return [
      ...namespaces!.map((name) => ({ value: `${name}${end}`, about: 'namespace' })),
      ...tables!.map((name) => ({ value: name, about: 'table' })),
    ]
  })
}

/** Names in a namespace from `prefix` on, inclusive: `start_after` alone would skip a complete name. */
async function childrenOf(
  catalog: Catalog,
  kind: 'table' | 'namespace',
  parent: readonly string[],
  prefix: string,
  signal: AbortSignal,
): Promise<string[]> {
  const request = { id: [...parent], limit: most, ...(prefix !== '' && { start_after: prefix }) }
  if (kind === 'namespace') {
    const [{ namespaces }, isOne] = await Promise.all([
      catalog.listNamespaces(request, { signal }),
      prefix === '' || exists(catalog.namespaceExists({ id: [...parent, prefix] }, { signal })),
    ])
    return prefix !== '' && isOne ? [prefix, ...namespaces] : namespaces
  }
  const [{ tables }, isOne] = await Promise.all([
    catalog.listTables({ ...request, recursive: false }, { signal }),
    prefix === '' || exists(catalog.tableExists({ id: [...parent, prefix] }, { signal })),
  ])
  const own = tables.map((table) => table.split('$').at(-1)!)
  return prefix !== '' && isOne ? [prefix, ...own] : own
}

function exists(asked: Promise<unknown>): Promise<boolean> {
  return asked.then(
    () => true,
    () => false,
  )
}

function tagNames(target: CompletionTarget, io: Io): Promise<Candidate[]> {
  return withCatalog(target, io, async (catalog) => {
    const { tags } = await catalog.listTableTags({ id: idOf(target), limit: most }, { signal: io.signal })
    return Object.entries(tags).map(([value, { version }]) => ({ value, about: `version ${version}` }))
  })
}

function branchNames(target: CompletionTarget, io: Io): Promise<Candidate[]> {
  return withCatalog(target, io, async (catalog) => {
    const { branches } = await catalog.listTableBranches(
      { id: idOf(target), limit: most },
      { signal: io.signal },
    )
    return Object.keys(branches).map((value) => ({ value }))
  })
}

function idOf({ names, delimiter }: CompletionTarget): string[] {
  return names.split(delimiter)
}

async function withCatalog<T>(
  { location, ...given }: CompletionTarget,
  io: Io,
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const resolved = await resolveLocation(location, io)
  const token = given.token ?? resolved.token ?? io.env.TABULARIUM_TOKEN
  const apiKey = given.apiKey ?? resolved.apiKey ?? io.env.TABULARIUM_API_KEY
  await using catalog = await openLocation(resolved.location, false, { token, apiKey })
  return await work(catalog)
}
