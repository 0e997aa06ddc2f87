import { expect, it } from 'vitest'
import { type OperationName, operations } from '../../../src/tabularium/index.ts'
import { serveInMemory } from '../support/ask.ts'

/** The operations whose answers a server keeps, how to ask, and an answer of a replaced method. */
const kept: Partial<Record<OperationName, [method: 'GET' | 'POST', path: string, body?: object]>> = {
  listNamespaces: ['GET', '/v1/namespace/$/list'],
  describeNamespace: ['POST', '/v1/namespace/n/describe', {}],
  namespaceExists: ['POST', '/v1/namespace/n/exists', {}],
  describeTable: ['POST', '/v1/table/t/describe', {}],
  tableExists: ['POST', '/v1/table/t/exists', {}],
  listTables: ['GET', '/v1/namespace/$/table/list'],
  listAllTables: ['GET', '/v1/table'],
}

it('all operations whose answers are kept are tried here', () => {
  const cached = Object.values(operations).filter(({ definition }) => 'isFromStore' in definition)
  expect(cached.map(({ definition }) => definition.name).sort()).toEqual(Object.keys(kept).sort())
})

it.each(Object.entries(kept))(
  '%s is answered by the method that replaces it',
  async (name, [method, path, body]) => {
    const { ask, catalog } = await serveInMemory()
    await catalog.createNamespace({ id: ['n'] })
    await catalog.createTable({ id: ['t'], data: [{ x: 1 }] })
    await catalog.createTableTag({ id: ['t'], tag: 'x', version: 1 })
    const own = await ask(method, path, body)
    expect(own.status).toBe(200)
    expect((await ask(method, path, body)).text).toBe(own.text)

    let calls = 0
    const replaced = { answered: name }
    const original = catalog[name as OperationName]
    Object.assign(catalog, { [name]: async () => ({ ...replaced, calls: ++calls }) })
    for (const call of [1, 2]) {
      const reply = await ask(method, path, body)
      expect([reply.status, reply.json]).toEqual([200, { ...replaced, calls: call }])
    }

    // One that hands on to the original answers what that answers, each time.
    Object.assign(catalog, {
      [name]: (...given: unknown[]) => {
        calls++
        return (original as (...given: unknown[]) => unknown)(...given)
      },
    })
    for (const call of [3, 4]) {
      expect((await ask(method, path, body)).text).toBe(own.text)
      expect(calls).toBe(call)
    }
  },
)
