import { parseIdentifier } from '../../../base/model/identifier.ts'
import type { OperationOptions } from '../../operations/framework/operation.ts'
import { operations } from '../../operations/index.ts'
import type { OperationMethods } from '../../operations/types/methods.ts'
import { itemsOf, type Source } from './items.ts'
import type { Items } from './types.ts'

type Request = Readonly<Record<string, unknown>>
/** Starts an iteration with the operations of a handle. */
export type Iterate = (
  handle: OperationMethods,
  request: Request,
  options: OperationOptions,
) => Items<unknown>

/** The iterations by name: the rows of a table, and the items of each operation that its definition calls a listing. */
export const iterations: Readonly<Record<string, Iterate>> = {
  rows: (handle, request, { signal, transaction }) =>
    itemsOf(
      async function* (both) {
        const { rowsInPages } = await import('./rows.ts')
        return yield* rowsInPages(handle, request as never, { signal: both, transaction })
      } as Source<unknown>,
      signal,
    ),
  ...Object.fromEntries(
    Object.entries(operations).flatMap(([name, { definition }]) => {
      const command = definition.command as { lists?: { field: string } } | undefined
      // Any other name would be that of the operation itself.
      return command?.lists === undefined || !name.startsWith('list')
        ? []
        : [[iterationName(name), listing(name as keyof OperationMethods, command.lists.field)]]
    }),
  ),
}

/** `listTables` is `tables`, and `listTableTags` is `tags`. */
function iterationName(operation: string): string {
  const listed = operation.replace(/^list(Table(?=[A-Z]))?/, '')
  return listed[0]!.toLowerCase() + listed.slice(1)
}

interface Page {
  readonly page_token?: string
  readonly [field: string]: unknown
}

function listing(name: keyof OperationMethods, field: string): Iterate {
  return (handle, request, { signal, transaction }) =>
    itemsOf(async function* (both) {
      const { limit, ...asked } = request
      let left = (limit ?? Number.POSITIVE_INFINITY) as number
      let page_token: string | undefined
      do {
        const method = handle[name] as (request: Request, options: OperationOptions) => Promise<Page>
        const part = left === Number.POSITIVE_INFINITY ? {} : { limit: left }
        const page = await method({ ...asked, ...part, page_token }, { signal: both, transaction })
        for (const item of itemsIn(field, page[field], request)) {
          if (left-- <= 0) return undefined
          yield item
        }
        page_token = page.page_token
      } while (page_token !== undefined && left > 0)
      return undefined
    }, signal)
}

/** The items of a page, in the form that the next request takes. */
function itemsIn(field: string, value: unknown, { id }: Request): Iterable<unknown> {
  if (field === 'tables') return (value as string[]).map((table) => parseIdentifier(table))
  if (field === 'namespaces') return (value as string[]).map((name) => [...(id as string[]), name])
  if (Array.isArray(value)) return value
  return Object.entries(value as object).map(([name, item]) => ({ name, ...item }))
}
