import { requestDoc } from '../catalog/operations/types/field-docs.ts'
import { fieldNotes } from './field-notes.ts'
import type { AnyOperation } from './record.ts'

/** How the command line writes a field of a request. */
export type FieldKind = 'text' | 'number' | 'flag' | 'names' | 'columns' | 'words' | 'map' | 'rows' | 'json'

export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly required: boolean
  /** What it is for, where its name does not say so. */
  readonly note: string | undefined
  /** What the schema says a value must be, such as "must be Create or Overwrite". */
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
}

const optionalTypes = new Set(['optional', 'exact_optional', 'undefinedable', 'nullish', 'unknown', 'any'])

/** The fields of an operation's request, from its schema. */
export function fieldsOf(operation: AnyOperation): Field[] {
  const { entries = {} } = operation.request as unknown as Shape
  return Object.entries(entries).map(([name, shape]) => {
    const inner = unwrap(shape)
    return {
      name,
      kind: kindOf(name, inner),
      required: !optionalTypes.has(shape.type),
      note: operation.command?.options?.[name] ?? fieldNotes[name] ?? phraseOf(requestDoc(operation, name)),
      hint: typeof inner.message === 'string' ? inner.message : undefined,
    }
  })
}

/** What a field is for, as helps of commands are written: `branch to work on (default: the main branch)`. */
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

function kindOf(name: string, { type, item }: Shape): FieldKind {
  if (type === 'string' || type === 'picklist') return 'text'
  if (type === 'number') return 'number'
  if (type === 'boolean') return 'flag'
  // Names of columns, not the names of one identifier.
  if (item?.words || (name === 'columns' && type === 'array')) return 'words'
  if (type === 'array' && item && unwrap(item).type === 'string') return 'names'
  if (name === 'columns' || name === 'on' || name === 'order_by') return 'columns'
  // Rows and Arrow schemas are checked by functions of their own, as maps of strings are.
  if (name === 'data') return 'rows'
  if (type === 'custom' && name !== 'schema') return 'map'
  return 'json'
}
