import { mock } from 'node:test'
import { describe, expect, it, vi } from 'vitest'
import type { Catalog, Transaction } from '../../../src/catalog/handle/handle.ts'
import { type OperationName, operations } from '../../../src/catalog/operations/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { fakeCatalog } from '../../../src/testing/index.ts'
import { overHttp } from '../../client/over-http.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'

const kinds: Readonly<Record<string, () => Promise<Catalog & Pick<LocalCatalog, 'transaction'>>>> = {
  memory: async () => closedAfterwards(await openCatalog('memory:')),
  'a directory': async () => closedAfterwards(await openCatalog(await freshFolder())),
  'the fake': async () => closedAfterwards(await fakeCatalog()),
  'the client': async () => closedAfterwards(await overHttp(await openCatalog('memory:'))),
}

const names = Object.keys(operations) as OperationName[]
type Function = (catalog: unknown, request?: unknown) => Promise<unknown>
const plain = (name: OperationName) => operations[name] as unknown as Function

describe.each(Object.entries(kinds))('%s', (_, open) => {
  it.each(['before', 'after'])('methods can be spied on %s their first use', async (when) => {
    const catalog = await open()
    const request = { id: ['t'] }
    if (when === 'after') for (const name of names) expect(catalog[name]).toBeTypeOf('function')
    const spy = vi.spyOn(catalog, 'tableExists')
    await expect(catalog.tableExists(request)).rejects.toMatchObject({ code: 'TableNotFound' })
    await expect(operations.tableExists(catalog, request)).rejects.toMatchObject({ code: 'TableNotFound' })
    expect(spy.mock.calls).toEqual([[request], [request]])
    spy.mockResolvedValue({} as never)
    await catalog.tableExists(request)
    spy.mockRestore()
    await expect(catalog.tableExists(request)).rejects.toMatchObject({ code: 'TableNotFound' })
    for (const name of names) {
      const double = mock.method(catalog, name, async () => ({ count: 99 }))
      expect(await plain(name)(catalog, {})).toEqual({ count: 99 })
      double.mock.restore()
      const error = await (catalog[name] as (given: unknown) => Promise<never>)({ surplus: 1 }).catch(
        (caught: { code: string }) => caught,
      )
      expect(error.code).toMatch(/InvalidInput|Unsupported/)
    }
    await catalog.declareTable(request)
    expect((await catalog.listTables({ id: [], include_declared: true })).tables).toEqual(['t'])
  })

  it.each(['outside of transactions', 'inside of one'])(
    'answers are the caller’s to change, and nothing else changes with them: %s',
    async (where) => {
      const all = await open()
      const changed = (value: unknown): void => {
        if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
        for (const member of Object.values(value)) changed(member)
        if (Array.isArray(value)) value.push('changed')
        else Object.assign(value, { changed: 'yes' })
      }
      const asked: [OperationName, object][] = [
        ['describeNamespace', { id: ['n'] }],
        ['describeTable', { id: ['p'] }],
        ['describeTable', { id: ['t'], load_detailed_metadata: true }],
        ['describeTableVersion', { id: ['z'], version: 1 }],
        ['listTableVersions', { id: ['z'] }],
        ['listTableTags', { id: ['t'] }],
        ['listTables', { id: [] }],
        ...(where === 'inside of one' ? [] : ([['listTransactions', {}]] as [OperationName, object][])),
      ]
      const properties = { a: 'b' }
      const change = async (catalog: Transaction | Catalog) => {
        const ask = async ([name, request]: (typeof asked)[number]) => {
          const { context: _, ...answer } = (await plain(name)(catalog, request)) as { context?: unknown }
          return answer
        }
        changed(await catalog.createNamespace({ id: ['n'], properties }))
        changed(await catalog.declareTable({ id: ['p'], properties }))
        changed(await catalog.createTable({ id: ['t'], data: [{ x: 1 }], properties }))
        changed(await catalog.createTableTag({ id: ['t'], tag: 'one', version: 1 }))
        changed(
          await catalog.batchCommitTables({
            operations: [
              { declare_table: { id: ['z'], properties } },
              { create_table_version: { id: ['z'], version: 1, manifest_path: 'm', metadata: properties } },
            ],
          }),
        )
        expect(properties).toEqual({ a: 'b' })
        for (const each of asked) {
          const before = structuredClone(await ask(each))
          changed(await ask(each))
          expect(await ask(each)).toEqual(before)
        }
        changed(await catalog.deregisterTable({ id: ['p'] }))
      }
      if (where === 'outside of transactions') return change(all)
      await all.transaction(change)
      // Modifying a response did not modify committed data either.
      expect((await all.describeTable({ id: ['t'] })).properties).toEqual(properties)
      expect((await all.describeNamespace({ id: ['n'] })).properties).toEqual(properties)
    },
  )
})

describe('plain functions', () => {
  it.each(names)('%s says what was forgotten, and never throws at once', async (name) => {
    const opening = fakeCatalog()
    for (const [given, says] of [
      [opening, 'Await it first'],
      [undefined, 'takes a catalog first'],
      [{ id: [] }, 'takes a catalog first'],
      [null, 'takes a catalog first'],
      ['memory:', 'takes a catalog first'],
    ] as const) {
      const answer = plain(name)(given, { id: [] })
      await expect(answer).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringContaining(says),
      })
      await expect(answer).rejects.toThrow(name)
    }
    await (await opening).close()
    const own = { [name]: async (request: unknown) => ({ request }) }
    expect(await plain(name)(own, 7)).toEqual({ request: 7 })
    const throwing = {
      [name]: () => {
        throw new Error('at once')
      },
    }
    await expect(plain(name)(throwing, {})).rejects.toThrow('at once')
  })

  it('take transactions, and wrappers of catalogs', async () => {
    const catalog = closedAfterwards(await fakeCatalog())
    await catalog.transaction(async (tx) => {
      await operations.declareTable(tx, { id: ['a'] })
    })
    await operations.declareTable(new Proxy(catalog, {}), { id: ['b'] })
    await operations.declareTable(Object.create(catalog), { id: ['c'] })
    const { tables } = await operations.listTables(catalog, { id: [], include_declared: true })
    expect(tables).toEqual(['a', 'b', 'c'])
  })
})
