import { describe, expect, it } from 'vitest'
import { serveInMemory } from '../support/ask.ts'

const client = (language: string) => ({ 'user-agent': `OpenAPI-Generator/0.11.1/${language}` })

describe('clients generated from the OpenAPI file', () => {
  it('in Rust have + for a space in a path; others have + for itself', async () => {
    const { ask, catalog } = await serveInMemory()
    await catalog.declareTable({ id: ['a b'] })
    await catalog.declareTable({ id: ['c+d'] })
    const exists = async (name: string, headers: Record<string, string>) =>
      (await ask('POST', `/v1/table/${name}/exists`, {}, headers)).status
    expect(await exists('a+b', client('rust'))).toBe(200)
    expect(await exists('c%2Bd', client('rust'))).toBe(200)
    for (const headers of [{}, client('java'), client('python'), { 'user-agent': 'curl/8.5' }]) {
      expect(await exists('a%20b', headers)).toBe(200)
      expect(await exists('c+d', headers)).toBe(200)
      expect(await exists('a+b', headers)).toBe(404)
    }
  })

  it('have + for a space where the server is set to the client that does so', async () => {
    const { ask, catalog } = await serveInMemory({ listing: 'children' })
    await catalog.declareTable({ id: ['a b'] })
    for (const headers of [{}, client('rust'), client('java')])
      expect((await ask('POST', '/v1/table/a+b/exists', {}, headers)).status).toBe(200)
  })

  it('in Java write an empty list for what was not set: a table keeps its namespace', async () => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createNamespace({ id: ['n'] })
    await catalog.createTable({ id: ['n', 't'], data: [{ x: 1 }] })
    const path = '/v1/table/n$t/rename'
    const reply = await ask(
      'POST',
      path,
      { id: [], new_table_name: 'u', new_namespace_id: [] },
      client('java'),
    )
    expect(reply.json).toEqual({ transaction_id: expect.any(String), context: { renamed_to: 'n$u' } })
    const columns = await ask(
      'POST',
      '/v1/table/n$u/query',
      { id: [], columns: [], vector: [] },
      client('java'),
    )
    expect(columns.status).toBe(200)
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['n$u'])
  })

  it('in other languages mean the root by an empty list, and the answer tells where the table is', async () => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createNamespace({ id: ['n'] })
    await catalog.declareTable({ id: ['n', 't'] })
    const body = { id: ['n', 't'], new_table_name: 'u', new_namespace_id: [] }
    const { json } = await ask('POST', '/v1/table/n$t/rename', body, client('python'))
    expect(json).toMatchObject({ context: { renamed_to: 'u' } })
    expect((await catalog.listTables({ id: [] })).tables).toEqual(['u'])
  })
})
