/*
 * JSON bodies that take long to parse, validate, copy or answer for their size. A shape can have any size, for any
 * route.
 */

/** A kind of body: the repeated part, and the text around it. */
interface Shape {
  readonly before: string
  readonly item: (i: number) => string
  readonly after: string
}

const field = (name: string, open: string, close: string, item: Shape['item']): Shape => ({
  before: `{"${name}":${open}`,
  item,
  after: `${close}}`,
})

const list = (name: string, item: Shape['item']) =>
  field(name, '[', ']', (i) => (i === 0 ? '' : ',') + item(i))
const map = (name: string, item: Shape['item']) =>
  field(name, '{', '}', (i) => (i === 0 ? '' : ',') + item(i))

/** Bodies by the kind of attack. */
const shapes: Readonly<Record<string, Shape>> = {
  'keys of the body': { before: '{"a":1', item: (i) => `,"k${i}":1`, after: '}' },
  'keys of the context': map('context', (i) => `"k${i}":"v"`),
  'long keys of properties': map('properties', (i) => `"${'k'.repeat(16_384)}${i}":"v"`),
  'long keys of the body': { before: '{"a":1', item: (i) => `,"${'k'.repeat(16_384)}${i}":1`, after: '}' },
  'keys of properties': map('properties', (i) => `"k${i}":"v"`),
  'the same key': map('context', () => '"k":"v"'),
  'keys like __proto__': map('context', (i) => (i % 2 ? '"__proto__":{}' : '"constructor":[]')),
  'keys like indices': map('context', (i) => `"${i * 1_000_003}":0`),
  aliases: { before: '{"columns":{"column_aliases":{"a":"x"', item: (i) => `,"a${i}":"x"`, after: '}}}' },
  'lists in lists': { before: '{"context":', item: () => '[', after: '' },
  'objects in objects': { before: '', item: () => '{"a":', after: '' },
  'nests below the limit': list('context', () => `${'['.repeat(100)}1${']'.repeat(100)}`),
  'empty lists': list('context', () => '[]'),
  'empty objects': list('operations', () => '{}'),
  numbers: field('vector', '[', ']', (i) => `${i === 0 ? '' : ','}0.12345678901234567`),
  'small numbers': list('vector', () => '1'),
  'one number': { before: '', item: () => '1', after: '' },
  texts: list('columns', () => '"x"'),
  'an escaped text': field('predicate', '"', '"', () => '\\u0041\\n'),
  'a text of many bytes': field('predicate', '"', '"', () => 'é😀'),
  'text without an end': { before: '{"predicate":"', item: () => 'x', after: '' },
  blanks: { before: '{"id":', item: () => ' \n\t', after: '[]}' },
  names: list('id', () => '"a"'),
  'texts in one operation': {
    before: '{"operations":[{"declare_table":{"id":["a"',
    item: () => ',"a"',
    after: ']}}]}',
  },
  orderings: list('order_by', (i) => `{"column_name":"x","ascending":${i % 2 === 0}}`),
  updates: list('updates', () => '["x","x + 1"]'),
  'updates of Iceberg': list('updates', (i) => `{"action":"set-properties","updates":{"k${i}":"v"}}`),
  'changes of tables': list(
    'table-changes',
    (i) => `{"identifier":{"namespace":["n"],"name":"t${i}"},"requirements":[],"updates":[]}`,
  ),
  ranges: list('ranges', (i) => `{"start_version":${i},"end_version":${i + 1}}`),
  'new columns': list('new_columns', (i) => `{"name":"z${i}","data_type":{"type":"int32"}}`),
  operations: list(
    'operations',
    (i) => `{"declare_table":{"id":["t${i}"],"properties":{"a":"${'x'.repeat(1_000)}"}}}`,
  ),
  'operations with a fault at the end': {
    before: '{"operations":[{"declare_table":{"id":["t"]}}',
    item: (i) =>
      `,{"create_table_version":{"id":["t${i}"],"version":1,"manifest_path":"_versions/1.manifest","metadata":{"a":"b"}}}`,
    after: ',{"declare_table":1}]}',
  },
}

/** The names of all shapes. */
export const jsonShapes: readonly string[] = Object.keys(shapes)

/** Routes that read a JSON body, each in its own way. */
export const jsonRoutes: readonly string[] = [
  '/v1/table/t/count_rows',
  '/v1/table/t/query',
  '/v1/table/t/declare',
  '/v1/table/t/update',
  '/v1/table/t/add_columns',
  '/v1/table/t/version/delete',
  '/v1/table/t/schema_metadata/update',
  '/v1/table/t/tags/create',
  '/v1/table/batch-commit',
  '/v1/table/version/batch-create',
  '/v1/namespace/n/create',
]

/** Routes of Iceberg REST that read a JSON body. */
export const icebergJsonRoutes: readonly string[] = [
  '/iceberg/v1/namespaces',
  '/iceberg/v1/namespaces/n/properties',
  '/iceberg/v1/namespaces/n/tables',
  '/iceberg/v1/namespaces/n/tables/t',
  '/iceberg/v1/namespaces/n/views',
  '/iceberg/v1/transactions/commit',
]

/** A body of a shape with about so many bytes, and with at most so many items. */
export function hostileJson(name: string, bytes: number, mostItems = Number.POSITIVE_INFINITY): Buffer {
  const { before, item, after } = shapes[name]!
  const body = Buffer.alloc(bytes)
  let at = body.write(before)
  const end = bytes - Buffer.byteLength(after) - 2_048
  for (let i = 0; i < mostItems && at < end; i++) at += body.write(item(i), at)
  at += body.write(after, at)
  return body.subarray(0, at)
}
