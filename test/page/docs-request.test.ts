import { describe, expect, it } from 'vitest'
import { type ApiDocument, addressOf, bodyToBegin, headersOf } from '../../src/page/docs/request.ts'
import { openApiDocument } from '../../src/server/index.ts'
import { serveInMemory } from '../server/support/ask.ts'

const document = (await openApiDocument('', true)) as unknown as ApiDocument

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

describe('a form of /docs', () => {
  it('reaches its operation, with a body that the server can read', async () => {
    const { ask } = await serveInMemory()
    for (const { path, method, operation } of operations) {
      // A stream that does not end, or a body of bytes.
      const [type = 'application/json'] = Object.keys(operation.requestBody?.content ?? {})
      if (path === '/v1/changes' || !type.includes('json')) continue
      const entered = { id: 'no', index_name: 'no', tag: 'no', version: '1', name: 'no' }
      const address = addressOf(path, operation.parameters, entered)
      const schema = operation.requestBody?.content[type]?.schema
      const body = operation.requestBody && bodyToBegin(schema, document)
      const { status, text } = await ask(method.toUpperCase(), `/${address}`, body, { 'content-type': type })
      // Refused for what is not there or was left empty, and not for its form.
      expect([200, 400, 404, 406], `${method} ${address}: ${text}`).toContain(status)
      expect(text).not.toMatch(/no valid JSON|There is no such|unknown field/)
    }
  })

  it('encodes what was entered, and leaves out what was not', () => {
    const parameter = (name: string, where: string) => ({
      name,
      in: where,
      required: false,
      description: '',
      schema: {},
    })
    const parameters = [
      parameter('id', 'path'),
      parameter('q', 'query'),
      parameter('r', 'query'),
      parameter('h', 'header'),
    ]
    const entered = { id: 'a/b?#%', q: 'x&y=z', h: '1' }
    expect(addressOf('/v1/table/{id}/x', parameters, entered)).toBe('v1/table/a%2Fb%3F%23%25/x?q=x%26y%3Dz')
    expect(headersOf(parameters, entered)).toEqual({ h: '1' })
    expect(() => addressOf('/v1/table/{id}/x', parameters, {})).toThrow('Give id.')
    for (const id of ['.', '..']) expect(() => addressOf('/v1/{id}', parameters, { id })).toThrow('browser')
  })
})
