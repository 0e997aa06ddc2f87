import { toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { stringMap } from '../../model/fields.ts'

/** A JSON schema, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * The JSON schemas, by name, for the input or the output of a schema: the schema itself under `name`, and its parts
 * that refer to themselves. JSON Schema cannot express all checks, so the description is a little wider than what
 * is accepted.
 */
export function schemasOf(
  schema: GenericSchema,
  name: string,
  side: 'input' | 'output',
  docOf: (field: string) => string | undefined,
): Record<string, JsonSchema> {
  const made = toJsonSchema(schema, {
    // The input side of a pipe ends at its first transformation, though the checks before that may be vague.
    typeMode: side === 'input' ? 'ignore' : 'output',
    target: 'draft-2020-12',
    errorMode: 'ignore',
    // The map of strings is the only schema in JSON requests and responses that is written by hand.
    overrideSchema: ({ valibotSchema }) =>
      valibotSchema === (stringMap.pipe[0] as unknown)
        ? { type: 'object', additionalProperties: { type: 'string' } }
        : undefined,
  })
  const { $schema: _, $defs, ...own } = described(placed(made as JsonSchema, name), docOf)
  const parts = Object.entries(($defs ?? {}) as Readonly<Record<string, JsonSchema>>)
  return { [name]: own, ...Object.fromEntries(parts.map(([part, made]) => [partName(name, part), made])) }
}

/** The schema, in which each property says what it is for. */
function described<T>(schema: T, docOf: (field: string) => string | undefined): T {
  if (Array.isArray(schema)) return schema.map((item) => described(item, docOf)) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).map(([name, member]) => {
    if (name !== 'properties') return [name, described(member, docOf)]
    return [
      name,
      Object.fromEntries(
        Object.entries(member as Readonly<Record<string, JsonSchema>>).map(([field, property]) => {
          const inside = described(property, docOf)
          const texts = [docOf(field), inside.description].filter((text) => text !== undefined)
          return [field, texts.length === 0 ? inside : { ...inside, description: texts.join(' ') }]
        }),
      ),
    ]
  })
  return Object.fromEntries(members) as T
}

/** The schema, with references to the places of the parts. */
function placed(schema: JsonSchema, name: string): JsonSchema {
  const text = JSON.stringify(schema).replace(
    /"#\/\$defs\/(\w+)"/g,
    (_, part) => `"#/components/schemas/${partName(name, part)}"`,
  )
  return JSON.parse(text)
}

function partName(name: string, part: string): string {
  return `${name}Part${part}`
}

/** The schema of an object, without some of its properties. */
export function withoutFields(schema: JsonSchema, fields: readonly string[]): JsonSchema {
  const gone = new Set(fields)
  const {
    properties = {},
    required = [],
    ...rest
  } = schema as {
    properties?: Readonly<Record<string, JsonSchema>>
    required?: readonly string[]
  }
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !gone.has(name))),
    // The path has the field, so the body need not repeat it.
    required: required.filter((name) => !gone.has(name) && name !== 'id'),
  }
}
