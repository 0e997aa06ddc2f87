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

  it('in Java write empty lists and maps into queries, too', async () => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    const unset = { context: {}, id: [], vector: { single_vector: [], multi_vector: [] } }
    const all = { column_names: [], column_aliases: {} }
    for (const columns of [
      all,
      { ...all, column_names: ['x'] },
      { ...all, column_aliases: { y: 'x + 1' } },
    ]) {
      const query = { ...unset, k: 2, columns }
      const found = await ask('POST', '/v1/table/t/query', query, client('java'))
      expect(found.status, found.text).toBe(200)
      const explained = await ask(
        'POST',
        '/v1/table/t/explain_plan',
        { id: [], query, verbose: false },
        client('java'),
      )
      expect(explained.status, explained.text).toBe(200)
    }
    expect((await ask('POST', '/v1/table/t/query', { k: 2, columns: all })).status).toBe(400)
  })

  it('write false for a flag that was not set; the query tells what was', async () => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    const describe = (headers: Record<string, string>, query: boolean, body: boolean) =>
      ask('POST', `/v1/table/t/describe?load_detailed_metadata=${query}`, { load_detailed_metadata: body }, headers) // biome-ignore format: one line
    for (const language of ['java', 'python', 'go']) {
      expect((await describe(client(language), true, false)).json).toMatchObject({ version: 1 })
      expect((await describe(client(language), false, true)).status).toBe(400)
    }
    expect((await describe({}, true, false)).status).toBe(400)
  })
})
