import { hintFor, requestDoc } from '../../catalog/index.ts'
import { type JsonSchema, schemaOf, withoutNull } from '../../server/pages/openapi-schemas.ts'
import { CatalogError, type OperationName, operations } from '../../tabularium/index.ts'
import type { AnyOperation } from '../record.ts'

/** A tool that runs an operation. */
export interface Tool {
  readonly name: string
  readonly operation: AnyOperation
  readonly description: string
  readonly inputSchema: ToolSchema
  /** What the operation gets where the caller says nothing else. */
  readonly defaults: Readonly<Record<string, unknown>>
}

export interface ToolSchema {
  readonly [keyword: string]: unknown
  readonly type: 'object'
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
}

/** What a model needs to know of an operation besides its summary. */
interface Notes {
  readonly about?: string
  readonly defaults?: Readonly<Record<string, unknown>>
}

const predicates =
  "Predicates are SQL, such as `delay > 60 AND origin IN ('SFO', 'OAK')`: comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CAST and functions, without aggregates and subqueries."

/** The operations that are tools, in the order in which clients show them. Their names follow from those here. */
const offered: { readonly [Name in OperationName]?: Notes } = {
  listNamespaces: { about: 'Answers with the names directly below.' },
  listTables: { about: 'Answers with their identifiers.' },
  describeTable: {
    about: 'Answers with its columns and their types, its latest version, and its properties.',
    defaults: { load_detailed_metadata: true },
  },
  queryTable: {
    about: `Answers with rows as JSON; \`more\` tells that there are others, from \`next_offset\`. ${predicates}`,
  },
  countTableRows: { about: predicates },
  tableChanges: {
    about:
      '`_change_type` tells how each changed. Give `on`, columns that tell rows apart, for updates to be known.',
  },
  getTableStats: {},
  listTableVersions: {
    about: 'This is its history, the latest version first, with what made each.',
    defaults: { descending: true, with_transactions: true },
  },
  listTableTags: {},
  listTableBranches: {},
  createNamespace: {},
  createTable: {},
  insertIntoTable: {},
  updateTable: { about: predicates },
  mergeInsertIntoTable: {},
  deleteFromTable: { about: predicates },
  alterTableAddColumns: {},
  alterTableAlterColumns: {},
  alterTableDropColumns: {},
  updateTableSchemaMetadata: {},
  updateTableProperties: {},
  updateNamespaceProperties: {},
  renameTable: {},
  restoreTable: {},
  createTableTag: {},
  updateTableTag: {},
  deleteTableTag: {},
  createTableBranch: {},
  deleteTableBranch: {},
  dropTable: {},
  dropNamespace: {},
}

/** Fields that are not for a model: who asks, what this command decides, and what only other clients need. */
const hidden: ReadonlySet<string> = new Set([
  'identity',
  'context',
  'delimiter',
  'start_after',
  'storage_options',
  'vend_credentials',
  'check_declared',
  'with_table_uri',
  'full_text_query',
  'k',
  'timeout',
  'use_index',
])

/** Fields whose form here is not that of other callers. */
const forms: Readonly<Record<string, JsonSchema>> = {
  limit: {
    type: 'integer',
    description: 'The most rows or items. Default: 100. Longer answers are cut.',
  },
  data: {
    type: 'array',
    items: { type: 'object' },
    description:
      'The rows: objects with a member for each column. Dates and times are ISO 8601 text, bytes base64, and large integers and decimals may be text.',
  },
  schema: {
    type: 'object',
    description:
      'The columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}. Default: those of the table, or inferred from the rows.',
  },
}

/** The tools of operations, with those that change something only for `writes`. */
export function toolsFor(writes: boolean): readonly Tool[] {
  return Object.entries(offered).flatMap(([name, notes]) => {
    const operation: AnyOperation = operations[name as OperationName].definition
    return operation.changes && !writes ? [] : [toolOf(operation, notes)]
  })
}

function toolOf(operation: AnyOperation, { about, defaults = {} }: Notes): Tool {
  const { properties, required = [] } = schemaOf(operation.request, {
    side: 'input',
    isClosed: true,
    docOf: (field) => requestDoc(operation, field),
  }) as { properties: Readonly<Record<string, JsonSchema>>; required?: readonly string[] }
  const shown = Object.entries(properties).filter(([field]) => !hidden.has(field))
  return {
    name: toolName(operation.name),
    operation,
    description: about === undefined ? operation.summary : `${operation.summary} ${about}`,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        shown.map(([field, schema]) => [
          field,
          forms[field] ?? withDefault(shortened(schema), defaults[field]),
        ]),
      ),
      required,
      additionalProperties: false,
    },
    defaults,
  }
}

/** What operations check in any case. A model reads shorter schemas faster. */
const leftOut: ReadonlySet<string> = new Set([
  'pattern',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'maxProperties',
])

function shortened(schema: JsonSchema): JsonSchema {
  const short = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/ Not part of the protocol\.$/, '')
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(short)
    const members = Object.entries(withoutNull(value as JsonSchema))
    return Object.fromEntries(
      members.filter(([name]) => !leftOut.has(name)).map(([name, member]) => [name, short(member)]),
    )
  }
  return short(schema) as JsonSchema
}

function withDefault(schema: JsonSchema, byDefault: unknown): JsonSchema {
  if (byDefault === undefined) return schema
  const { description } = schema as { description?: string }
  const text = description?.replace(/ ?Default: [^.]*\./, '')
  return { ...schema, default: byDefault, ...(text !== undefined && { description: text }) }
}

/** `countTableRows` as a tool: `count_table_rows`. */
export function toolName(operation: string): string {
  return operation.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Refuses an argument that a tool does not have. The operation judges the others. */
export function checkArguments(
  name: string,
  { properties }: Pick<ToolSchema, 'properties'>,
  given: Readonly<Record<string, unknown>>,
): void {
  const fields = Object.keys(properties)
  const unknown = Object.keys(given).find((field) => !fields.includes(field))
  if (unknown === undefined) return
  const hint = fields.length === 0 ? 'It takes none.' : hintFor(unknown, fields, 'arguments')
  throw new CatalogError(
    'InvalidInput',
    `${name} has no argument ${JSON.stringify(unknown.slice(0, 64))}. ${hint}`,
  )
}
