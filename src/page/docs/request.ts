/** A JSON schema, as far as a form shows it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description: string
  readonly schema: Schema
}

/** An operation of the OpenAPI document. */
export interface Operation {
  readonly operationId: string
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly 'x-tabularium-changes'?: true
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** What somebody entered for each parameter, by name. */
export type Entered = Readonly<Record<string, string>>

/** The path and query of a request. Fails with an `Error` that says what is missing. */
export function addressOf(path: string, parameters: readonly Parameter[], entered: Entered): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = entered[name] ?? ''
    if (value === '') throw new Error(`Give ${name}.`)
    // Browsers resolve `.` and `..` in a path even when they are percent-encoded.
    if (value === '.' || value === '..') throw new Error('A browser cannot ask for what is named so alone.')
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const { name, in: where } of parameters) {
    if (where === 'query' && entered[name]) query.set(name, entered[name])
  }
  const text = query.toString()
  return `${filled.replace(/^\//, '')}${text === '' ? '' : `?${text}`}`
}

/** The headers that somebody entered. */
export function headersOf(parameters: readonly Parameter[], entered: Entered): Record<string, string> {
  const given = parameters.filter(({ name, in: where }) => where === 'header' && entered[name])
  return Object.fromEntries(given.map(({ name }) => [name, entered[name]!]))
}

/** A body to begin with: the required fields, empty. */
export function bodyToBegin(schema: Schema | undefined, document: ApiDocument): string {
  return JSON.stringify(beginOf(schema ?? {}, document), undefined, 2)
}

function beginOf(schema: Schema, document: ApiDocument): unknown {
  const { type, enum: words, anyOf, properties = {}, required = [] } = resolved(schema, document)
  if (words) return words[0]
  if (anyOf) return beginOf(anyOf[0] ?? {}, document)
  if (type === 'array') return []
  if (type === 'string') return ''
  if (type === 'integer' || type === 'number') return 0
  if (type === 'boolean') return false
  return Object.fromEntries(required.map((name) => [name, beginOf(properties[name] ?? {}, document)]))
}

function resolved(schema: Schema, { components }: ApiDocument): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (components.schemas[name] ?? {})
}

/** The words to choose from, for a parameter that takes few. */
export function choicesOf({ type, enum: words }: Schema): readonly string[] | undefined {
  if (words) return words.map(String)
  return type === 'boolean' ? ['true', 'false'] : undefined
}
