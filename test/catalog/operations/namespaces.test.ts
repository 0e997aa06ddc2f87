import { describe, expect, it } from 'vitest'
import { eachLocalCatalog } from '../../support/catalogs.ts'
import { inspect, tablesOf } from '../../support/inspect.ts'
import { fails, refuses } from '../../support/refusals.ts'

eachLocalCatalog((open) => {
  describe('createNamespace', () => {
    it('answers with the properties and the transaction', async () => {
      const catalog = await open()
      expect(await catalog.createNamespace({ id: ['prod'], properties: { owner: 'ops' } })).toEqual({
        properties: { owner: 'ops' },
        transaction_id: expect.stringMatching(/^[0-9A-Z]{26}$/),
      })
      expect(await catalog.createNamespace({ id: ['prod', 'eu'] })).toMatchObject({ properties: {} })
    })

    it('keeps property names that mean something to JavaScript', async () => {
      const catalog = await open()
      const properties = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}')
      await catalog.createNamespace({ id: ['prod'], properties })
      const described = await catalog.describeNamespace({ id: ['prod'] })
      expect(Object.entries(described.properties).sort()).toEqual(Object.entries(properties).sort())
    })

    it('needs the parent to be there, and names the first one that is not', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['a'] })
      await refuses(
        catalog,
        () => catalog.createNamespace({ id: ['a', 'b', 'c'] }),
        'NamespaceNotFound',
        'a$b.',
        'Create it first',
      )
    })

    it('cannot be below a table', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      await fails(catalog.createNamespace({ id: ['t', 'x'] }), 'NamespaceNotFound', 'no namespace t')
    })

    it('mode Create, the default, refuses a taken name, be it of a table', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await catalog.declareTable({ id: ['t'] })
      for (const mode of [undefined, 'Create', 'create'] as const) {
        await refuses(
          catalog,
          () => catalog.createNamespace({ id: ['n'], mode }),
          'NamespaceAlreadyExists',
          'namespace n already exists',
          'another name',
        )
      }
      for (const mode of ['Create', 'ExistOk', 'Overwrite'] as const) {
        await refuses(
          catalog,
          () => catalog.createNamespace({ id: ['t'], mode }),
          'NamespaceAlreadyExists',
          'table t already exists',
        )
      }
    })

    it('mode ExistOk leaves an existing one as it is, and records no transaction', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'], properties: { a: '1' } })
      await catalog.declareTable({ id: ['n', 't'] })
      const before = await inspect(catalog)
      expect(await catalog.createNamespace({ id: ['n'], mode: 'ExistOk', properties: { b: '2' } })).toEqual({
        properties: { a: '1' },
      })
      expect(await inspect(catalog)).toEqual(before)
      expect(
        await catalog.createNamespace({ id: ['m'], mode: 'exist_ok', properties: { b: '2' } }),
      ).toMatchObject({
        properties: { b: '2' },
      })
    })

    it('mode Overwrite drops the existing one with all that is in it', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'], properties: { a: '1' } })
      await catalog.createNamespace({ id: ['n', 'below'] })
      await catalog.declareTable({ id: ['n', 'below', 't'] })
      await catalog.declareTable({ id: ['other'] })
      const answer = await catalog.createNamespace({ id: ['n'], mode: 'Overwrite', properties: { b: '2' } })
      expect(answer).toEqual({ properties: { b: '2' }, transaction_id: expect.any(String) })
      expect(await tablesOf(catalog)).toEqual(['other'])
      expect(await catalog.listNamespaces({ id: ['n'] })).toEqual({ namespaces: [] })
    })

    it('the root always exists and cannot be created', async () => {
      const catalog = await open()
      await fails(catalog.createNamespace({ id: [] }), 'NamespaceAlreadyExists', 'root', 'give the id')
      await fails(catalog.createNamespace({ id: [], mode: 'Overwrite' }), 'NamespaceAlreadyExists', 'root')
    })
  })

  describe('describeNamespace and namespaceExists', () => {
    it('answer for a namespace and for the root', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'], properties: { a: '1' } })
      expect(await catalog.describeNamespace({ id: ['n'] })).toEqual({ properties: { a: '1' } })
      expect(await catalog.describeNamespace({ id: [] })).toEqual({ properties: {} })
      expect(await catalog.namespaceExists({ id: ['n'] })).toEqual({})
      expect(await catalog.namespaceExists({ id: [] })).toEqual({})
    })

    it('fail for what is no namespace', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      for (const id of [['x'], ['t'], ['x', 'y'], ['constructor'], ['__proto__']]) {
        await fails(
          catalog.describeNamespace({ id }),
          'NamespaceNotFound',
          String(id[0]),
          'list the namespaces',
        )
        await fails(catalog.namespaceExists({ id }), 'NamespaceNotFound', String(id[0]))
      }
    })
  })

  describe('dropNamespace', () => {
    it('answers with the properties it had, the transaction in a list as the protocol has it', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'], properties: { a: '1' } })
      const { transaction_id, ...rest } = await catalog.dropNamespace({ id: ['n'] })
      expect(rest).toEqual({ properties: { a: '1' } })
      expect(transaction_id).toEqual([expect.any(String)])
      expect(await catalog.describeTransaction({ id: transaction_id! })).toMatchObject({
        status: 'Succeeded',
        properties: { operation: 'DropNamespace', subject: 'n' },
      })
      await fails(catalog.namespaceExists({ id: ['n'] }), 'NamespaceNotFound')
    })

    it('behavior Restrict, the default, refuses one that holds something, and names it', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await catalog.declareTable({ id: ['n', 't'] })
      for (const behavior of [undefined, 'Restrict'] as const) {
        await refuses(
          catalog,
          () => catalog.dropNamespace({ id: ['n'], behavior }),
          'NamespaceNotEmpty',
          'n$t',
          'Cascade',
        )
      }
      await catalog.dropTable({ id: ['n', 't'] })
      await catalog.createNamespace({ id: ['n', 'child'] })
      await refuses(catalog, () => catalog.dropNamespace({ id: ['n'] }), 'NamespaceNotEmpty', 'n$child')
    })

    it('behavior Cascade drops everything in it in one step, and nothing else', async () => {
      const catalog = await open()
      for (const id of [['n'], ['n', 'a'], ['n', 'a', 'b'], ['m']]) await catalog.createNamespace({ id })
      for (const id of [
        ['n', 't'],
        ['n', 'a', 'b', 't'],
        ['m', 't'],
      ])
        await catalog.declareTable({ id })
      await catalog.dropNamespace({ id: ['n'], behavior: 'Cascade' })
      expect(await tablesOf(catalog)).toEqual(['m$t'])
      expect(await catalog.listNamespaces({ id: [] })).toEqual({ namespaces: ['m'] })
      // Its locations are free again, and names below it do not come back with it.
      await catalog.createNamespace({ id: ['n'] })
      expect(await catalog.listNamespaces({ id: ['n'] })).toEqual({ namespaces: [] })
    })

    it('mode Skip passes over one that is not there; mode Fail, the default, does not', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      expect(await catalog.dropNamespace({ id: ['x'], mode: 'Skip' })).toEqual({})
      expect(await catalog.dropNamespace({ id: ['t'], mode: 'SKIP' })).toEqual({})
      await refuses(catalog, () => catalog.dropNamespace({ id: ['x'] }), 'NamespaceNotFound', 'x')
      await refuses(
        catalog,
        () => catalog.dropNamespace({ id: ['t'], mode: 'Fail' }),
        'NamespaceNotFound',
        't',
      )
    })

    it('the root cannot be dropped', async () => {
      const catalog = await open()
      await refuses(
        catalog,
        () => catalog.dropNamespace({ id: [], behavior: 'Cascade' }),
        'InvalidInput',
        'root namespace cannot be dropped',
      )
    })
  })

  describe('listNamespaces', () => {
    it('lists direct children only, in order of their UTF-8 bytes, without tables', async () => {
      const catalog = await open()
      for (const name of ['b', 'a', 'é', '\u{1F6EB}', '\uffff', 'B', 'constructor', '__proto__']) {
        await catalog.createNamespace({ id: [name] })
      }
      await catalog.createNamespace({ id: ['a', 'below'] })
      await catalog.declareTable({ id: ['table'] })
      expect(await catalog.listNamespaces({ id: [] })).toEqual({
        namespaces: ['B', '__proto__', 'a', 'b', 'constructor', 'é', '\uffff', '\u{1F6EB}'],
      })
      expect(await catalog.listNamespaces({ id: ['a'] })).toEqual({ namespaces: ['below'] })
      await fails(catalog.listNamespaces({ id: ['table'] }), 'NamespaceNotFound', 'table')
    })

    it('goes on where the page ended', async () => {
      const catalog = await open()
      for (const name of ['a', 'b', 'c']) await catalog.createNamespace({ id: [name] })
      await catalog.declareTable({ id: ['bb'] })
      const first = await catalog.listNamespaces({ id: [], limit: 2 })
      expect(first.namespaces).toEqual(['a', 'b'])
      expect(await catalog.listNamespaces({ id: [], limit: 2, page_token: first.page_token })).toEqual({
        namespaces: ['c'],
      })
      expect(await catalog.listNamespaces({ id: [], limit: 3 })).toEqual({ namespaces: ['a', 'b', 'c'] })
      expect(await catalog.listNamespaces({ id: [], limit: 0 })).toEqual({
        namespaces: [],
        page_token: expect.any(String),
      })
    })
  })
})
