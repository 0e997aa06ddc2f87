import type { Catalog, OperationName } from '../index.ts'

type Row = Readonly<Record<string, unknown>>

/** A response as rows to be printed, or as one thing with its members. */
export type Shaped = { readonly rows: readonly Row[] } | { readonly one: Row }

type Answer<Name extends OperationName> = Awaited<ReturnType<Catalog[Name]>>

type Shapes = { readonly [Name in OperationName]?: (answer: Answer<Name>) => readonly Row[] }

const listed = ({ tables }: Answer<'listTables'>) => tables.map((table) => ({ table }))

const lists: Shapes = {
  listNamespaces: ({ namespaces }) => namespaces.map((namespace) => ({ namespace })),
  listTables: listed,
  listAllTables: listed,
  listTableVersions: ({ versions }) => versions,
  listTableTags: ({ tags }) => Object.entries(tags).map(([tag, contents]) => ({ tag, ...contents })),
  listTableBranches: ({ branches }) =>
    Object.entries(branches).map(([branch, contents]) => ({ branch, ...contents })),
}

/** Whether an operation answers with a page of a listing. */
export function isListing(operation: string): operation is keyof typeof lists & OperationName {
  return Object.hasOwn(lists, operation)
}

/** What of a response is printed: the rows of a listing; else all but its context. */
export function shape(operation: string, answer: Row): Shaped {
  if (isListing(operation)) {
    const rowsOf = lists[operation] as (answer: Row) => readonly Row[]
    return { rows: rowsOf(answer) }
  }
  const { context, ...one } = answer
  return { one }
}
