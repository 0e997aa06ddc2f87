import { requestDoc } from '../catalog/index.ts'
import { type AnyOperation, kebab } from './record.ts'

/** The form of a request field on the command line. */
export type FieldKind =
  | 'text'
  | 'number'
  | 'time'
  | 'version'
  | 'flag'
  | 'names'
  | 'columns'
  | 'words'
  | 'assignments'
  | 'map'
  | 'rows'
  | 'json'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly required: boolean
  /** The help text, where the name does not suffice. */
  readonly note: string | undefined
  /** The schema's message for an invalid value, such as "must be Create or Overwrite". */
  readonly hint: string | undefined
}

/** The parts of a valibot schema that describe its input. */
interface Shape {
  readonly type: string
  readonly wrapped?: Shape
  readonly item?: Shape
  readonly words?: readonly string[]
  readonly entries?: Readonly<Record<string, Shape>>
  readonly message?: unknown
  readonly pipe?: readonly { readonly metadata?: { readonly format?: unknown } }[]
}

const optionalTypes = new Set(['optional', 'exact_optional', 'undefinedable', 'nullish', 'unknown', 'any'])

/** The fields of an operation's request, from its schema. */
export function fieldsOf(operation: AnyOperation): Field[] {
  const { entries = {} } = operation.request as unknown as Shape
  return Object.entries(entries).map(([name, shape]) => {
    const inner = unwrap(shape)
    const others = Object.keys(entries).filter((other) => other !== name)
    return {
      name,
      kind: kindOf(name, inner),
      required: !optionalTypes.has(shape.type),
      note:
        operation.command?.options?.[name] ??
        fieldNotes[name] ??
        phraseOf(withFlags(requestDoc(operation, name), others)),
      hint: typeof inner.message === 'string' ? inner.message : undefined,
    }
  })
}

/** A docstring with the flags of other fields that it names, such as `--from-version`. */
function withFlags(doc: string | undefined, others: readonly string[]): string | undefined {
  return doc?.replace(/`(\w+_\w+)`/g, (word, name) => (others.includes(name) ? `--${kebab(name)}` : word))
}

/** A docstring in the style of command help: `branch to work on (default: the main branch)`. */
function phraseOf(doc: string | undefined): string | undefined {
  const text = doc
    ?.replaceAll('`', '')
    .replace(/\.? Default: (.+)\.$/, ' (default: $1)')
    .replace(/\.$/, '')
  return text?.replace(/^(The |An? )?(.)(?![A-Z])/, (_, _article, first) => first.toLowerCase())
}

function unwrap(shape: Shape): Shape {
  return shape.wrapped ? unwrap(shape.wrapped) : shape
}

function kindOf(name: string, { type, item, pipe = [] }: Shape): FieldKind {
  if (pipe.some(({ metadata }) => metadata?.format === 'date-time')) return 'time'
  if (type === 'string' || type === 'picklist') return 'text'
  if (type === 'number') return 'number'
  if (type === 'boolean') return 'flag'
  if (name === 'from' || name === 'to') return 'version'
  // Names of columns or properties, not the parts of one identifier.
  if (item?.words || ((name === 'columns' || name === 'removals') && type === 'array')) return 'words'
  if (type === 'array' && item && unwrap(item).type === 'string') return 'names'
  if (name === 'columns' || name === 'on' || name === 'order_by') return 'columns'
  if (name === 'updates' && item?.type === 'strict_tuple') return 'assignments'
  // Rows, Arrow schemas and string maps have custom checks, which valibot reports as `custom`.
  if (name === 'data') return 'rows'
  if (type === 'custom' && name !== 'schema') return 'map'
  return 'json'
}

/** Help texts of fields that mean something else on the command line than in a request. */
const fieldNotes: Readonly<Record<string, string>> = {
  at: 'the version as of a time: 2026-11-01T00:00:00Z, or "1 hour ago"',
  context: 'context for the catalog; header.NAME becomes an HTTP header',
  data: 'rows: a file (Arrow IPC, Parquet, JSON, JSON lines, CSV), - for standard input, or JSON in place',
  include_declared: 'leave out tables that are only declared',
  limit: 'at most so many (default: all)',
  schema: 'columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}',
  start_after: 'with --no-recursive: begin after this name',
}

/** Fields of the protocol without use on the command line: accepted, but hidden in the help. */
export const hiddenFields = new Set(['vector', 'full_text_query', 'k', 'identity'])

/** Flags that are on by default. */
export const onByDefault = new Set(['include_declared', 'recursive'])

/** Field names and the SQL names that the command line prefers. */
const otherNames: Readonly<Record<string, string>> = {
  predicate: 'where',
  filter: 'where',
  // In a query. In `drop-columns` the field is a list of names.
  'columns:columns': 'select',
  'updates:assignments': 'set',
}

/** The preferred name of a field on the command line, if it differs. */
export function otherNameOf({ name, kind }: Pick<Field, 'name' | 'kind'>): string | undefined {
  return otherNames[`${name}:${kind}`] ?? otherNames[name]
}
