import type { Field } from './fields.ts'

/** Help texts of fields that mean something else on the command line than in a request. */
export const fieldNotes: Readonly<Record<string, string>> = {
  context: 'context for the catalog; header.NAME becomes an HTTP header',
  data: 'rows: a file (Arrow IPC, JSON, JSON lines, CSV), - for standard input, or JSON in place',
  include_declared: 'leave out tables that are only declared',
  limit: 'at most so many (default: all)',
  schema: 'columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}',
  start_after: 'with --no-recursive: begin after this name',
}

/** Fields of the protocol without use on the command line: accepted, but hidden in the help. */
export const hiddenFields = new Set(['vector', 'full_text_query', 'k', 'identity'])

/** Flags that are on by default. */
export const onByDefault = new Set(['include_declared', 'recursive'])

/** Field names and the SQL names that the command line prefers. */
const otherNames: Readonly<Record<string, string>> = {
  predicate: 'where',
  filter: 'where',
  // In a query. In `drop-columns` the field is a list of names.
  'columns:columns': 'select',
}

/** The preferred name of a field on the command line, if it differs. */
export function otherNameOf({ name, kind }: Pick<Field, 'name' | 'kind'>): string | undefined {
  return otherNames[`${name}:${kind}`] ?? otherNames[name]
}
