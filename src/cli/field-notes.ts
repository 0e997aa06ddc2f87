/** What the options are for, by the name of their field. */
export const fieldNotes: Readonly<Record<string, string>> = {
  branch: 'branch to work on (default: main)',
  context: 'context for the catalog; header.NAME becomes an HTTP header',
  data: 'rows: a file (Arrow IPC, JSON, JSON lines, CSV), - for standard input, or JSON in place',
  identity: 'who asks, as the request body says it',
  include_declared: 'leave out tables that are only declared',
  limit: 'at most so many (default: all)',
  location: 'URL where the content lies',
  metadata: 'pairs',
  name: 'name of the branch',
  page_token: 'go on where a page ended',
  predicate: 'SQL predicate',
  properties: 'pairs',
  schema: 'columns: {"fields":[{"name":"a","type":{"type":"int64"},"nullable":true}]}',
  start_after: 'with --no-recursive: begin after this name',
  tag: 'name of the tag',
  vend_credentials: 'ask for credentials for the location',
  version: 'number of a version',
}

/** Fields that are part of the protocol and of no use here: taken, not shown. */
export const hiddenFields = new Set(['vector', 'full_text_query', 'with_row_id', 'k', 'order_by', 'identity'])

/** Flags that hold unless they are turned off. */
export const onByDefault = new Set(['include_declared', 'recursive'])

/** Fields that are better known under another name. */
export const otherNames: Readonly<Record<string, string>> = { predicate: 'where', filter: 'where' }
