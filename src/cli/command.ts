import { Command } from 'commander'
import { isKeyed, isUnsupported } from '../catalog/index.ts'
import { type Field, fieldsOf } from './fields.ts'
import type { Io } from './io.ts'
import { locationArgument } from './location-argument.ts'
import { addCatalogOptions, optionsOf, toNumber } from './options.ts'
import { perform, readsRows, type SharedOptions } from './perform.ts'
import { type AnyOperation, kebab } from './record.ts'
import { readIdentifier, readRequest, type Typed } from './request.ts'

/** Where the fields of an operation are typed. */
interface Placement {
  readonly fields: readonly Field[]
  /** The attribute of the option of a field. */
  readonly attributes: ReadonlyMap<string, string>
  /** The fields of the positional arguments, in order. */
  readonly positional: readonly string[]
}

/** The typed value of each field, from its option or its positional argument. */
function typedOf(
  { command }: AnyOperation,
  { fields, attributes, positional }: Placement,
  options: SharedOptions & Readonly<Record<string, unknown>>,
  rest: readonly unknown[],
): Typed {
  const { delimiter } = options
  const typed: Record<string, unknown> = {}
  for (const { name } of fields) {
    const attribute = attributes.get(name)
    if (attribute !== undefined) typed[name] = options[attribute]
  }
  for (const [index, name] of positional.entries()) {
    const text = rest[index] as string | undefined
    if (text !== undefined) Object.assign(typed, positionalValue(command, fields, name, text, delimiter))
  }
  if (command?.rootByDefault) typed.id ??= delimiter
  return typed
}

function positionalValue(
  command: AnyOperation['command'],
  fields: readonly Field[],
  name: string,
  text: string,
  delimiter: string,
): Typed {
  const namespaceField = command?.namespaceFields?.[name]
  if (namespaceField !== undefined) {
    const names = readIdentifier(text, delimiter)
    if (names.length < 2) return { [name]: text }
    return { [name]: names.at(-1), [namespaceField]: names.slice(0, -1).join(delimiter) }
  }
  const { kind } = fields.find((field) => field.name === name)!
  return { [name]: kind === 'number' ? toNumber(text) : text }
}

/** Listings return identifiers as strings, joined by the same delimiter as on the command line. */
function withDelimiter(
  operation: AnyOperation,
  request: Readonly<Record<string, unknown>>,
  delimiter: string,
) {
  return 'delimiter' in operation.request.entries ? { ...request, delimiter } : request
}

/** Whether the command of an operation has the name or alias `word`. */
export function isNamed({ name, command }: AnyOperation, word: string | undefined): boolean {
  return word !== undefined && (word === kebab(name) || (command?.aliases?.includes(word) ?? false))
}

/** The command of an operation as a list of commands shows it: without arguments and options, and not to be run. */
export function listedCommand({ name, summary, command }: AnyOperation): Command {
  return new Command(kebab(name))
    .summary(summary)
    .description(summary)
    .aliases(command?.aliases ?? [])
    .helpGroup(`${command?.group ?? 'Not supported'}:`)
}

/** The command of an operation. Arguments and options come from the request schema, the rest from `command`. */
export function operationCommand(operation: AnyOperation, io: Io): Command {
  const notes = operation.command
  const fields = fieldsOf(operation).filter(({ name }) => name !== 'delimiter')
  const command = listedCommand(operation).addArgument(
    locationArgument('<location>', 'directory of a catalog, or the URL of a database or of a server'),
  )
  const id = fields.find(({ name }) => name === 'id')
  const positional = [...(id ? ['id'] : []), ...(notes?.positional ?? [])]
  for (const name of positional) command.argument(...argumentOf(name, fields, operation))
  const attributes = addFieldOptions(command, fields)
  addSharedOptions(command, operation)
  if (isUnsupported(operation)) command.allowUnknownOption().allowExcessArguments()
  if (notes?.examples) command.addHelpText('after', examplesText(operation))
  return command.action(async (location: string, ...rest: unknown[]) => {
    const options = command.opts<SharedOptions & Record<string, unknown>>()
    const typed = typedOf(operation, { fields, attributes, positional }, options, rest)
    const request = await readRequest(fields, typed, options.delimiter, io)
    const asked = withDelimiter(operation, request, options.delimiter)
    const mayCreate = notes?.begins ?? false
    await perform({ operation, location, request: asked, options, mayCreate }, io).catch(async (error) => {
      if (!mayCreate) throw error
      const { withNextCommand } = await import('./next-command.ts')
      const [typedLocation = location, id] = command.args
      const isNamespace = operation.name === 'createNamespace'
      const { delimiter } = options
      throw withNextCommand(error, { location: typedLocation, id, isNamespace, delimiter })
    })
  })
}

function argumentOf(name: string, fields: readonly Field[], { command }: AnyOperation): [string, string] {
  if (name !== 'id') return [`[${kebab(name)}]`, fields.find((field) => field.name === name)?.note ?? '']
  const what = command?.id ?? 'table'
  if (what === 'transaction') return ['<transaction>', 'its id']
  if (what === 'table') return ['<table>', 'such as prod.flights']
  return [
    command?.rootByDefault ? '[namespace]' : '<namespace>',
    'such as prod.eu; the delimiter alone is the root',
  ]
}

function addFieldOptions(command: Command, fields: readonly Field[]): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>()
  // Fields that every request has come last in the help.
  const last = ['context', 'identity']
  const sorted = [...fields].sort((a, b) => last.indexOf(a.name) - last.indexOf(b.name))
  for (const field of sorted) {
    if (field.name === 'id') continue
    const { attribute, options } = optionsOf(field)
    for (const option of options) {
      // A tag implies the version and the branch.
      if (isWantedTag(field, fields)) option.conflicts(['version', 'at', 'branch'])
      command.addOption(option)
    }
    // Because of `--no-x`, commander would set the option to true by default.
    if (field.kind === 'flag') command.setOptionValueWithSource(attribute, undefined, 'default')
    attributes.set(field.name, attribute)
  }
  return attributes
}

/** Whether a field selects a version by tag, rather than naming the tag to create, move or delete. */
function isWantedTag({ name, required }: Field, fields: readonly Field[]): boolean {
  return name === 'tag' && !required && fields.some((other) => other.name === 'version' && !other.required)
}

function addSharedOptions(command: Command, operation: AnyOperation): void {
  if (operation.name === 'createNamespace')
    command.option('-p, --parents', 'create the missing namespaces above it, too')
  if (readsRows(operation)) {
    command.option(
      '-o, --output <file>',
      'write the rows to a .arrow, .parquet, .jsonl or .csv file, also with .gz or .zst, or an Arrow stream to -',
    )
  }
  if (operation.command?.id !== 'transaction' && !operation.command?.needsServer) {
    command.option(
      '--transaction <id>',
      'the transaction of begin-transaction that this is part of, at a server',
    )
  }
  if (isKeyed(operation) && !isUnsupported(operation)) {
    command.option(
      '--idempotency-key <key>',
      'a name for this change: for a day, the same command with it gets the first answer and changes nothing',
    )
  }
  addCatalogOptions(command)
}

function examplesText({ name, command }: AnyOperation): string {
  const typed = command?.aliases?.[0] ?? kebab(name)
  const lines = command?.examples?.map((example) => `  $ tabularium ${typed} ${example}\n`) ?? []
  return `\nExamples:\n${lines.join('')}`
}
