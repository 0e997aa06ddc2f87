import * as v from 'valibot'
import { invalid } from '../../base/errors.ts'
import type { SchemaChange, TableEngine } from '../../engine/table/index.ts'
import { applyToRows, changeTable, type TableChanged } from './change.ts'
import type { RowsChange } from './change-types.ts'
import type { AnyRowsContext, RowsOptions } from './context.ts'

/** Most columns, alterations or paths in one request. */
export const maxColumns = 10_000

// A function, since the first number that a process formats takes 10 ms.
export const tooMany: () => string = () => `has more than ${maxColumns.toLocaleString('en')} members`

type JsonType = Parameters<
  typeof import('../../engine/table/index.ts').fromJsonSchema
>[0]['fields'][number]['type']

/** A type as the protocol's JSON has it, or its name alone where that says everything. */
export const dataType = v.pipe(
  v.custom<JsonType | string>(
    (given) => typeof given === 'string' || typeof (given as { type?: unknown } | null)?.type === 'string',
    'must be a type such as {"type":"int64"} or "int64"',
  ),
  v.metadata({
    anyOf: [
      { type: 'string' },
      { type: 'object', required: ['type'], properties: { type: { type: 'string' } } },
    ],
  }),
)

/** The Arrow field of a name and a type from a request. Refuses a type that is unknown. */
export async function fieldOf({
  name,
  type,
  nullable = true,
  metadata,
}: {
  readonly name: string
  readonly type: JsonType | string
  readonly nullable?: boolean | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}) {
  const { fromJsonSchema } = await import('../../engine/table/index.ts')
  const given = typeof type === 'string' ? { type } : type
  return fromJsonSchema({ fields: [{ name, type: given, nullable, metadata }] }).fields[0]!
}

/** Changes the columns of a table's branch, in a transaction of its own. */
export async function changeColumns(
  core: AnyRowsContext,
  options: RowsOptions,
  about: Pick<RowsChange<unknown, unknown>, 'operation' | 'id' | 'branch' | 'reported' | 'lances'>,
  change: (engine: TableEngine) => SchemaChange,
): Promise<TableChanged> {
  return changeTable(core, options, {
    ...about,
    check: ({ engine, base }) => base && change(engine).check(base),
    prepare: async ({ engine, base }, work) => {
      const made = change(engine)
      if (base) await made.prepare(base, work)
      return made
    },
    apply: applyToRows,
  })
}

/** Refuses a request that has none of some fields, or several. */
export function requireOne(where: string, fields: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(fields).filter((name) => fields[name] != null)
  if (given.length === 1) return
  const names = Object.keys(fields)
  throw invalid(
    `${where} has ${given.length === 0 ? 'none' : 'more than one'} of ${names.join(' and ')}. Give ${names.join(' or ')}.`,
  )
}
