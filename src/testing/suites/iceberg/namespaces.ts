import assert from 'node:assert/strict'
import { rule, type Topic } from '../suite.ts'
import { absent, createTable, done, failed, good, type IcebergTrial, pagesOf } from './trial.ts'

const nowhere = ['nowhere-at-all']

async function createNamespace({ ask }: IcebergTrial, namespace: readonly string[], properties = {}) {
  return good(await ask('POST', ['namespaces'], { body: { namespace, properties } }))
}

/** Namespaces directly below one, in order. */
async function childrenOf({ ask }: IcebergTrial, parent: readonly string[]): Promise<unknown[]> {
  const query = { parent: parent.join('\u001f') }
  return good(await ask('GET', ['namespaces'], { query })).namespaces.sort()
}

export const namespaces: Topic<IcebergTrial> = {
  name: 'namespaces',
  cases: [
    rule(
      'iceberg.namespace',
      'Iceberg REST, createNamespace',
      'A new namespace is answered with its properties, loaded with them, and listed.',
      ['listNamespaces', 'loadNamespaceMetadata'],
      async (trial) => {
        const { ask, home } = trial
        const name = [`${home[0]}-other`]
        try {
          const made = await createNamespace(trial, name, { owner: 'ada' })
          assert.deepEqual(made.namespace, name)
          assert.equal(made.properties.owner, 'ada')
          const loaded = good(await ask('GET', ['namespaces', name]))
          assert.deepEqual(loaded.namespace, name)
          assert.equal(loaded.properties.owner, 'ada')
          const { namespaces } = good(await ask('GET', ['namespaces']))
          assert.ok(namespaces.some((one: unknown[]) => one.length === 1 && one[0] === name[0]))
        } finally {
          await ask('DELETE', ['namespaces', name])
        }
        failed(await ask('GET', ['namespaces', name]), 404, 'NoSuchNamespaceException')
      },
    ),
    rule(
      'iceberg.namespace-exists',
      'Iceberg REST, namespaceExists',
      'HEAD of a namespace is 204 or 404, without a body.',
      ['namespaceExists'],
      async ({ ask, home }) => {
        done(await ask('HEAD', ['namespaces', home]))
        absent(await ask('HEAD', ['namespaces', nowhere]))
      },
    ),
    rule(
      'iceberg.namespace-taken',
      'Iceberg REST, createNamespace',
      'A namespace whose name is taken is 409 AlreadyExistsException, and the one there is stays as it is.',
      ['loadNamespaceMetadata'],
      async ({ ask, home }) => {
        const before = good(await ask('GET', ['namespaces', home]))
        const body = { namespace: home, properties: { taken: 'yes' } }
        failed(await ask('POST', ['namespaces'], { body }), 409, 'AlreadyExistsException')
        assert.deepEqual(good(await ask('GET', ['namespaces', home])), before)
      },
    ),
    rule(
      'iceberg.namespace-missing',
      'Iceberg REST, error NoSuchNamespaceException',
      'What is asked of a namespace that is not there is 404 NoSuchNamespaceException.',
      ['loadNamespaceMetadata', 'updateProperties', 'listNamespaces'],
      async ({ ask }) => {
        const type = 'NoSuchNamespaceException'
        failed(await ask('GET', ['namespaces', nowhere]), 404, type)
        failed(await ask('DELETE', ['namespaces', nowhere]), 404, type)
        failed(await ask('GET', ['namespaces'], { query: { parent: nowhere[0]! } }), 404, type)
        const body = { updates: { a: 'b' }, removals: [] }
        failed(await ask('POST', ['namespaces', nowhere, 'properties'], { body }), 404, type)
      },
    ),
    rule(
      'iceberg.namespace-nested',
      'Iceberg REST, listNamespaces',
      'A listing below a parent has the full names of those directly there, and no others.',
      ['nested', 'listNamespaces'],
      async (trial) => {
        const { ask, home } = trial
        for (const levels of [['a'], ['b'], ['a', 'c']]) await createNamespace(trial, [...home, ...levels])
        assert.deepEqual(await childrenOf(trial, home), [
          [...home, 'a'],
          [...home, 'b'],
        ])
        assert.deepEqual(await childrenOf(trial, [...home, 'a']), [[...home, 'a', 'c']])
        assert.deepEqual(await childrenOf(trial, [...home, 'b']), [])
        const { namespaces } = good(await ask('GET', ['namespaces']))
        assert.ok(namespaces.every((one: unknown[]) => one.length === 1))
        failed(await ask('DELETE', ['namespaces', [...home, 'a']]), [400, 409])
        good(await ask('GET', ['namespaces', [...home, 'a', 'c']]))
      },
    ),
    rule(
      'iceberg.namespace-orphan',
      'decision: a namespace lies in its parent',
      'A namespace below one that is not there is 404, and makes none.',
      ['nested', 'loadNamespaceMetadata'],
      async ({ ask, home }) => {
        const body = { namespace: [...home, 'none', 'a'] }
        failed(await ask('POST', ['namespaces'], { body }), 404, 'NoSuchNamespaceException')
        failed(await ask('GET', ['namespaces', [...home, 'none']]), 404)
      },
    ),
    rule(
      'iceberg.namespace-pages',
      'Iceberg REST, pages',
      'Pages have at most as many namespaces as asked for, and together each of them once.',
      ['nested', 'pages', 'listNamespaces'],
      async (trial) => {
        const { home } = trial
        const all = ['a', 'b', 'c', 'd', 'e'].map((name) => [...home, name])
        for (const name of all) await createNamespace(trial, name)
        const query = { parent: home.join('\u001f'), pageSize: '2' }
        const pages = await pagesOf(trial, ['namespaces'], query)
        assert.ok(pages.length > 1)
        assert.deepEqual(pages.flat().sort(), all)
        // Without a token, nothing is left for another page.
        assert.deepEqual(await childrenOf(trial, home), all)
      },
    ),
    rule(
      'iceberg.namespace-properties',
      'Iceberg REST, updateProperties',
      'Properties are set and removed, and the answer says which of them were there.',
      ['updateProperties', 'loadNamespaceMetadata'],
      async ({ ask, home }) => {
        const change = async (body: object) =>
          good(await ask('POST', ['namespaces', home, 'properties'], { body }))
        const first = await change({ updates: { a: '1', b: '2', constructor: 'x' }, removals: [] })
        assert.deepEqual([...first.updated].sort(), ['a', 'b', 'constructor'])
        assert.deepEqual(first.removed, [])
        const second = await change({ updates: { b: '3' }, removals: ['a', 'none'] })
        assert.deepEqual([second.updated, second.removed], [['b'], ['a']])
        assert.deepEqual(second.missing ?? [], ['none'])
        const { properties } = good(await ask('GET', ['namespaces', home]))
        assert.deepEqual([properties.b, properties.constructor], ['3', 'x'])
        assert.ok(!('a' in properties))
        const none = await change({ updates: {}, removals: [] })
        assert.deepEqual([none.updated, none.removed], [[], []])
      },
    ),
    rule(
      'iceberg.namespace-properties-both',
      'Iceberg REST, updateProperties, status 422',
      'A property that is set and removed at once is 422, and nothing changes.',
      ['updateProperties', 'loadNamespaceMetadata'],
      async ({ ask, home }) => {
        const before = good(await ask('GET', ['namespaces', home]))
        const body = { updates: { a: '1', b: '2' }, removals: ['a'] }
        failed(await ask('POST', ['namespaces', home, 'properties'], { body }), 422)
        assert.deepEqual(good(await ask('GET', ['namespaces', home])), before)
      },
    ),
    rule(
      'iceberg.namespace-not-empty',
      'Iceberg REST, dropNamespace',
      'A namespace with a table is not dropped: 409 NamespaceNotEmptyException, and the table stays.',
      [],
      async (trial) => {
        const { ask, home } = trial
        await createTable(trial, 't')
        failed(await ask('DELETE', ['namespaces', home]), [400, 409], 'NamespaceNotEmptyException')
        good(await ask('GET', ['namespaces', home, 'tables', 't']))
      },
    ),
    rule(
      'iceberg.namespace-names',
      'Iceberg REST, namespaces in paths',
      'Names of namespaces hold dots, slashes, spaces, signs and emoji, and come back as they are.',
      ['nested', 'listNamespaces', 'loadNamespaceMetadata'],
      async (trial) => {
        const { ask, home } = trial
        const names = ['a.b', 'a/b', 'a b', '100%', 'a+b', 'x?y#z', 'é', '\u{1F6EB}', '%2F', '__proto__']
        for (const name of names) await createNamespace(trial, [...home, name], { name })
        for (const name of names) {
          const { namespace, properties } = good(await ask('GET', ['namespaces', [...home, name]]))
          assert.deepEqual(namespace, [...home, name])
          assert.equal(properties.name, name)
        }
        const listed = (await childrenOf(trial, home)) as string[][]
        assert.deepEqual(listed.map((one) => one.at(-1)).sort(), [...names].sort())
        for (const name of names) done(await ask('DELETE', ['namespaces', [...home, name]]))
        assert.deepEqual(await childrenOf(trial, home), [])
      },
    ),
  ],
}
