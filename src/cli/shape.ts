import { type OperationName, operations } from '../index.ts'

type Row = Readonly<Record<string, unknown>>

/** A response as rows to be printed, or as one thing with its members. */
export type Shaped = { readonly rows: readonly Row[] } | { readonly one: Row }

/** What a listing holds: names, objects, or objects by name. */
type Listed = readonly (string | Row)[] | Readonly<Record<string, Row>>

/** Whether an operation answers with a page of a listing. */
export function isListing(operation: string): boolean {
  return listingOf(operation) !== undefined
}

/** What of a response is printed: the rows of a listing; else all but its context. */
export function shape(operation: string, answer: Row): Shaped {
  const listing = listingOf(operation)
  if (listing !== undefined) return { rows: rowsOf(answer[listing.field] as Listed, listing.item) }
  const { context, ...one } = answer
  return { one }
}

function listingOf(operation: string) {
  return operations[operation as OperationName].definition.command?.lists
}

function rowsOf(listed: Listed, item: string): readonly Row[] {
  if (Array.isArray(listed))
    return listed.map((entry: string | Row) => (typeof entry === 'string' ? { [item]: entry } : entry))
  const byName = Object.entries(listed as Readonly<Record<string, Row>>)
  return byName.map(([name, contents]) => ({ [item]: name, ...contents }))
}
