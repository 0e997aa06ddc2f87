import { CatalogError, invalid, unsupported } from '../../base/errors.ts'
import { formatIdentifier, type Identifier } from '../../base/model/identifier.ts'
import type { JsonArrowSchema } from '../../engine/arrow/types.ts'
import type { QueryOptions, Snapshot } from '../../engine/table/index.ts'
import { type ClientRules, clientRules } from './client-rules.ts'
import type { RowsOptions } from './context.ts'
import type { Rows } from './input.ts'

type Schema = Snapshot['schema']
type Field = Schema['fields'][number]

/** Refuses columns that the requesting client cannot read. Those that `before` has are accepted. */
export async function requireReadable(
  options: RowsOptions,
  schema: Schema,
  { before, isOfLance }: { readonly before?: Schema | undefined; readonly isOfLance: boolean },
): Promise<void> {
  const rules = options[clientRules]
  if (rules === undefined || schema === before) return
  const { toJsonSchema } = await import('../../engine/table/index.ts')
  const there = new Set(before && toJsonSchema(before).fields.map((field) => JSON.stringify(field)))
  const found = rules.unreadable(
    toJsonSchema(schema).fields.filter((field) => !there.has(JSON.stringify(field))),
    isOfLance,
  )
  if (found === undefined) return
  throw invalid(`Column ${JSON.stringify(found.path)} ${found.fault}. Use ${found.instead} instead.`)
}

/** The columns of a table under types that a client with these rules can read. */
export function describedColumns(
  rules: ClientRules,
  id: Identifier,
  json: JsonArrowSchema,
  isOfLance: boolean,
): JsonArrowSchema {
  const found = rules.unreadable(json.fields, isOfLance)
  if (found === undefined) return { ...json, fields: json.fields.map(rules.plain) }
  throw unsupported(
    `Column ${JSON.stringify(found.path)} of the table ${formatIdentifier(id)} ${found.fault}.`,
    `Read the table with another client of the catalog, or drop the column with one and add ${found.instead}.`,
  )
}

/** How the columns of an answer become those that a client with these rules can read. */
export async function plainFor(rules: ClientRules): Promise<NonNullable<QueryOptions['plain']>> {
  const { fromJsonSchema, toJsonSchema } = await import('../../engine/table/index.ts')
  return (field) => plainField(rules, field, { fromJsonSchema, toJsonSchema })
}

type JsonSchemas = Pick<typeof import('../../engine/table/index.ts'), 'fromJsonSchema' | 'toJsonSchema'>

function plainField({ plain }: ClientRules, field: Field, schemas: JsonSchemas): Field {
  const [json] = schemas.toJsonSchema({ fields: [field] } as unknown as Schema).fields
  const made = plain(json!)
  return made === json ? field : schemas.fromJsonSchema({ fields: [made] }).fields[0]!
}

/**
 * Refuses rows with other columns than those of the existing table, if the requesting client expects that: names,
 * types, nullability and order are compared.
 */
export async function requireSameColumns(
  options: RowsOptions,
  id: Identifier,
  there: () => Promise<Schema>,
  given: () => Promise<Rows>,
): Promise<void> {
  const rules = options[clientRules]
  if (!rules?.comparesColumns) return
  const plain = await plainFor(rules)
  const { schemaDifference } = await import('../../engine/table/index.ts')
  const [expected, { schema }] = await Promise.all([there(), given()])
  const plainSchema = ({ fields, ...rest }: Schema) => ({ ...rest, fields: fields.map(plain) })
  const difference = schemaDifference(plainSchema(expected), plainSchema(schema))
  if (difference === undefined) return
  throw new CatalogError(
    'TableSchemaValidationError',
    `Provided schema does not match existing table schema: ${difference}. Open the table ${formatIdentifier(id)} as it is, or create it with the mode overwrite.`,
  )
}
