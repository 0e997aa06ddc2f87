import { type Command, InvalidArgumentError, Option } from 'commander'
import { durationOf } from '../base/model/duration.ts'
import { type Field, type FieldKind, hiddenFields, onByDefault, otherNameOf } from './fields.ts'
import { toMoment, toVersionName } from './moment.ts'
import { kebab } from './record.ts'

const placeholders: { readonly [Kind in Exclude<FieldKind, 'flag'>]: string } = {
  text: '<text>',
  number: '<number>',
  time: '<time>',
  version: '<version>',
  names: '<identifier>',
  columns: '<list>',
  words: '<list>',
  assignments: '<assignment>',
  map: '<key=value>',
  rows: '<file>',
  json: '<json>',
}

/** The options for a request field, and the attribute where commander stores their value. */
export function optionsOf(field: Field): { attribute: string; options: Option[] } {
  const long = `--${kebab(field.name)}`
  const help = helpOf(field)
  const options =
    field.kind === 'flag'
      ? [new Option(long, help), new Option(`--no-${long.slice(2)}`, help)]
      : [valueOption(field, long, help, placeholders[field.kind])]
  if (field.kind === 'flag') options[onByDefault.has(field.name) ? 0 : 1]!.hideHelp()
  if (hiddenFields.has(field.name)) for (const option of options) option.hideHelp()
  return { attribute: options[0]!.attributeName(), options }
}

function valueOption(field: Field, long: string, help: string, placeholder: string): Option {
  const { kind } = field
  const other = otherNameOf(field)
  const value = other === 'where' ? '<predicate>' : placeholder
  const option = new Option(`${other === undefined ? '' : `--${other}, `}${long} ${value}`, help)
  if (kind === 'number') option.argParser(toNumber)
  if (kind === 'time') option.argParser(toMoment)
  if (kind === 'version') option.argParser(toVersionName)
  if (kind === 'map' || kind === 'columns' || kind === 'words' || kind === 'assignments') {
    option.argParser((text: string, before: string[] = []) => [...before, text])
  }
  return option
}

function helpOf({ kind, required, note: given, hint }: Field): string {
  const note = given ?? hint?.replace(/^must be /, '') ?? ''
  const how =
    kind === 'map' ? ' (repeat it, or give a JSON object)' : kind === 'json' ? ' (@FILE reads a file)' : ''
  return `${note}${how}${required ? '; required' : ''}`
}

export function toNumber(text: string): number {
  const number = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isNaN(number)) throw new InvalidArgumentError('It is not a number. Write digits, such as 10.')
  return number
}

export function toPort(text: string): number {
  const number = toNumber(text)
  if (!(Number.isInteger(number) && number >= 0 && number <= 65_535))
    throw new InvalidArgumentError('It is not a port: a whole number from 0 to 65535.')
  return number
}

export function toCount(text: string): number {
  const number = toNumber(text)
  if (!Number.isSafeInteger(number) || number < 1)
    throw new InvalidArgumentError('It is not a whole number of 1 or more.')
  return number
}

/** Parses a duration up to an hour, such as `500ms`, `10s` or `1.5m`, into milliseconds. */
export function toMillis(text: string): number {
  return millisUpTo(text, '1h', '10s')
}

/** Parses a duration up to ten years, such as `12h` or `7d`, into milliseconds. */
export function toLongMillis(text: string): number {
  return millisUpTo(text, '3650d', '7d')
}

function millisUpTo(text: string, longest: string, example: string): number {
  const millis = durationOf(text)
  if (millis <= durationOf(longest)) return millis
  throw new InvalidArgumentError(`It is not a time of at most ${longest}. Write, for example, ${example}.`)
}

const units = ['', 'K', 'M', 'G', 'T']

/** Parses a number of bytes, such as `10GiB`, `500MB` or `1048576`. */
export function toBytes(text: string): number {
  const [, number, unit = '', binary] = /^(\d+(?:\.\d+)?) ?(?:([KMGT]?)(i?)B)?$/i.exec(text.trim()) ?? []
  if (number === undefined) throw new InvalidArgumentError('It is not a size. Write, for example, 10GiB.')
  return Math.floor(Number(number) * (binary ? 1024 : 1000) ** units.indexOf(unit.toUpperCase()))
}

/** The options of commands that may work with a server. */
export interface AccessOptions {
  readonly token?: string
  readonly apiKey?: string
}

/** The options of every command that prints. */
export interface PrintOptions {
  readonly json?: boolean
}

/** The options of commands about what is in a catalog. */
export interface CatalogOptions extends AccessOptions, PrintOptions {
  readonly delimiter: string
}

export function addCatalogOptions(command: Command): Command {
  command
    .option('--delimiter <text>', 'the text between the names of identifiers', '.')
    .addOption(new Option('--token <token>', 'bearer token for a server').env('TABULARIUM_TOKEN'))
    .addOption(new Option('--api-key <key>', 'API key for a server').env('TABULARIUM_API_KEY'))
  return addPrintOptions(command)
}

/** The option of commands that reach content outside of the catalog's own root. */
export interface RootOptions {
  readonly locationRoot?: readonly string[]
}

export function addRootOption(command: Command): Command {
  return command.option(
    '--location-root <place>',
    'a further folder, or a URL such as s3://bucket/prefix, where tables lie, as for serve (repeat it)',
    (text: string, before: readonly string[] = []) => [...before, text],
  )
}

export function addPrintOptions(command: Command): Command {
  command
    .option('--json', 'print lines of JSON (default when the output is no terminal)')
    .option('--no-json', 'print tables')
  // Because of `--no-json`, commander would set the option to true by default.
  command.setOptionValueWithSource('json', undefined, 'default')
  return command
}
