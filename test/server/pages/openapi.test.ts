import { describe, expect, it } from 'vitest'
import { operations } from '../../../src/catalog/operations/index.ts'
import { wire } from '../../../src/protocol/wire.ts'
import { openApiDocument } from '../../../src/server/index.ts'
import { documented, serveInMemory } from '../support/ask.ts'

type Json = Record<string, unknown>

describe('the OpenAPI document', () => {
  it('has every operation with its methods, parameters and bodies', async () => {
    const { paths } = await openApiDocument()
    for (const [name, route] of Object.entries(wire)) {
      const item = paths[route.path]!
      expect(Object.keys(item).sort(), name).toStrictEqual(
        route.methods.map((method) => method.toLowerCase()).sort(),
      )
      const operation = item[route.methods[0].toLowerCase()]!
      expect(operation.operationId.toLowerCase()).toBe(name.toLowerCase())
      const inQuery = operation.parameters
        .filter((parameter) => parameter.in === 'query')
        .map((parameter) => parameter.name)
      expect(inQuery).toStrictEqual(['delimiter', ...Object.keys(route.query)])
      expect(operation.requestBody === undefined).toBe(route.body === 'none')
      for (const status of ['200', '400', '401', '403', '500', '503'])
        expect(operation.responses).toHaveProperty(status)
      for (const status of Object.keys(operation.responses))
        expect([...Object.keys(documented), '200', '422']).toContain(status)
    }
  })

  it('tells which operations change the catalog', async () => {
    const { paths } = await openApiDocument()
    for (const { definition } of Object.values(operations)) {
      const route = wire[definition.name]
      for (const method of route.methods)
        expect(paths[route.path]![method.toLowerCase()]!['x-tabularium-changes'] ?? false).toBe(
          definition.changes,
        )
    }
  })

  it('asks for no credentials where the server asks for none', async () => {
    const open = await serveInMemory({ auth: false })
    const closed = await serveInMemory({ auth: { tokens: ['a-long-random-token'] } })
    const of = async ({ ask }: typeof open) =>
      (await ask('GET', '/openapi.json')).json as { security?: unknown; components: object }
    expect((await of(closed)).security).toStrictEqual([{ bearer: [] }, { apiKey: [] }])
    expect((await of(closed)).components).toHaveProperty('securitySchemes')
    expect(await of(open)).not.toHaveProperty('security')
    expect((await of(open)).components).not.toHaveProperty('securitySchemes')
  })

  it('refers only to what is there, and names each operation once', async () => {
    const document = await openApiDocument()
    const schemas = (document.components as { schemas: Json }).schemas
    const text = JSON.stringify(document)
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(schemas).toHaveProperty(name!)
    expect(text.includes('$defs')).toBe(false)
    const ids = Object.values(document.paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    )
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('describes bodies field by field', async () => {
    const { components } = await openApiDocument()
    const schemas = (components as { schemas: Record<string, { properties: Json; required: string[] }> })
      .schemas
    expect(schemas.RenameTableRequest).toMatchObject({
      type: 'object',
      required: ['new_table_name'],
      properties: { id: { type: 'array', items: { type: 'string' } }, new_table_name: { type: 'string' } },
    })
    // What the query has may stand in the body, too.
    expect(Object.keys(schemas.DescribeTableRequest!.properties)).toContain('with_table_uri')
    expect(schemas.BatchCommitTablesRequest!.properties.operations).toMatchObject({
      type: 'array',
      items: { properties: { declare_table: {}, create_table_version: {} } },
    })
    expect(schemas.DescribeNamespaceResponse).toMatchObject({
      properties: { properties: { type: 'object', additionalProperties: { type: 'string' } } },
    })
  })

  it('is served, with a page that loads nothing from elsewhere and names every operation', async () => {
    const { ask } = await serveInMemory()
    const served = await ask('GET', '/openapi.json')
    expect(served.headers.get('content-type')).toMatch(/^application\/json/)
    expect(served.json).toEqual(JSON.parse(JSON.stringify(await openApiDocument('', true))))
    const page = await ask('GET', '/docs')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.text.match(/<script[^>]*>|src="[^"]*"/g)).toEqual([
      expect.stringMatching(/^<script type="module" src="page\/docs\.js\?[\w-]+">$/),
    ])
    expect(page.text).not.toMatch(/https?:|@import|url\(|<style|\sstyle=|\son\w+=/)
    for (const path of ['/docs', '/page/docs.js', '/page/docs.css']) {
      const { status, headers } = await ask('GET', path)
      expect([path, status]).toEqual([path, 200])
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/,
      )
    }
    for (const name of Object.keys(wire))
      expect(page.text.toLowerCase()).toContain(`id="${name.toLowerCase()}"`)
    expect(page.text).not.toMatch(/undefined|\[object/)
  })

  it('may be left out', async () => {
    const { ask } = await serveInMemory({ docs: false, health: false, metrics: false })
    for (const path of ['/openapi.json', '/docs', '/page/docs.js', '/healthz', '/readyz', '/metrics'])
      expect((await ask('GET', path)).status).toBe(404)
  })
})

describe('metrics', () => {
  it('count requests by operation and status, and time them', async () => {
    const { ask } = await serveInMemory()
    for (let i = 0; i < 3; i++) await ask('POST', '/v1/namespace/$/describe', {})
    await ask('POST', '/v1/table/no/describe', {})
    await ask('GET', '/v1/nothing')
    const { text, headers } = await ask('GET', '/metrics')
    expect(headers.get('content-type')).toMatch(/^text\/plain/)
    expect(text).toContain('tabularium_requests_total{operation="describeNamespace",status="200"} 3')
    expect(text).toContain('tabularium_requests_total{operation="describeTable",status="404"} 1')
    expect(text).toContain('tabularium_requests_total{operation="none",status="404"} 1')
    expect(text).toContain('tabularium_request_duration_seconds_count{operation="describeNamespace"} 3')
    expect(text).toContain(
      'tabularium_request_duration_seconds_bucket{operation="describeNamespace",le="+Inf"} 3',
    )
    expect(text).toContain('tabularium_requests_in_flight 0')
    expect(text).toContain('process_cpu_user_seconds_total')
  })
})
