import type { Field } from './fields.ts'
import { toNumber } from './options.ts'
import type { AnyOperation } from './record.ts'
import { readIdentifier, type Typed } from './request.ts'

/** What was typed for each field, by option or by place. */
export function typedOf(
  { command }: AnyOperation,
  fields: readonly Field[],
  attributes: ReadonlyMap<string, string>,
  options: Readonly<Record<string, unknown>>,
  positional: readonly string[],
  rest: readonly unknown[],
  delimiter: string,
): Typed {
  const typed: Record<string, unknown> = {}
  for (const { name } of fields) {
    const attribute = attributes.get(name)
    if (attribute !== undefined) typed[name] = options[attribute]
  }
  for (const [place, name] of positional.entries()) {
    const text = rest[place] as string | undefined
    if (text !== undefined) Object.assign(typed, placed(command, fields, name, text, delimiter))
  }
  if (command?.rootByDefault) typed.id ??= delimiter
  return typed
}

function placed(
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

/** Listings answer with identifiers in string form: joined as they are typed. */
export function joinedBy(
  operation: AnyOperation,
  request: Readonly<Record<string, unknown>>,
  delimiter: string,
) {
  return 'delimiter' in operation.request.entries ? { ...request, delimiter } : request
}
