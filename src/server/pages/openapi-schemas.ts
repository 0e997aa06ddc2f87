import { toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'

/** A JSON schema, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Properties = Readonly<Record<string, JsonSchema>>

interface Made {
  /** Requests are schemas of what goes in, and responses of what comes out. */
  readonly side: 'input' | 'output'
  /** Whether objects have the fields that are listed, and no others. */
  readonly isClosed: boolean
  readonly docOf: (field: string) => string | undefined
}

/**
 * The JSON schema of a schema. JSON Schema cannot express all checks, so the description of requests is a little wider
 * than what is accepted.
 */
export function schemaOf(schema: GenericSchema, made: Made): JsonSchema {
  return described(plain(converted(schema, made.side), made), made.docOf) as JsonSchema
}

function converted(schema: GenericSchema, side: Made['side']): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...own
  } = toJsonSchema(schema, {
    // The input side of a pipe ends at its first transformation, though the checks before that may be vague.
    typeMode: side === 'input' ? 'ignore' : 'output',
    target: 'draft-2020-12',
    errorMode: 'ignore',
    overrideSchema({ valibotSchema, jsonSchema }) {
      if (valibotSchema.type === 'loose_object') return { ...jsonSchema, additionalProperties: true }
      const { alternatives } = valibotSchema as { alternatives?: readonly GenericSchema[] }
      return alternatives && { anyOf: alternatives.map((one) => converted(one, side)) }
    },
  }) as JsonSchema
  return own
}

/**
 * The same schema as tools understand it: without what says nothing, with lists of texts in place of tuples of texts,
 * and with objects that are closed.
 */
function plain(schema: unknown, made: Made): unknown {
  if (Array.isArray(schema)) return schema.map((item) => plain(item, made))
  if (typeof schema !== 'object' || schema === null) return schema
  const { exactlyOne, prefixItems, ...rest } = schema as JsonSchema
  // Generators take what has a default as required.
  if (made.side === 'input') delete (rest as { default?: unknown }).default
  if (Array.isArray(rest.required) && rest.required.length === 0)
    delete (rest as { required?: unknown }).required
  if (Array.isArray(prefixItems)) {
    Object.assign(rest, { items: prefixItems[0], minItems: prefixItems.length, maxItems: prefixItems.length })
  }
  const members = Object.fromEntries(
    Object.entries(rest).map(([name, member]) => [
      name,
      name === 'properties'
        ? Object.fromEntries(
            Object.entries(member as Properties).map(([field, one]) => [field, plain(one, made)]),
          )
        : plain(member, made),
    ]),
  )
  if (exactlyOne === true) return withExactlyOne(members)
  const isObject = members.properties !== undefined && members.additionalProperties === undefined
  return made.side === 'input' && made.isClosed && isObject
    ? { ...members, additionalProperties: false }
    : members
}

/** An object that has one of its fields and no other. */
function withExactlyOne({ properties, ...rest }: Record<string, unknown>): JsonSchema {
  const fields = Object.entries(properties as Properties).map(
    ([name, field]) => [name, withoutNull(field)] as const,
  )
  return {
    ...rest,
    properties: Object.fromEntries(fields),
    oneOf: fields.map(([name]) => ({ required: [name] })),
    additionalProperties: false,
  }
}

/** The schema of a value that is there. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const others = anyOf.filter(({ type }) => type !== 'null')
  return others.length === 1 ? { ...others[0], ...rest } : { ...rest, anyOf: others }
}

/** The schema, in which each property says what it is for. */
function described(schema: unknown, docOf: Made['docOf']): unknown {
  if (Array.isArray(schema)) return schema.map((item) => described(item, docOf))
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).map(([name, member]) => {
    if (name !== 'properties') return [name, described(member, docOf)]
    const fields = Object.entries(member as Properties).map(([field, property]) => {
      const inside = described(property, docOf) as JsonSchema
      const texts = [docOf(field), inside.description].filter((text) => text !== undefined)
      return [field, texts.length === 0 ? inside : { ...inside, description: texts.join(' ') }]
    })
    return [name, Object.fromEntries(fields)]
  })
  return Object.fromEntries(members)
}

/**
 * The schema of a JSON body, from that of the whole request: `without` are fields that JSON cannot carry, and `ignored`
 * those that are taken and change nothing. A path that has the identifier says which one is meant, so the body need not.
 */
export function bodyOf(
  schema: JsonSchema,
  without: readonly string[],
  ignored: readonly string[],
  hasPathId: boolean,
): JsonSchema {
  const {
    properties = {},
    required = [],
    ...rest
  } = schema as {
    properties?: Properties
    required?: readonly string[]
  }
  const kept = Object.entries(properties).filter(([name]) => !without.includes(name))
  const fields = kept.map(([name, field]) => {
    if (name !== 'id' || !hasPathId) return [name, field]
    const { minItems: _, ...id } = field
    return [name, { ...id, description: 'The same as in the path; it may be left out, or empty.' }]
  })
  const inBody = required.filter((name) => !without.includes(name) && (name !== 'id' || !hasPathId))
  const taken = ignored.map((name) => [name, { description: 'Taken, and changes nothing here.' }])
  return {
    ...rest,
    properties: Object.fromEntries([...taken, ...fields]),
    ...(inBody.length > 0 && { required: inBody }),
  }
}
