import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { eventsOf } from '../../../src/protocol/events.ts'
import { openApiDocument } from '../../../src/server/index.ts'
import { operations } from '../../../src/tabularium/index.ts'
import { serveInMemory } from '../support/ask.ts'

/* What the schemas of the OpenAPI document say is what the server does. */

type Json = Readonly<Record<string, unknown>>

interface Found {
  readonly where: string
  readonly schema: Json
}

/** A part of the document and all schemas within it. */
function within(part: unknown, where: string): Found[] {
  if (Array.isArray(part)) return part.flatMap((item, i) => within(item, `${where}[${i}]`))
  if (typeof part !== 'object' || part === null) return []
  const inner = Object.entries(part).flatMap(([name, member]) => within(member, `${where}.${name}`))
  return [{ where, schema: part as Json }, ...inner]
}

const document = await openApiDocument()
const { schemas } = document.components
const requests = Object.entries(schemas).filter(([name]) => name.endsWith('Request'))
const inRequests = requests.flatMap(([name, schema]) => within(schema, name))

const ajv = new Ajv2020({ strict: false })
ajv.addSchema({ ...document, $id: 'openapi' })

function validator(name: string) {
  return ajv.getSchema(`openapi#/components/schemas/${name}`)!
}

describe('schemas of requests', () => {
  it('are closed where unknown fields are refused, and have no defaults and no tuples', () => {
    const objects = inRequests.filter(
      ({ schema }) => schema.type === 'object' && schema.properties !== undefined,
    )
    expect(objects.length).toBeGreaterThan(100)
    // The type of a column is checked when the column is made, and has fields of its own.
    const open = objects.filter(
      ({ where, schema }) => schema.additionalProperties !== false && !/\.data_type\b/.test(where),
    )
    expect(open.map(({ where }) => where)).toEqual([
      expect.stringContaining('virtual_column'),
      // What is not supported is so whatever it is asked.
      ...[
        'AlterTableBackfillColumnsRequest',
        'CreateMaterializedViewRequest',
        'RefreshMaterializedViewRequest',
      ],
    ])
    expect(open.every(({ schema }) => schema.additionalProperties === true)).toBe(true)
    const odd = inRequests.filter(
      ({ schema }) => 'default' in schema || 'prefixItems' in schema || schema.items === false,
    )
    // A field may have any of these names.
    expect(odd.filter(({ where }) => !where.endsWith('.properties')).map(({ where }) => where)).toEqual([])
  })

  it('are open where the server leaves unknown fields out', async () => {
    const { ask } = await serveInMemory({ unknownFields: 'ignore' })
    const { components } = (await ask('GET', '/openapi.json')).json as typeof document
    const closed = Object.entries(components.schemas)
      .flatMap(([name, schema]) => within(schema, name))
      .filter(({ schema }) => schema.additionalProperties === false)
      // Exactly one of its members must be there, whoever reads it.
      .filter(({ schema }) => schema.oneOf === undefined)
    expect(closed.map(({ where }) => where)).toEqual([])
    expect((await ask('POST', '/v1/namespace/$/describe', { soon: 1 })).status).toBe(200)
  })

  it('take the fields that an operation ignores, and no other', () => {
    for (const { definition } of Object.values(operations)) {
      const title = definition.name[0]!.toUpperCase() + definition.name.slice(1)
      const schema = schemas[`${title}Request`]
      if (schema === undefined || schema.additionalProperties !== false) continue
      expect(Object.keys(schema.properties as Json)).toEqual(
        expect.arrayContaining([...(definition.ignores ?? [])]),
      )
    }
  })

  it('say lengths, words, bounds and what excludes what', () => {
    expect(schemas.UpdateTableRequest!.properties).toMatchObject({
      updates: { minItems: 1, items: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 2 } },
    })
    expect(schemas.RenameTableRequest!.properties).toMatchObject({
      new_table_name: { minLength: 1, maxLength: 255, pattern: expect.any(String) },
    })
    expect(schemas.DropNamespaceRequest!.properties).toMatchObject({
      behavior: { anyOf: [{ enum: ['Restrict', 'Cascade'] }, { type: 'null' }] },
    })
    expect(schemas.BeginTransactionRequest!.properties).toMatchObject({
      idle_timeout_seconds: { anyOf: [{ exclusiveMinimum: 0, maximum: 3600 }, { type: 'null' }] },
      retry_of: { anyOf: [{ type: 'string', pattern: expect.any(String) }, { type: 'null' }] },
    })
  })

  it.each([
    ['BatchCommitTablesRequest', { operations: [{ declare_table: { id: ['t'] } }] }, true],
    ['BatchCommitTablesRequest', { operations: [{}] }, false],
    [
      'BatchCommitTablesRequest',
      { operations: [{ declare_table: { id: ['t'] }, deregister_table: { id: ['t'] } }] },
      false,
    ],
    ['BatchCommitTablesRequest', { operations: [{ drop_table: { id: ['t'] } }] }, false],
    ['BatchCommitTablesRequest', { operations: [] }, false],
    ['CreateNamespaceRequest', { mode: 'ExistOk', properties: { a: 'b' } }, true],
    ['CreateNamespaceRequest', { mode: 'Sometimes' }, false],
    ['CreateNamespaceRequest', { colour: 'red' }, false],
    ['CreateNamespaceRequest', { properties: { a: 1 } }, false],
    ['CreateNamespaceRequest', { identity: { key: 'k' } }, false],
    ['BeginTransactionRequest', { idle_timeout_seconds: 5 }, true],
    ['BeginTransactionRequest', { idle_timeout_seconds: 0 }, false],
    ['BeginTransactionRequest', { idle_timeout_seconds: 3601 }, false],
    ['BeginTransactionRequest', { retry_of: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }, true],
    ['BeginTransactionRequest', { retry_of: 'two, ids' }, false],
    ['RenameTableRequest', { new_table_name: 'b' }, true],
    ['RenameTableRequest', { new_table_name: '' }, false],
    ['RenameTableRequest', { new_table_name: 'a$b' }, false],
    ['RenameTableRequest', { new_table_name: 'x'.repeat(256) }, false],
    ['QueryTableRequest', { limit: 5, order_by: ['a desc', { column_name: 'b' }] }, true],
    ['QueryTableRequest', { limit: -1 }, false],
    ['QueryTableRequest', { order_by: [{ column: 'b' }] }, false],
    ['UpdateTableRequest', { updates: [['a', '1']], properties: {} }, true],
    ['UpdateTableRequest', { updates: [['a']] }, false],
    ['AlterTransactionRequest', { actions: [{ setStatusAction: { status: 'Canceled' } }] }, true],
    ['AlterTransactionRequest', { actions: [{ setStatusAction: { status: 'Gone' } }] }, false],
    ['AlterTransactionRequest', { actions: [{}] }, false],
  ])('%s of %j: %s, and so says the server', async (name, body, isValid) => {
    const validate = validator(name)
    expect([validate(body), validate.errors ?? []]).toEqual(isValid ? [true, []] : [false, expect.anything()])
    const { ask, catalog } = await serveInMemory()
    await catalog.createTable({ id: ['t0'], data: [{ a: 1, b: 2, v: [1] }] })
    const path = Object.entries(document.paths).find(([, item]) =>
      JSON.stringify(item.post?.requestBody ?? '').includes(`/${name}"`),
    )![0]
    const reply = await ask('POST', path.replace('{id}', path.includes('namespace') ? 'n' : 't0'), body)
    expect(reply.status === 400, reply.text).toBe(!isValid)
  })
})

it('operations that may be part of a transaction say that it may be unknown', async () => {
  const { ask } = await serveInMemory()
  const reply = await ask('POST', '/v1/namespace/$/describe', {}, { 'x-tabularium-transaction': 'none' })
  expect(reply.status).toBe(404)
  const { responses } = document.paths['/v1/namespace/{id}/describe']!.post!
  expect(responses[404]!.description).toContain('TransactionNotFound')
})

it('a body is needed where a field is', () => {
  const needs = (path: string) => document.paths[path]!.post!.requestBody!.required
  expect(needs('/v1/transaction/begin')).toBe(false)
  expect(needs('/v1/table/{id}/rename')).toBe(true)
})

it('events of the change feed are as their schema says', async () => {
  const { handler, catalog } = await serveInMemory()
  const stop = new AbortController()
  const request = new Request('http://localhost/v1/changes', { signal: stop.signal })
  const events = eventsOf((await handler(request)).body!)
  await catalog.createNamespace({ id: ['n'] })
  await catalog.createTable({ id: ['n', 't'], data: [{ a: 1 }] })
  await catalog.createTableTag({ id: ['n', 't'], tag: 'first', version: 1 })
  await catalog.createTableBranch({ id: ['n', 't'], name: 'b' })
  await catalog.renameTable({ id: ['n', 't'], new_table_name: 'u' })
  await catalog.deleteTableTag({ id: ['n', 'u'], tag: 'first' })
  await catalog.transaction(async (tx) => void (await tx.dropTable({ id: ['n', 'u'] })))
  const validate = validator('ChangeEvent')
  const seen = new Set<string>()
  for (let i = 0; i < 8; i++) {
    const { kind, id, data } = (await events.next()).value!
    const event = { ...(kind !== 'message' && { event: kind }), id, data: JSON.parse(data) }
    expect([validate(event), validate.errors]).toEqual([true, null])
    for (const change of event.data.changes ?? []) for (const name of Object.keys(change)) seen.add(name)
  }
  stop.abort()
  // The schema has the members that there are.
  const known = Object.keys(schemas.SubjectChange!.properties as Json)
  expect([...seen].filter((name) => !known.includes(name))).toEqual([])
  expect(seen.size).toBeGreaterThan(6)
  expect(validate({ id: 'x', data: { token: 'x' } })).toBe(false)
})
