import type { AnyOperation } from './record.ts'

type Row = Readonly<Record<string, unknown>>

/** A response as rows to be printed, or as one thing with its members. */
export type Shaped = { readonly rows: readonly Row[] } | { readonly one: Row }

/** Whether an operation answers with a page of a listing. */
export function isListing({ command }: AnyOperation): boolean {
  return command?.lists !== undefined
}

/** What of a response is printed: the rows of a listing; else all but its context. */
export function shape({ command }: AnyOperation, answer: Row): Shaped {
  if (command?.lists) {
    const { field, item } = command.lists
    return { rows: rowsOf(answer[field] as Listed, item) }
  }
  const { context, ...one } = answer
  return { one }
}

/** What a listing holds: names, objects, or objects by name. */
type Listed = readonly (string | Row)[] | Readonly<Record<string, Row>>

function rowsOf(listed: Listed, item: string): readonly Row[] {
  if (Array.isArray(listed))
    return listed.map((entry: string | Row) => (typeof entry === 'string' ? { [item]: entry } : entry))
  return Object.entries(listed as Readonly<Record<string, Row>>).map(([name, contents]) => ({
    [item]: name,
    ...contents,
  }))
}
