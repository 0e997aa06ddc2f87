import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, pages, tablesIn, unchanged } from './trial.ts'

export const namespaces: Topic<CatalogTrial> = {
  name: 'namespaces',
  cases: [
    rule(
      'namespace.root',
      'decision: root',
      'The root always exists; it cannot be created or dropped.',
      ['describeNamespace', 'namespaceExists'],
      async ({ catalog, home }: CatalogTrial) => {
        await catalog.describeNamespace({ id: [] })
        await catalog.namespaceExists({ id: [] })
        await refused(catalog.createNamespace({ id: [] }), 'NamespaceAlreadyExists')
        await refused(catalog.dropNamespace({ id: [] }), 'InvalidInput')
        await catalog.namespaceExists({ id: [...home] })
      },
    ),
    rule(
      'namespace.parent',
      'protocol: create namespace',
      'A namespace is created below one that exists: NamespaceNotFound otherwise.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.declareTable({ id: id('t') })
        await unchanged(trial, 'NamespaceNotFound', [
          () => catalog.createNamespace({ id: id('x', 'y') }),
          () => catalog.createNamespace({ id: id('t', 'y') }),
        ])
      },
    ),
    rule(
      'namespace.taken',
      'protocol: create namespace',
      'A taken name is refused as NamespaceAlreadyExists; with mode ExistOk the namespace stays as it is.',
      ['describeNamespace'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createNamespace({ id: id('n'), properties: { a: '1' } })
        await unchanged(trial, 'NamespaceAlreadyExists', [() => catalog.createNamespace({ id: id('n') })])
        await catalog.createNamespace({ id: id('n'), mode: 'ExistOk', properties: { a: '2' } })
        assert.deepEqual((await catalog.describeNamespace({ id: id('n') })).properties, { a: '1' })
      },
    ),
    rule(
      'namespace.properties',
      'decision: properties',
      'Properties are set and removed, the others stay, and names that were not there are told.',
      ['updateNamespaceProperties', 'describeNamespace'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createNamespace({ id: id('n'), properties: { a: '1', b: '2', c: '3' } })
        const change = { updates: { a: '4', d: '5' }, removals: ['b', 'x'] }
        const { properties, missing } = await catalog.updateNamespaceProperties({ id: id('n'), ...change })
        assert.deepEqual(properties, { a: '4', c: '3', d: '5' })
        assert.deepEqual(missing, ['x'])
        assert.deepEqual((await catalog.describeNamespace({ id: id('n') })).properties, properties)
        const both = { updates: { a: '6' }, removals: ['a'] }
        await refused(catalog.updateNamespaceProperties({ id: id('n'), ...both }), 'InvalidInput')
        await refused(catalog.updateNamespaceProperties({ id: id('x'), ...change }), 'NamespaceNotFound')
        assert.deepEqual((await catalog.describeNamespace({ id: id('n') })).properties, properties)
      },
    ),
    rule(
      'namespace.one-wins',
      'decision: names',
      'Of many who create the same namespace at the same time exactly one succeeds.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        const tries = Array.from({ length: 8 }, () => catalog.createNamespace({ id: id('n') }))
        const outcomes = await Promise.allSettled(tries)
        assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
      },
    ),
    rule(
      'namespace.list',
      'protocol: list namespaces',
      'Direct children are listed, without tables, in the order of their UTF-8 bytes, in pages of the limit.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        const children = ['A', 'a', 'b', '\uffff', '\u{1F6EB}']
        for (const name of children.toReversed()) await catalog.createNamespace({ id: id(name) })
        await catalog.createNamespace({ id: id('a', 'below') })
        await catalog.declareTable({ id: id('table') })
        assert.deepEqual((await catalog.listNamespaces({ id: id() })).namespaces, children)
        const found = await pages((page_token) => catalog.listNamespaces({ id: id(), limit: 2, page_token }))
        assert.deepEqual(
          found.map((page) => page.namespaces),
          [children.slice(0, 2), children.slice(2, 4), children.slice(4)],
        )
        await refused(catalog.listNamespaces({ id: id('none') }), 'NamespaceNotFound')
      },
    ),
    rule(
      'namespace.describe',
      'protocol: describe namespace',
      'A namespace tells its properties; what is none is NamespaceNotFound.',
      ['describeNamespace', 'namespaceExists'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createNamespace({ id: id('n'), properties: { owner: 'ops' } })
        await catalog.declareTable({ id: id('t') })
        assert.deepEqual((await catalog.describeNamespace({ id: id('n') })).properties, { owner: 'ops' })
        await catalog.namespaceExists({ id: id('n') })
        for (const name of ['t', 'x']) {
          await refused(catalog.describeNamespace({ id: id(name) }), 'NamespaceNotFound')
          await refused(catalog.namespaceExists({ id: id(name) }), 'NamespaceNotFound')
        }
      },
    ),
    rule(
      'namespace.drop',
      'protocol: drop namespace',
      'A namespace that holds something is refused as NamespaceNotEmpty; with Cascade all in it goes.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createNamespace({ id: id('n') })
        await catalog.createNamespace({ id: id('n', 'below') })
        await catalog.declareTable({ id: id('n', 'below', 't') })
        await catalog.declareTable({ id: id('other') })
        await unchanged(trial, 'NamespaceNotEmpty', [() => catalog.dropNamespace({ id: id('n') })])
        await catalog.dropNamespace({ id: id('n'), behavior: 'Cascade' })
        assert.deepEqual(await tablesIn(trial), [['other']])
        assert.deepEqual((await catalog.listNamespaces({ id: id() })).namespaces, [])
        await unchanged(trial, 'NamespaceNotFound', [() => catalog.dropNamespace({ id: id('n') })])
        await catalog.createNamespace({ id: id('n') })
        assert.deepEqual((await catalog.listNamespaces({ id: id('n') })).namespaces, [])
      },
    ),
  ],
}
