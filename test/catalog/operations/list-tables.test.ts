import { describe, expect, it } from 'vitest'
import { eachLocalCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'

eachLocalCatalog((open) => {
  describe('listTables', () => {
    it('lists the tables below a namespace recursively, as full identifiers in string form (4.9)', async () => {
      const catalog = await open()
      for (const id of [['prod'], ['prod', 'eu'], ['prod', 'eu', 'rail'], ['dev']]) {
        await catalog.createNamespace({ id })
      }
      for (const id of [
        ['prod', 'flights'],
        ['prod', 'eu', 'trains'],
        ['prod', 'eu', 'rail', 'x'],
        ['dev', 'y'],
        ['z'],
      ]) {
        await catalog.declareTable({ id })
      }
      expect(await catalog.listTables({ id: ['prod'] })).toEqual({
        tables: ['prod$eu$rail$x', 'prod$eu$trains', 'prod$flights'],
      })
      expect(await catalog.listTables({ id: ['prod', 'eu', 'rail'] })).toEqual({ tables: ['prod$eu$rail$x'] })
      expect(await catalog.listTables({ id: [] })).toEqual({
        tables: ['dev$y', 'prod$eu$rail$x', 'prod$eu$trains', 'prod$flights', 'z'],
      })
      expect(await catalog.listAllTables({})).toEqual(await catalog.listTables({ id: [] }))
    })

    it('answers for an empty namespace with an empty list and no token', async () => {
      const catalog = await open()
      expect(await catalog.listTables({ id: [] })).toEqual({ tables: [] })
      expect(await catalog.listTables({ id: [], limit: 0 })).toEqual({ tables: [] })
    })

    it('orders by segment, each by its UTF-8 bytes rather than JavaScript’s order', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['a'] })
      // As whole strings 'a!' would come before 'a$x'; segment by segment 'a' comes first.
      for (const id of [['a!'], ['a', 'x'], ['\uffff'], ['\u{1F6EB}'], ['Z'], ['é']])
        await catalog.declareTable({ id })
      expect((await catalog.listTables({ id: [] })).tables).toEqual([
        'Z',
        'a$x',
        'a!',
        'é',
        '\uffff',
        '\u{1F6EB}',
      ])
    })

    it('include_declared, true when absent, decides about tables that are declared only (4.9)', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['declared'] })
      await catalog.declareTable({ id: ['versioned'] })
      await catalog.createTableVersion({ id: ['versioned'], version: 1, manifest_path: 'm' })
      await catalog.registerTable({ id: ['registered'], location: 's3://bucket/registered' })
      const all = ['declared', 'registered', 'versioned']
      expect(await catalog.listTables({ id: [] })).toEqual({ tables: all })
      expect(await catalog.listTables({ id: [], include_declared: true })).toEqual({ tables: all })
      expect(await catalog.listTables({ id: [], include_declared: null })).toEqual({ tables: all })
      expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({
        tables: ['registered', 'versioned'],
      })
      expect(await catalog.listAllTables({ include_declared: false })).toEqual({
        tables: ['registered', 'versioned'],
      })
      // Without its versions it is declared again.
      await catalog.batchDeleteTableVersions({
        id: ['versioned'],
        ranges: [{ start_version: 0, end_version: -1 }],
      })
      expect(await catalog.listTables({ id: [], include_declared: false })).toEqual({
        tables: ['registered'],
      })
    })

    it('gives a token while there is more, and none at the end (4.9, paging rules)', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      for (const id of [['a'], ['n', 'a'], ['n', 'b'], ['o']]) await catalog.declareTable({ id })
      const pages: string[][] = []
      let page_token: string | null | undefined
      do {
        const page = await catalog.listTables({ id: [], limit: 1, page_token })
        pages.push(page.tables)
        page_token = page.page_token
      } while (page_token)
      expect(pages).toEqual([['a'], ['n$a'], ['n$b'], ['o']])
      expect(await catalog.listTables({ id: [], limit: 4 })).toEqual({ tables: ['a', 'n$a', 'n$b', 'o'] })
    })

    it('limit 0 gives no names, and a token exactly when there is anything', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      expect(await catalog.listTables({ id: [], limit: 0 })).toEqual({ tables: [] })
      await catalog.declareTable({ id: ['n', 'a'] })
      const none = await catalog.listTables({ id: [], limit: 0 })
      expect(none).toEqual({ tables: [], page_token: expect.any(String) })
      expect(await catalog.listTables({ id: [], page_token: none.page_token })).toEqual({ tables: ['n$a'] })
      expect(await catalog.listTables({ id: [], limit: 0, include_declared: false })).toEqual({ tables: [] })
    })

    it('a table that stays comes exactly once, whatever comes and goes between the pages', async () => {
      const catalog = await open()
      for (const id of [['m'], ['m', 'x']]) await catalog.createNamespace({ id })
      const staying = [['a'], ['c'], ['m', 'b'], ['m', 'd'], ['m', 'x', 'a'], ['z']]
      for (const id of staying) await catalog.declareTable({ id })
      const changes = [
        () => catalog.declareTable({ id: ['b'] }),
        () => catalog.declareTable({ id: ['m', 'a'] }),
        () => catalog.dropTable({ id: ['b'] }),
        () => catalog.createNamespace({ id: ['m', 'x', 'y'] }),
        () => catalog.declareTable({ id: ['m', 'x', 'y', 'new'] }),
        () => catalog.dropTable({ id: ['m', 'a'] }),
        () => catalog.declareTable({ id: ['zz'] }),
      ]
      const seen: string[] = []
      let page_token: string | null | undefined
      do {
        const page = await catalog.listTables({ id: [], limit: 1, page_token })
        seen.push(...page.tables)
        page_token = page.page_token
        await changes.shift()?.()
      } while (page_token)
      for (const id of staying) expect(seen.filter((name) => name === id.join('$'))).toHaveLength(1)
      expect(new Set(seen).size).toBe(seen.length)
    })

    it('a walk goes on when the namespace or table it stopped at is gone', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['m'] })
      for (const id of [['a'], ['m', 'a'], ['m', 'b'], ['z']]) await catalog.declareTable({ id })
      const { page_token } = await catalog.listTables({ id: [], limit: 2 })
      await catalog.dropNamespace({ id: ['m'], behavior: 'Cascade' })
      expect(await catalog.listTables({ id: [], page_token })).toEqual({ tables: ['z'] })
    })

    it('fails for a namespace that is not there, and for a table', async () => {
      const catalog = await open()
      await catalog.declareTable({ id: ['t'] })
      await fails(catalog.listTables({ id: ['x'] }), 'NamespaceNotFound', 'x', 'Create it first')
      await fails(catalog.listTables({ id: ['t'] }), 'NamespaceNotFound', 'no namespace t')
    })

    it('joins names with the delimiter asked for, of 1 to 8 characters', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['n'] })
      await catalog.declareTable({ id: ['n', 't'] })
      for (const delimiter of ['.', '::', '\u{1F6EB}'.repeat(8)]) {
        expect(await catalog.listTables({ id: [], delimiter })).toEqual({ tables: [`n${delimiter}t`] })
      }
      await fails(catalog.listTables({ id: [], delimiter: '' }), 'InvalidInput', '1 to 8 characters')
      await fails(
        catalog.listTables({ id: [], delimiter: 'x'.repeat(9) }),
        'InvalidInput',
        '1 to 8 characters',
      )
    })

    it('refuses a delimiter that occurs in a listed name, or makes one with its neighbour', async () => {
      const catalog = await open()
      await catalog.createNamespace({ id: ['a.b'] })
      await catalog.declareTable({ id: ['a.b', 't'] })
      await fails(
        catalog.listTables({ id: [], delimiter: '.' }),
        'InvalidInput',
        'a.b$t',
        'another delimiter',
      )
      await catalog.createNamespace({ id: ['c:'] })
      await catalog.declareTable({ id: ['c:', 't'] })
      await fails(
        catalog.listTables({ id: ['c:'], delimiter: '::' }),
        'InvalidInput',
        'c:$t',
        'another delimiter',
      )
    })
  })
})

eachLocalCatalog((open) => {
  describe('a long listing', () => {
    it('gives 1,000 names when no limit is named, and never more than 10,000', async () => {
      const catalog = await open()
      const names = Array.from({ length: 10_000 }, (_, i) => `t${String(i).padStart(5, '0')}`)
      await catalog.batchCommitTables({
        operations: names.map((name) => ({ declare_table: { id: [name] } })),
      })
      await catalog.declareTable({ id: ['u'] })
      const byDefault = await catalog.listTables({ id: [] })
      expect(byDefault.tables).toEqual(names.slice(0, 1_000))
      expect(byDefault.page_token).toEqual(expect.any(String))
      const most = await catalog.listTables({ id: [], limit: 1_000_000 })
      expect(most.tables).toEqual(names)
      expect(await catalog.listTables({ id: [], page_token: most.page_token })).toEqual({ tables: ['u'] })
    })

    it('passes over thousands of empty namespaces in bounded pages, and still finds what follows', async () => {
      const catalog = await open()
      const empty = Array.from({ length: 10_050 }, (_, i) => `n${String(i).padStart(5, '0')}`)
      for (let at = 0; at < empty.length; at += 500) {
        await Promise.all(empty.slice(at, at + 500).map((name) => catalog.createNamespace({ id: [name] })))
      }
      await catalog.declareTable({ id: ['n10049', 't'] })
      const tables: string[] = []
      let pages = 0
      let page_token: string | null | undefined
      do {
        const page = await catalog.listTables({ id: [], page_token })
        tables.push(...page.tables)
        page_token = page.page_token
        pages++
      } while (page_token)
      expect(tables).toEqual(['n10049$t'])
      expect(pages).toBe(2)
    })
  })
})
