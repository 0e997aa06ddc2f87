import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { type CatalogTrial, pages, tablesIn, withVersions } from './trial.ts'

async function tree({ catalog, id }: CatalogTrial): Promise<void> {
  for (const name of [['n'], ['n', 'deep'], ['o']]) await catalog.createNamespace({ id: id(...name) })
  for (const name of [['a'], ['n', 'b'], ['n', 'deep', 'c'], ['o', 'd'], ['z']]) {
    await catalog.declareTable({ id: id(...name) })
  }
}

const inTree = [['a'], ['n', 'b'], ['n', 'deep', 'c'], ['o', 'd'], ['z']]

export const listing: Topic<CatalogTrial> = {
  name: 'listing tables',
  cases: [
    rule(
      'list.recursive',
      'document 4.9',
      'Tables below a namespace are listed recursively, as full identifiers in string form.',
      [],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        const { tables } = await catalog.listTables({ id: id() })
        assert.deepEqual(
          tables,
          inTree.map((name) => id(...name).join('$')),
        )
        assert.deepEqual((await catalog.listTables({ id: id('n', 'deep') })).tables, [
          id('n', 'deep', 'c').join('$'),
        ])
      },
    ),
    rule(
      'list.root',
      'document 1, conventions',
      'The root lists the tables of all namespaces.',
      ['listAllTables'],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        const expected = inTree.map((name) => id(...name).join('$'))
        const walks = [
          await pages((page_token) => catalog.listTables({ id: [], limit: 10_000, page_token })),
          await pages((page_token) => catalog.listAllTables({ limit: 10_000, page_token })),
        ]
        for (const walk of walks) {
          const own = walk.flatMap(({ tables }) => tables).filter((name) => name.startsWith(`${id()[0]}$`))
          assert.deepEqual(own, expected)
        }
      },
    ),
    rule(
      'list.order',
      'decision: list tables',
      'Names come in the order of their segments, each by its UTF-8 bytes.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createNamespace({ id: id('a') })
        const expected = [['Z'], ['a', 'x'], ['a!'], ['é'], ['\uffff'], ['\u{1F6EB}']]
        for (const name of expected.toReversed()) await catalog.declareTable({ id: id(...name) })
        assert.deepEqual(await tablesIn(trial), expected)
      },
    ),
    rule(
      'list.declared',
      'document 4.9',
      'include_declared, true when absent, decides about tables that are declared only.',
      [],
      async (trial: CatalogTrial) => {
        await withVersions(trial, 'created', 1)
        await trial.catalog.declareTable({ id: trial.id('declared') })
        assert.deepEqual(await tablesIn(trial), [['created'], ['declared']])
        assert.deepEqual(await tablesIn(trial, { include_declared: true }), [['created'], ['declared']])
        assert.deepEqual(await tablesIn(trial, { include_declared: false }), [['created']])
        assert.deepEqual(await tablesIn(trial, { include_declared: false, limit: 1 }), [['created']])
      },
    ),
    rule(
      'list.paging',
      'document 4.9, paging rules',
      'A page holds at most `limit` names and a token while there is more; the last one has none.',
      [],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        for (const limit of [1, 2, 3, 4]) {
          const found = await pages((page_token) => catalog.listTables({ id: id(), limit, page_token }))
          for (const { tables } of found) assert.ok(tables.length <= limit, `${tables.length} > ${limit}`)
          assert.deepEqual(
            found.flatMap(({ tables }) => tables),
            inTree.map((name) => id(...name).join('$')),
          )
          assert.equal(found.length, Math.ceil(inTree.length / limit))
        }
        for (const limit of [5, 100]) {
          const { tables, page_token } = await catalog.listTables({ id: id(), limit })
          assert.equal(tables.length, 5)
          assert.ok(!page_token, 'There is a token though all was listed.')
        }
      },
    ),
    rule(
      'list.limit',
      'document 8; decision: list tables',
      'limit 0 gives no names, and a token if there is anything; negative and fractional ones are InvalidInput.',
      [],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        assert.ok(!(await catalog.listTables({ id: id(), limit: 0 })).page_token)
        await tree(trial)
        const none = await catalog.listTables({ id: id(), limit: 0 })
        assert.deepEqual(none.tables, [])
        assert.ok(none.page_token, 'There is no token though there is more.')
        const { page_token } = none
        assert.equal((await catalog.listTables({ id: id(), page_token })).tables.length, inTree.length)
        for (const limit of [-1, 1.5]) {
          await refused(async () => catalog.listTables({ id: id(), limit }), 'InvalidInput')
        }
      },
    ),
    rule(
      'list.stable',
      'decision: page token',
      'A table that is there during a whole walk comes exactly once, whatever changes around it.',
      [],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        const changes = [
          () => catalog.declareTable({ id: id('0') }),
          () => catalog.declareTable({ id: id('n', 'a') }),
          () => catalog.declareTable({ id: id('n', 'deep', 'new') }),
          () => catalog.createNamespace({ id: id('n', 'empty') }),
          () => catalog.declareTable({ id: id('p') }),
          () => catalog.dropNamespace({ id: id('n', 'empty') }),
        ]
        const found = await pages(async (page_token) => {
          const page = await catalog.listTables({ id: id(), limit: 1, page_token })
          await changes.shift()?.()
          return page
        })
        const seen = found.flatMap(({ tables }) => tables)
        assert.equal(new Set(seen).size, seen.length, `Some came twice: ${seen}`)
        for (const name of inTree) assert.ok(seen.includes(id(...name).join('$')), `${name} is missing`)
      },
    ),
    rule(
      'list.gone',
      'decision: page token',
      'A walk goes on when what it stopped at is gone.',
      [],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        const { page_token } = await catalog.listTables({ id: id(), limit: 2 })
        await catalog.dropNamespace({ id: id('n'), behavior: 'Cascade' })
        const { tables } = await catalog.listTables({ id: id(), page_token })
        assert.deepEqual(
          tables,
          [id('o', 'd'), id('z')].map((name) => name.join('$')),
        )
      },
    ),
    rule(
      'list.token',
      'decision: page token',
      'A token is bound to its request: for another listing, or changed, it is refused as InvalidInput.',
      [],
      async (trial: CatalogTrial) => {
        await tree(trial)
        const { catalog, id } = trial
        const token = (await catalog.listTables({ id: id(), limit: 1 })).page_token
        assert.ok(token)
        const end = token.endsWith('A') ? 'B' : 'A'
        for (const page_token of [
          `${token}x`,
          token.slice(1),
          token.slice(0, -1),
          `${token.slice(0, -2)}${end}${end}`,
          'x',
        ]) {
          if (page_token === token) continue
          await refused(catalog.listTables({ id: id(), page_token }), 'InvalidInput')
        }
        await refused(catalog.listTables({ id: id('n'), page_token: token }), 'InvalidInput')
        await refused(
          catalog.listTables({ id: id(), include_declared: false, page_token: token }),
          'InvalidInput',
        )
        await refused(catalog.listNamespaces({ id: id(), page_token: token }), 'InvalidInput')
      },
    ),
    rule(
      'list.missing',
      'decision: list tables',
      'A namespace that is not there, and a table, are NamespaceNotFound.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.declareTable({ id: id('t') })
        for (const name of ['x', 't']) {
          await refused(catalog.listTables({ id: id(name) }), 'NamespaceNotFound')
        }
      },
    ),
    rule(
      'list.delimiter',
      'document 1, query parameter delimiter; decision: delimiter',
      'Names are joined by the delimiter asked for, of 1 to 8 characters; one that occurs in a name is InvalidInput.',
      [],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createNamespace({ id: id('n') })
        await catalog.declareTable({ id: id('n', 't') })
        for (const delimiter of ['.', '::', '\u{1F6EB}'.repeat(8)]) {
          const { tables } = await catalog.listTables({ id: id(), delimiter })
          assert.deepEqual(tables, [id('n', 't').join(delimiter)])
        }
        await refused(async () => catalog.listTables({ id: id(), delimiter: '' }), 'InvalidInput')
        await refused(async () => catalog.listTables({ id: id(), delimiter: 'x'.repeat(9) }), 'InvalidInput')
        await catalog.declareTable({ id: id('a.b') })
        await refused(catalog.listTables({ id: id(), delimiter: '.' }), 'InvalidInput', /a\.b/)
      },
    ),
  ],
}
