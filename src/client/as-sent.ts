import type { AnyOperation } from '../catalog/operations/framework/operation.ts'

type Schema = AnyOperation['request']

/**
 * A checked request as the caller wrote it, without nulls and without the defaults that the check filled in. A server
 * has its own defaults, and may not know these fields.
 */
export function asSent(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { entries, item, wrapped } = schema as {
    entries?: Readonly<Record<string, Schema>>
    item?: Schema
    wrapped?: Schema
  }
  if (wrapped !== undefined) return asSent(wrapped, value)
  if (item !== undefined && Array.isArray(value)) {
    // A pipe may validate the list first and its items in a later step.
    const items = itemOfPipe(schema) ?? item
    return value.map((member) => asSent(items, member))
  }
  if (entries === undefined) return value
  const sent: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const entry = entries[name]
    if (member === undefined || member === null || (entry !== undefined && isDefault(entry, member))) continue
    sent[name] = entry === undefined ? member : asSent(entry, member)
  }
  return sent
}

function itemOfPipe(schema: Schema): Schema | undefined {
  const { pipe = [] } = schema as { pipe?: readonly { item?: Schema }[] }
  return pipe.slice(1).find(({ item }) => item !== undefined)?.item
}

function isDefault(entry: Schema, member: unknown): boolean {
  const { default: given } = entry as { readonly default?: unknown }
  return given !== undefined && given === member
}
