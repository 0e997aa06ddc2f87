import type { CommandNotes } from './commands.ts'
import type { Field } from './fields.ts'
import { toNumber } from './options.ts'
import type { AnyOperation } from './record.ts'
import { readIdentifier, type Typed } from './request.ts'

/** What was typed for each field, by option or by place. */
export function typedOf(
  fields: readonly Field[],
  attributes: ReadonlyMap<string, string>,
  options: Readonly<Record<string, unknown>>,
  positional: readonly string[],
  rest: readonly unknown[],
  notes: CommandNotes,
  delimiter: string,
): Typed {
  const typed: Record<string, unknown> = {}
  for (const { name } of fields) {
    const attribute = attributes.get(name)
    if (attribute !== undefined) typed[name] = options[attribute]
  }
  for (const [place, name] of positional.entries()) {
    const text = rest[place] as string | undefined
    if (text !== undefined) Object.assign(typed, placed(fields, name, text, delimiter))
  }
  if (notes.rootByDefault) typed.id ??= delimiter
  return typed
}

function placed(fields: readonly Field[], name: string, text: string, delimiter: string): Typed {
  if (name === 'new_table_name') {
    const names = readIdentifier(text, delimiter)
    if (names.length < 2) return { [name]: text }
    return { [name]: names.at(-1), new_namespace_id: names.slice(0, -1).join(delimiter) }
  }
  const { kind } = fields.find((field) => field.name === name)!
  return { [name]: kind === 'number' ? toNumber(text) : text }
}

/** Listings answer with identifiers in string form: joined as they are typed. */
export function joinedBy(
  operation: AnyOperation,
  request: Readonly<Record<string, unknown>>,
  delimiter: string,
) {
  return 'delimiter' in operation.request.entries ? { ...request, delimiter } : request
}
