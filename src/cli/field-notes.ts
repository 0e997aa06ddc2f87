import type { Field } from './fields.ts'

/** What options are for that mean another thing on the command line than in a request. */
export const fieldNotes: Readonly<Record<string, string>> = {
  context: 'context for the catalog; header.NAME becomes an HTTP header',
  data: 'rows: a file (Arrow IPC, JSON, JSON lines, CSV), - for standard input, or JSON in place',
  include_declared: 'leave out tables that are only declared',
  limit: 'at most so many (default: all)',
  schema: 'columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}',
  start_after: 'with --no-recursive: begin after this name',
}

/** Fields that are part of the protocol and of no use here: taken, not shown. */
export const hiddenFields = new Set(['vector', 'full_text_query', 'k', 'identity'])

/** Flags that hold unless they are turned off. */
export const onByDefault = new Set(['include_declared', 'recursive'])

/** Fields that are better known under another name. */
const otherNames: Readonly<Record<string, string>> = {
  predicate: 'where',
  filter: 'where',
  // Of a query. Where columns are dropped, they are names.
  'columns:columns': 'select',
}

/** The name under which a field is better known, if there is one. */
export function otherNameOf({ name, kind }: Pick<Field, 'name' | 'kind'>): string | undefined {
  return otherNames[`${name}:${kind}`] ?? otherNames[name]
}
