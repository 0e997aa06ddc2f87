import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { moment, requestFields, responseFields, stringMap, tableVersion } from '../src/base/model/fields.ts'
import type { AnyOperation } from '../src/catalog/operations/framework/operation.ts'
import { operations } from '../src/catalog/operations/index.ts'
import { requestDoc, responseDoc } from '../src/catalog/operations/types/field-docs.ts'
import { dataType } from '../src/catalog/rows/columns.ts'
import { rowsInput, schemaInput, streamedRowsInput } from '../src/catalog/rows/input.ts'

/*
 * Writes the types of all requests, responses and methods, as interfaces: types that are inferred of schemas have no
 * documentation in editors, and none at all in published declarations. The file is not under version control.
 */

/** The parts of a valibot schema that determine its type. */
interface Schema {
  readonly type: string
  readonly entries?: Readonly<Record<string, Schema>>
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly value?: Schema
  readonly items?: readonly Schema[]
  readonly options?: readonly (string | Schema)[]
  readonly words?: readonly string[]
  readonly alternatives?: readonly Schema[]
  readonly pipe?: readonly (Schema & { readonly kind: string })[] | undefined
}

type Side = 'request' | 'response'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The file that the build writes, and Git ignores. */
export const typesFile = 'src/catalog/operations/types/methods.ts'
const definitions = Object.values(operations).map(({ definition }) => definition as unknown as AnyOperation)

const { columns, order_by, vector } = operations.queryTable.definition.request.entries

/** The types of schemas that are functions, or allow more than they say. Other types are found by field name below. */
const known = new Map<unknown, string>([
  [columns, 'readonly string[] | ColumnSelection | null'],
  [order_by, 'readonly OrderKey[] | null'],
  [vector, 'VectorInput | null'],
  [moment, 'string | Date'],
  [stringMap.pipe[0], 'Readonly<Record<string, string>>'],
  [rowsInput, 'RowsInput'],
  [streamedRowsInput, 'RowsInput | RowsSource'],
  [schemaInput.wrapped, 'SchemaInput'],
  [tableVersion, 'TableVersion'],
  [dataType, 'JsonArrowType | string'],
])

const byField: Readonly<Record<string, string>> = {
  'updateFieldMetadata.request.metadata': 'Readonly<Record<string, string | null>>',
  'alterTableAddColumns.request.virtual_column': 'Readonly<Record<string, unknown>> | null',
  'queryTable.response.data': 'Uint8Array',
  'tableChanges.response.data': 'Uint8Array',
  'fetchTableBlobs.response.data': 'Uint8Array',
  'describeTable.response.schema': 'JsonArrowSchema',
}

const head = `import type { OperationOptions } from '../framework/operation.ts'
import type { ColumnSelection, JsonArrowSchema, JsonArrowType, OrderKey, RowsInput, RowsSource, SchemaInput, VectorInput } from './inputs.ts'

/*
 * What each operation takes and answers with, and the methods of a handle. build/operation-types.ts writes this file,
 * from the definitions of the operations and from field-docs.ts.
 */

export type * from './inputs.ts'`

/** What {@link typesFile} should hold. */
export function operationTypes(): string {
  const docs = docsOfOperations()
  const any = { name: '' } as AnyOperation
  const parts = [
    `${comment('What every request may have.')}
export interface RequestFields ${objectType({ type: 'object', entries: requestFields as never }, any, 'request')}`,
    `${comment('What every answer may have.')}
export interface ResponseFields ${objectType({ type: 'object', entries: responseFields as never }, any, 'response')}`,
    `${comment('A version of a table.')}
export interface TableVersion ${objectType(tableVersion as never, { ...any, name: 'listTableVersions' }, 'response')}`,
    ...definitions.flatMap((definition) => [
      interfaceOf(definition, 'request'),
      interfaceOf(definition, 'response'),
    ]),
  ]
  const methods = definitions.map(
    ({ name, summary }) =>
      `${docs.get(name) ?? comment(summary)}
readonly ${name}: (request: ${title(name)}Request, options?: OperationOptions) => Promise<${title(name)}Response>`,
  )
  return indented(`${head}

${parts.join('\n\n')}

/** Every operation as a method: \`catalog.renameTable(request)\` is \`renameTable(catalog, request)\`. */
export interface OperationMethods {
${methods.join('\n\n')}
}
`)
}

function interfaceOf(operation: AnyOperation, side: Side): string {
  const schema = operation[side] as unknown as Schema
  const what =
    side === 'request' ? `What \`${operation.name}\` takes.` : `What \`${operation.name}\` answers with.`
  const { own, inherits } = withoutShared(schema, side)
  const from = inherits ? ` extends ${title(side)}Fields` : ''
  return `${comment(what)}
export interface ${title(operation.name)}${title(side)}${from} ${objectType(own, operation, side)}`
}

/** A schema without the common fields of all requests or all responses. */
function withoutShared(schema: Schema, side: Side): { own: Schema; inherits: boolean } {
  const shared: object = side === 'request' ? requestFields : responseFields
  const entries = Object.entries(schema.entries ?? {})
  const own = entries.filter(([name, entry]) => (shared as Record<string, unknown>)[name] !== entry)
  const inherits = entries.length - own.length === Object.keys(shared).length
  return inherits
    ? { own: { ...schema, entries: Object.fromEntries(own) }, inherits }
    : { own: schema, inherits }
}

function objectType({ entries = {}, type }: Schema, operation: AnyOperation, side: Side): string {
  const members = Object.entries(entries).map(([name, entry]) => {
    const doc = (side === 'request' ? requestDoc : responseDoc)(operation, name)
    const { optional, text } = fieldType(entry, operation, side, name)
    const readonly = side === 'request' ? 'readonly ' : ''
    return `${doc === undefined ? '' : `${comment(doc)}\n`}${readonly}${name}${optional ? '?' : ''}: ${text}${optional ? ' | undefined' : ''}`
  })
  if (type === 'loose_object' && side === 'request') members.push('readonly [field: string]: unknown')
  return `{\n${members.join('\n')}\n}`
}

function fieldType(
  schema: Schema,
  operation: AnyOperation,
  side: Side,
  name: string,
): { optional: boolean; text: string } {
  const optional = ['optional', 'nullish', 'exact_optional', 'undefinedable'].includes(schema.type)
  return { optional, text: typeOf(schema, operation, side, name) }
}

function typeOf(schema: Schema, operation: AnyOperation, side: Side, name: string): string {
  const at = `${operation.name}.${side}.${name}`
  if (byField[at] !== undefined) return byField[at]
  const inside = (inner: Schema) => typeOf(inner, operation, side, name)
  const { type, wrapped, pipe, entries, item, items, value, options, words, alternatives } = schema
  if (known.has(schema)) return known.get(schema)!
  if (words !== undefined)
    return [...words.map((word) => `'${word}'`), ...(side === 'request' ? ['(string & {})'] : [])].join(' | ')
  if (wrapped !== undefined) {
    const inner = inside(wrapped)
    return /nullish|nullable/.test(type) && !/\| null$/.test(inner) ? `${inner} | null` : inner
  }
  if (pipe !== undefined) {
    // A pipe may check a list first and its items later.
    const schemas = pipe.filter(({ kind }) => kind === 'schema')
    const typed = schemas.findLast(({ item }) => item !== undefined) ?? schemas[0]!
    return inside(typed === schema ? { ...typed, pipe: undefined } : typed)
  }
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'unknown') return type
  if (alternatives !== undefined) return alternatives.map(inside).join(' | ')
  if (type === 'union') return options!.map((option) => inside(option as Schema)).join(' | ')
  if (type === 'picklist') return options!.map((option) => `'${option}'`).join(' | ')
  if (entries !== undefined) {
    const named = nameOf(schema, operation, side)
    return named ?? objectType({ ...schema, type: 'object' }, operation, side)
  }
  if (item !== undefined) {
    const inner = inside(item)
    const items = /[|&]|^readonly/.test(inner) && !inner.startsWith('{') ? `(${inner})` : inner
    return `${side === 'request' ? 'readonly ' : ''}${items}[]`
  }
  if (items !== undefined) {
    return `${side === 'request' ? 'readonly ' : ''}[${items.map(inside).join(', ')}]`
  }
  if (value !== undefined) return `Record<string, ${inside(value)}>`
  throw new Error(`${at} has a schema of type ${type}. Say its TypeScript type in ${import.meta.url}.`)
}

/** The interface of another operation with the same schema, as in batches. */
function nameOf(schema: Schema, { name }: AnyOperation, side: Side): string | undefined {
  const other = definitions.find((other) => other.name !== name && (other[side] as unknown) === schema)
  return other && `${title(other.name)}${title(side)}`
}

/** The docstring above each operation in its file. */
function docsOfOperations(): ReadonlyMap<string, string> {
  const folder = join(root, 'src/catalog/operations')
  const found = readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const source = readFileSync(join(folder, file), 'utf8')
      return [...source.matchAll(/^(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\nexport const (\w+) = operation\(/gm)]
    })
  return new Map(found.map(([, doc, name]) => [name!, doc!]))
}

function comment(text: string): string {
  return `/** ${text} */`
}

function title(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1)
}

/** Indents each line by the braces that are open before it. */
function indented(text: string): string {
  let depth = 0
  let inComment = false
  const lines = text.split('\n').map((line) => {
    const code = line.trim()
    if (code.startsWith('/*')) inComment = true
    // Lines of comments begin with an asterisk below the first one of `/**`, and keep what is indented behind it.
    if (inComment) {
      if (code.endsWith('*/')) inComment = false
      return `${'  '.repeat(depth)}${code.startsWith('/*') ? '' : ' '}${code}`
    }
    if (code.startsWith('}')) depth--
    const indent = code === '' ? '' : '  '.repeat(depth)
    if (code.endsWith('{')) depth++
    return indent + code
  })
  return lines.join('\n')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path, should] = [join(root, typesFile), operationTypes()]
  if (!existsSync(path) || readFileSync(path, 'utf8') !== should) writeFileSync(path, should)
}
