import * as v from 'valibot'
import { type OperationName, operations } from '../../src/catalog/operations/index.ts'
import type { Draw } from './draw.ts'
import { aliasesAt, expressionAt, orderAt, predicateAt } from './large-expressions.ts'

/* Random requests that are valid by the schema of each operation, with fields sometimes at their bounds. */

/** The names that requests may use. */
export interface World {
  readonly tables: readonly (readonly string[])[]
  readonly namespaces: readonly (readonly string[])[]
  /** Columns of all tables. */
  readonly columns: { readonly numbers: readonly string[]; readonly texts: readonly string[] }
  /** Rows that fit the tables. */
  readonly data: Uint8Array
}

type Schema = v.GenericSchema & {
  readonly entries?: Readonly<Record<string, Schema>>
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly items?: readonly Schema[]
  readonly value?: Schema
  readonly options?: readonly (Schema | string)[]
  readonly pipe?: readonly { readonly type: string; readonly requirement?: unknown }[]
}

/** A valid request of an operation. */
export function validRequest(
  name: OperationName,
  world: World,
  draw: Draw,
): Readonly<Record<string, unknown>> {
  const { request } = operations[name].definition as unknown as { readonly request: Schema }
  for (let attempt = 0; ; attempt++) {
    const drawn = fieldsOf(request, name, world, draw, attempt) as Record<string, unknown>
    if (v.safeParse(request, drawn).success) return drawn
    if (attempt === 50) {
      const { issues } = v.safeParse(request, drawn)
      throw new Error(`No request of ${name} could be drawn: ${issues?.[0]?.message}`)
    }
  }
}

/** Fields that usually name something that does not exist. */
const rare = new Set([
  'version',
  'tag',
  'branch',
  'source_version',
  'source_tag',
  'source_branch',
  'from_branch',
  'from_version',
  'full_text_query',
  'vector_column',
  'schema',
  'start_after',
  'context',
])

/** The members of an object. Leaves out optional members after some attempts. */
function fieldsOf(schema: Schema, name: string, world: World, draw: Draw, attempt: number): unknown {
  const made: Record<string, unknown> = {}
  for (const [field, of] of Object.entries(schema.entries ?? {})) {
    const isOptional = of.type === 'optional' || of.type === 'nullish' || of.type === 'nullable'
    if (isOptional && (attempt > 20 || draw.chance(rare.has(field) ? 0.95 : 0.5))) continue
    const value = drawValue(of, field, name, world, draw, attempt)
    if (value !== undefined) made[field] = value
  }
  return made
}

function drawValue(
  schema: Schema,
  field: string,
  name: string,
  world: World,
  draw: Draw,
  attempt: number,
): unknown {
  const known = knownFields[field]
  if (known !== undefined) return known(world, draw, name)
  const again = (inner: Schema) => drawValue(inner, field, name, world, draw, attempt)
  switch (schema.type) {
    case 'optional':
    case 'nullish':
    case 'nullable':
      return again(schema.wrapped!)
    case 'object':
    case 'strict_object':
    case 'loose_object':
      return fieldsOf(schema, name, world, draw, attempt)
    case 'array': {
      const most = boundOf(schema, 'max_length') ?? 1_000
      const length = Math.max(boundOf(schema, 'min_length') ?? 1, draw.countUpTo(Math.min(most, 10_000)))
      return Array.from({ length }, () => again(schema.item!))
    }
    case 'strict_tuple':
      return schema.items!.map(again)
    case 'record':
      return Object.fromEntries(
        Array.from({ length: draw.countUpTo(1_000) }, (_, i) => [`k${i}`, again(schema.value!)]),
      )
    case 'boolean':
      return draw.chance(0.5)
    case 'number': {
      const least = boundOf(schema, 'min_value') ?? 0
      const most = boundOf(schema, 'max_value') ?? Number.MAX_SAFE_INTEGER
      return draw.oneOf([least, Math.min(most, least + 1), Math.min(most, 1_000), most])
    }
    case 'string':
      return textUpTo(Math.min(boundOf(schema, 'max_length') ?? 255, 4_096), draw)
    case 'union':
      return again(draw.oneOf(schema.options as readonly Schema[]))
    case 'picklist':
      return draw.oneOf(schema.options!)
    default:
      return undefined
  }
}

function boundOf({ pipe = [] }: Schema, type: string): number | undefined {
  const found = pipe.find((action) => action.type === type)?.requirement
  return typeof found === 'number' ? found : undefined
}

function textUpTo(most: number, draw: Draw): string {
  const text = draw.oneOf(['x', 'ä', '😀', 'name', '漢'])
  return text.repeat(Math.max(1, Math.floor(draw.countUpTo(most) / Buffer.byteLength(text))))
}

function mapAt(draw: Draw): Record<string, string> {
  const entries = draw.oneOf([0, 1, 1_000])
  const size = entries === 0 ? 0 : Math.floor(65_536 / entries) - 8
  return Object.fromEntries(
    Array.from({ length: entries }, (_, i) => [`k${i}`, 'v'.repeat(Math.max(1, size))]),
  )
}

type Known = (world: World, draw: Draw, name: string) => unknown

/** Values of fields whose schema does not determine them, by field name. */
const knownFields: Readonly<Record<string, Known>> = {
  id: ({ tables, namespaces }, draw, name) => {
    if (/Namespace/.test(name) || /^list(?:Tables|Namespaces)$/.test(name)) return draw.oneOf(namespaces)
    if (/Transaction/.test(name)) return [draw.chance(0.5) ? 'unknown' : '01J00000000000000000000000']
    if (/^(?:create|declare|register|clone)Table$/.test(name)) return freshId(draw)
    // Operations that remove a table use one that no other request needs.
    return /^(?:drop|deregister|rename)Table$/.test(name) ? ['other', 'gone'] : draw.oneOf(tables)
  },
  source: ({ tables }, draw) => draw.oneOf(tables),
  source_location: () => '',
  location: (_, draw) => `s3://bucket/${textUpTo(900, draw)}`,
  new_table_name: (_, draw) => textUpTo(255, draw),
  new_namespace_id: ({ namespaces }, draw) => draw.oneOf(namespaces),
  identity: () => ({}),
  context: (_, draw) => mapAt(draw),
  properties: (_, draw) => mapAt(draw),
  metadata: (_, draw) => mapAt(draw),
  storage_options: () => ({}),
  data: ({ data }) => data,
  predicate: (world, draw) => predicateAt(world.columns, draw),
  filter: (world, draw) => predicateAt(world.columns, draw),
  when_matched_update_all_filt: (_, draw) =>
    draw.oneOf(['source.x > target.x', 'length(repeat(source.s, 1000)) > 1']),
  when_not_matched_by_source_delete_filt: (world, draw) => predicateAt(world.columns, draw),
  on: () => 'x',
  from: (_, draw) => draw.oneOf([1, '1', 'latest', 'main@1']),
  to: (_, draw) => draw.oneOf([1, 2, 'latest', 'main']),
  timeout: () => '10s',
  expression: (world, draw) => expressionAt(world.columns, draw),
  updates: ({ columns }, draw, name) =>
    name === 'updateTable'
      ? someOf(columns.texts, draw).map((column, i) => [
          column,
          i < fewNames ? expressionAt(columns, draw, 'text') : `${draw.oneOf(columns.texts)} || 'a'`,
        ])
      : someOf(columns.texts, draw).map((path, i) => ({
          path,
          metadata: i === 0 ? mapAt(draw) : { k: 'v' },
        })),
  new_columns: ({ columns }, draw) =>
    Array.from({ length: draw.oneOf([1, 30, 300]) }, (_, i) => ({
      name: `n${i}_${draw.below(1e9)}`,
      expression: expressionAt(columns, draw),
    })),
  alterations: ({ columns }, draw) => someOf(columns.numbers, draw).map((path) => ({ path, nullable: true })),
  columns: ({ columns }, draw, name) => {
    if (name === 'alterTableDropColumns') return ['missing']
    return draw.chance(0.3) || name === 'tableChanges'
      ? someOf([...columns.numbers, ...columns.texts], draw)
      : { column_aliases: aliasesAt(columns, draw) }
  },
  order_by: ({ columns }, draw) => orderAt(columns, draw),
  column: ({ columns }, draw) => draw.oneOf([...columns.numbers, ...columns.texts]),
  index_type: () => 'BTREE',
  distance_type: (_, draw) => draw.oneOf(['l2', 'cosine', 'dot']),
  vector: () => undefined,
  mode: () => undefined,
  behavior: () => undefined,
  isolation: () => undefined,
  idle_timeout_seconds: () => 5,
  page_token: () => undefined,
  delimiter: (_, draw) => draw.oneOf(['$', '::', '||||||||']),
  tag: (_, draw) => draw.oneOf(['t', 'x'.repeat(255)]),
  name: (_, draw) => `n${draw.below(1e9)}`,
  version: (_, draw) => draw.oneOf([1, 1, 1, 0, Number.MAX_SAFE_INTEGER]),
  limit: (_, draw) => draw.oneOf([0, 1, 10, 10_000, Number.MAX_SAFE_INTEGER]),
  k: (_, draw) => draw.oneOf([1, 10, 100_000]),
  status: () => ['Succeeded'],
  actions: (_, draw) =>
    Array.from({ length: draw.oneOf([1, 1_000]) }, () => ({
      setPropertyAction: { key: `k${draw.below(100)}`, value: 'v'.repeat(draw.countUpTo(60)) },
    })),
  operations: (_, draw) =>
    Array.from({ length: draw.oneOf([1, 100, 10_000]) }, (_, i) => ({
      declare_table: { id: ['other', `d${i}_${draw.below(1e9)}`] },
    })),
  entries: ({ tables }, draw) =>
    Array.from({ length: draw.oneOf([1, 10_000]) }, () => ({
      id: draw.oneOf(tables),
      version: draw.below(100),
      manifest_path: 'm'.repeat(draw.countUpTo(4_096)),
    })),
  ranges: (_, draw) =>
    Array.from({ length: draw.oneOf([1, 1_000]) }, (_, i) => ({
      start_version: i * 2 + 1e6,
      end_version: i * 2 + 1e6 + 1,
    })),
}

/** So many columns may have a large expression each. */
const fewNames = 20

function someOf(names: readonly string[], draw: Draw): readonly string[] {
  return names.slice(0, draw.countUpTo(names.length))
}

function freshId(draw: Draw): readonly string[] {
  return ['other', `${draw.oneOf(['a', 'ä', 'n'.repeat(200)])}${draw.below(1e9)}`]
}
