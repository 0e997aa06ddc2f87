import { beforeEach, describe, expect, it } from 'vitest'
import { CatalogError, type ErrorCode, errorNumbers, type OperationName } from '../../src/tabularium/index.ts'
import { documented, expectProblem, type Served, serveInMemory } from './support/ask.ts'

/** The operations of the service document, how to ask for each, and the statuses it lists. Copied from there. */
const listed: [OperationName, 'GET' | 'POST', path: string, body: object | undefined, statuses: number[]][] =
  [
    ['deleteFromTable', 'POST', '/v1/table/t/delete', { predicate: 'true' }, [400, 401, 403, 404, 500, 503]],
    ['deregisterTable', 'POST', '/v1/table/t/deregister', {}, [400, 401, 403, 404, 500, 503]],
    [
      'updateTableSchemaMetadata',
      'POST',
      '/v1/table/t/schema_metadata/update',
      {},
      [400, 401, 403, 404, 500, 503],
    ],
    ['countTableRows', 'POST', '/v1/table/t/count_rows', {}, [400, 401, 403, 404, 500, 503]],
    [
      'renameTable',
      'POST',
      '/v1/table/t/rename',
      { new_table_name: 'u' },
      [400, 401, 403, 404, 409, 500, 503],
    ],
    [
      'updateTableTag',
      'POST',
      '/v1/table/t/tags/update',
      { tag: 'x', version: 1 },
      [400, 401, 403, 404, 500, 503],
    ],
    ['describeTransaction', 'POST', '/v1/transaction/x/describe', {}, [400, 401, 403, 404, 500, 503]],
    [
      'batchCommitTables',
      'POST',
      '/v1/table/batch-commit',
      { operations: [{ declare_table: { id: ['t'] } }] },
      [400, 401, 403, 404, 409, 500, 503],
    ],
    ['listTables', 'GET', '/v1/namespace/$/table/list', undefined, [400, 401, 403, 404, 406, 500, 503]],
  ]

describe('the statuses of the document', () => {
  it.each(listed)('%s answers no other, whatever fails in it', async (name, method, path, body, statuses) => {
    const { ask, catalog } = await serveInMemory()
    const seen = new Set<number>()
    for (const code of Object.keys(errorNumbers) as ErrorCode[]) {
      Object.assign(catalog, {
        [name]: () => Promise.reject(new CatalogError(code, 'It failed. Do otherwise.')),
      })
      const reply = await ask(method, path, body)
      expect(statuses, code).toContain(reply.status)
      expectProblem(reply, reply.status, errorNumbers[code], path)
      seen.add(reply.status)
    }
    expect([...seen].sort()).toEqual(statuses)
  })

  it('are all that the document has', () => {
    expect([...new Set(listed.flatMap(([, , , , statuses]) => statuses))].sort().map(String)).toEqual(
      Object.keys(documented),
    )
  })
})

describe('what a client must not send again', () => {
  let served: Served
  beforeEach(async () => {
    served = await serveInMemory()
    await served.catalog.declareTable({ id: ['declared'] })
  })

  it.each([
    ['count_rows', {}],
    ['delete', { predicate: 'true' }],
    ['schema_metadata/update', { a: 'b' }],
  ])('%s on a table that is only declared is 400, with the code of its state', async (verb, body) => {
    const path = `/v1/table/declared/${verb}`
    expectProblem(await served.ask('POST', path, body), 400, 19, path, /declared/)
  })

  it('is 409 where a name is taken', async () => {
    const path = '/v1/table/declared/declare'
    expectProblem(await served.ask('POST', path, {}), 409, 5, path)
  })
})
