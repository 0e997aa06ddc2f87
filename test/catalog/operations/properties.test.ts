import { describe, expect, it } from 'vitest'
import { limits } from '../../../src/base/model/fields.ts'
import { eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { refuses } from '../../support/refusals.ts'
import { changesSince } from '../handle/watch-model.ts'

const table = { id: ['n', 't'] }
const namespace = { id: ['n'] }

eachCatalog((open) => {
  const begun = async () => {
    const catalog = await open()
    await catalog.createNamespace({ ...namespace, properties: { owner: 'ada' } })
    await catalog.createTable({ ...table, data: [{ a: 1 }], properties: { owner: 'ada' } })
    return catalog
  }

  describe('properties that change', () => {
    it('are set and removed, and are the same as their transaction says', async () => {
      const catalog = await begun()
      for (const [change, describe, subject] of [
        [catalog.updateTableProperties, catalog.describeTable, table],
        [catalog.updateNamespaceProperties, catalog.describeNamespace, namespace],
      ] as const) {
        const answer = await change({ ...subject, updates: { tier: 'gold' }, removals: ['owner', 'none'] })
        expect(answer).toMatchObject({ properties: { tier: 'gold' }, missing: ['none'] })
        const { properties } = await catalog.describeTransaction({ id: [answer.transaction_id!] })
        expect(properties).toMatchObject({ subject: subject.id.join('$') })
        expect((await describe(subject)).properties).toEqual({ tier: 'gold' })
      }
    })

    it('are no change where they are so already', async () => {
      const catalog = await begun()
      const since = await catalog.watch().token()
      for (const change of [{ updates: { owner: 'ada' } }, { removals: ['none'] }]) {
        const answers = [
          await catalog.updateTableProperties({ ...table, ...change }),
          await catalog.updateNamespaceProperties({ ...namespace, ...change }),
        ]
        for (const answer of answers) expect(answer).not.toHaveProperty('transaction_id')
      }
      expect(await changesSince(catalog, since)).toEqual([])
    })

    it('are in the feed as changes of what is there', async () => {
      const catalog = await begun()
      const since = await catalog.watch().token()
      await catalog.updateTableProperties({ ...table, updates: { a: '1' } })
      await catalog.updateNamespaceProperties({ ...namespace, updates: { a: '1' } })
      const changes = (await changesSince(catalog, since)).flatMap(({ changes }) => changes)
      expect(changes).toEqual([
        { operation: 'UpdateTableProperties', kind: 'table', effect: 'changed', ...table },
        { operation: 'UpdateNamespaceProperties', kind: 'namespace', effect: 'changed', ...namespace },
      ])
    })

    it('have the limits of new ones, also together with those that are there', async () => {
      const catalog = await begun()
      const many = (from: number, count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${from + i}`, 'v']))
      const change = (asked: object) => async () => {
        await catalog.updateNamespaceProperties({ ...namespace, ...asked })
        await catalog.updateTableProperties({ ...table, ...asked })
      }
      await change({ updates: many(0, limits.entries - 1) })()
      for (const asked of [
        { updates: many(limits.entries, 1) },
        { updates: { owner: 'x'.repeat(limits.entryBytes) } },
        { updates: { k0: 'x'.repeat(limits.entryBytes - 1_000) } },
      ])
        await refuses(catalog, change(asked), 'InvalidInput', 'the most')
      await change({ updates: many(limits.entries, 1), removals: ['k0'] })()
      const tooMany = { removals: Array.from({ length: limits.entries + 1 }, (_, i) => `x${i}`) }
      await refuses(catalog, change(tooMany), 'InvalidInput', 'removals must hold at most')
    })

    it('refuse what contradicts itself, the root, and another format', async () => {
      const catalog = await begun()
      const both = { updates: { a: '1' }, removals: ['a'] }
      for (const attempt of [
        () => catalog.updateTableProperties({ ...table, ...both }),
        () => catalog.updateNamespaceProperties({ ...namespace, ...both }),
      ])
        await refuses(catalog, attempt, 'InvalidInput', '"a"', 'updates', 'removals')
      const root = () => catalog.updateNamespaceProperties({ id: [], updates: { a: '1' } })
      await refuses(catalog, root, 'InvalidInput', 'root')
      const format = () => catalog.updateTableProperties({ ...table, updates: { table_type: 'ICEBERG' } })
      await refuses(catalog, format, 'InvalidInput', 'table_type')
    })

    it('may have names that mean something to JavaScript', async () => {
      const catalog = await begun()
      const updates = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}')
      for (const asked of [{ updates }, { removals: ['owner'] }]) {
        await catalog.updateTableProperties({ ...table, ...asked })
        await catalog.updateNamespaceProperties({ ...namespace, ...asked })
      }
      const found = [await catalog.describeTable(table), await catalog.describeNamespace(namespace)]
      for (const { properties } of found)
        expect(Object.entries(properties).sort()).toEqual(Object.entries(updates).sort())
      await catalog.updateTableProperties({ ...table, removals: ['__proto__', 'hasOwnProperty'] })
      expect(Object.keys((await catalog.describeTable(table)).properties)).not.toContain('__proto__')
    })

    it('are kept by writers of rows at the same time', async () => {
      const catalog = await begun()
      await Promise.all([
        ...Array.from({ length: 8 }, (_, i) => catalog.insertIntoTable({ ...table, data: [{ a: i }] })),
        ...Array.from({ length: 8 }, (_, i) =>
          catalog.updateTableProperties({ ...table, updates: { [`k${i}`]: '1' } }),
        ),
      ])
      const { properties } = await catalog.describeTable(table)
      expect(Object.keys(properties).sort()).toEqual([
        'k0',
        'k1',
        'k2',
        'k3',
        'k4',
        'k5',
        'k6',
        'k7',
        'owner',
      ])
      expect(await catalog.countTableRows(table)).toEqual({ count: 9 })
    })

    it('are part of transactions, and go with tables that move, are cloned or come back', async () => {
      const catalog = await begun()
      const failed = catalog.transaction(async (tx) => {
        await tx.updateTableProperties({ ...table, updates: { owner: 'eve' } })
        await tx.updateNamespaceProperties({ ...namespace, updates: { owner: 'eve' } })
        throw new Error('enough')
      })
      await expect(failed).rejects.toThrow('enough')
      await catalog.transaction(async (tx) => {
        await tx.updateTableProperties({ ...table, updates: { tier: '1' } })
        await tx.insertIntoTable({ ...table, data: [{ a: 2 }] })
        await tx.updateTableProperties({ ...table, updates: { tier: '2' } })
        expect((await tx.describeTable(table)).properties).toEqual({ owner: 'ada', tier: '2' })
      })
      const properties = { owner: 'ada', tier: '2' }
      await catalog.renameTable({ ...table, new_table_name: 'u' })
      await catalog.cloneTable({ id: ['c'], source: ['n', 'u'] })
      const { location } = await catalog.deregisterTable({ id: ['n', 'u'] })
      await catalog.registerTable({ id: ['r'], location })
      for (const id of [['c'], ['r']]) {
        expect((await catalog.describeTable({ id })).properties).toEqual(properties)
        expect(await catalog.countTableRows({ id })).toEqual({ count: 2 })
      }
      expect((await catalog.describeNamespace(namespace)).properties).toEqual({ owner: 'ada' })
    })
  })
})

eachLocalCatalog((open) => {
  it('hooks are asked about changes of properties by their own names', async () => {
    const asked: string[] = []
    const catalog = await open({
      authorize: ({ operation, changes, id }) => {
        asked.push(`${operation} ${changes} ${id?.join('$')}`)
        return !operation.includes('Properties')
      },
    })
    await catalog.createNamespace(namespace)
    await catalog.declareTable(table)
    const updates = { a: '1' }
    for (const attempt of [
      () => catalog.updateTableProperties({ ...table, updates }),
      () => catalog.updateNamespaceProperties({ ...namespace, updates }),
    ])
      await refuses(catalog, attempt, 'PermissionDenied')
    expect(asked).toEqual(
      expect.arrayContaining(['updateTableProperties true n$t', 'updateNamespaceProperties true n']),
    )
  })
})
