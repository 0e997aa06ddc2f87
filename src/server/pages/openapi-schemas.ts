import { toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'

/** A JSON schema, as OpenAPI 3.1 takes it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type Properties = Readonly<Record<string, JsonSchema>>

interface SchemaOptions {
  /** `input` for requests, `output` for responses. */
  readonly side: 'input' | 'output'
  /** Whether objects have no other fields than the listed ones. */
  readonly isClosed: boolean
  readonly docOf: (field: string) => string | undefined
}

/**
 * The JSON schema of a valibot schema. JSON Schema cannot express all checks, so the schemas of requests allow slightly
 * more than the server accepts.
 */
export function schemaOf(schema: GenericSchema, options: SchemaOptions): JsonSchema {
  return described(simplified(converted(schema, options.side), options), options.docOf) as JsonSchema
}

function converted(schema: GenericSchema, side: SchemaOptions['side']): JsonSchema {
  const {
    $schema: _,
    $defs: __,
    ...own
  } = toJsonSchema(schema, {
    // 'ignore' for requests: 'input' would stop a pipe at its first transformation, and miss later checks.
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

/** The schema in a form that tools support: no empty keywords, arrays of strings instead of tuples, closed objects. */
function simplified(schema: unknown, options: SchemaOptions): unknown {
  if (Array.isArray(schema)) return schema.map((item) => simplified(item, options))
  if (typeof schema !== 'object' || schema === null) return schema
  const { exactlyOne, prefixItems, ...rest } = schema as JsonSchema
  // Code generators treat a field with a default as required.
  if (options.side === 'input') delete (rest as { default?: unknown }).default
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
            Object.entries(member as Properties).map(([field, one]) => [field, simplified(one, options)]),
          )
        : simplified(member, options),
    ]),
  )
  if (exactlyOne === true) return withExactlyOne(members)
  const isObject = members.properties !== undefined && members.additionalProperties === undefined
  return options.side === 'input' && options.isClosed && isObject
    ? { ...members, additionalProperties: false }
    : members
}

/** An object with exactly one of its fields. */
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

/** The schema without null. */
export function withoutNull(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const others = anyOf.filter(({ type }) => type !== 'null')
  return others.length === 1 ? { ...others[0], ...rest } : { ...rest, anyOf: others }
}

/** The schema, with a description for each property. */
function described(schema: unknown, docOf: SchemaOptions['docOf']): unknown {
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
 * The schema of a JSON body, from that of the request. `without` are fields that are not in the body. `ignored` are
 * fields that are accepted without effect. When the path has the identifier, the body may leave it out.
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
  const accepted = ignored.map((name) => [name, { description: 'Taken, and changes nothing here.' }])
  return {
    ...rest,
    properties: Object.fromEntries([...accepted, ...fields]),
    ...(inBody.length > 0 && { required: inBody }),
  }
}

export interface OpenApiOperation {
  /** Whether it changes the catalog. Absent for what only reads. */
  readonly 'x-tabularium-changes'?: true
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description: string
    readonly schema: JsonSchema
  }[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>
}

/** Bodies by their content type. */
export type Content = Readonly<
  Record<string, { readonly schema: JsonSchema; readonly [extension: `x-${string}`]: unknown }>
>
