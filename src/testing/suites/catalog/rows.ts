import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { basic, type CatalogTrial, count, numbered, numbers, unchanged, versionOf } from './trial.ts'

export const rows: Topic<CatalogTrial> = {
  name: 'rows',
  cases: [
    rule(
      'rows.create',
      'decision: row changes',
      'Creating a table with rows makes version 1; a taken name is TableAlreadyExists.',
      basic,
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        const answer = await catalog.createTable({ id: id('t'), data: numbered(5), properties: { a: '1' } })
        assert.equal(answer.version, 1)
        assert.ok(answer.location)
        assert.equal(await count(catalog, id('t')), 5)
        assert.deepEqual(await numbers(catalog, id('t')), [1])
        await unchanged(trial, 'TableAlreadyExists', [
          () => catalog.createTable({ id: id('t'), data: numbered(1) }),
        ])
        await unchanged(trial, 'NamespaceNotFound', [
          () => catalog.createTable({ id: id('x', 't'), data: numbered(1) }),
        ])
        assert.equal(await count(catalog, id('t')), 5)
      },
    ),
    rule(
      'rows.objects',
      'decision: row changes',
      'Where there are rows() and tables(), they give all rows as they went in, of one version, and all tables.',
      [...basic, 'deleteFromTable', 'queryTable', 'describeTable', 'listTables'],
      async ({ catalog, id }: CatalogTrial) => {
        if (catalog.rows === undefined || catalog.tables === undefined) return
        const data = Array.from({ length: 1_100 }, (_, i) => ({
          n: BigInt(i),
          at: new Date(i * 1_000),
          in: { bytes: new Uint8Array([i % 256]), list: [i / 2, null] },
        }))
        await catalog.createTable({ id: id('t'), data })
        const found: unknown[] = []
        for await (const row of catalog.rows({ id: id('t') })) {
          if (found.length === 0) await catalog.deleteFromTable({ id: id('t'), predicate: 'n > 1000' })
          found.push(row)
        }
        assert.deepEqual(found, data)
        const tables: unknown[] = []
        for await (const table of catalog.tables({ id: id() })) tables.push(table)
        assert.deepEqual(tables, [id('t')])
      },
    ),
    rule(
      'rows.versions',
      'document 4.1; decision: row changes',
      'Every insert and every delete, also one that matches nothing, makes the next version and answers with it.',
      [...basic, 'insertIntoTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        assert.equal((await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })).version, 2)
        assert.equal((await catalog.deleteFromTable({ id: id('t'), predicate: 'n < 3' })).version, 3)
        assert.equal((await catalog.deleteFromTable({ id: id('t'), predicate: 'n < 0' })).version, 4)
        assert.deepEqual(await numbers(catalog, id('t')), [1, 2, 3, 4])
      },
    ),
    rule(
      'rows.count',
      'document 4.4',
      'Rows are counted at the latest version or the one named, all or those a predicate holds for.',
      [...basic, 'insertIntoTable', 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(6, 4) })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'odd' })
        assert.equal(await count(catalog, id('t')), 5)
        assert.equal(await count(catalog, id('t'), { version: 1 }), 4)
        assert.equal(await count(catalog, id('t'), { version: 2 }), 10)
        assert.equal(await count(catalog, id('t'), { version: 2, predicate: 'odd' }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'odd' }), 0)
        assert.equal(await count(catalog, id('t'), { predicate: 'n BETWEEN 2 AND 6' }), 3)
        await refused(count(catalog, id('t'), { version: 9 }), 'TableVersionNotFound')
        await refused(count(catalog, id('x')), 'TableNotFound')
      },
    ),
    rule(
      'rows.null',
      'decision: predicates',
      'Of a NULL a predicate says neither yes nor no: such rows are not deleted.',
      [...basic, 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(9) })
        assert.equal(await count(catalog, id('t'), { predicate: "text <> 'row 1'" }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: "NOT (text = 'row 1')" }), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'text IS NULL' }), 3)
        await catalog.deleteFromTable({ id: id('t'), predicate: "text <> 'row 1'" })
        assert.equal(await count(catalog, id('t')), 4)
      },
    ),
    rule(
      'rows.fields',
      'document 4.1, field paths',
      'Nested fields are reached by dots; a dot in a name needs backticks, and a backtick is doubled there.',
      [...basic, 'deleteFromTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({
          id: id('t'),
          data: [
            { place: { city: 'Rome' }, 'a.b': 1, 'tick`': 'x' },
            { place: { city: 'Pisa' }, 'a.b': 2, 'tick`': 'y' },
            { place: { city: 'Bari' }, 'a.b': 3, 'tick`': 'z' },
          ],
        })
        assert.equal(await count(catalog, id('t'), { predicate: "place.city = 'Rome'" }), 1)
        assert.equal(await count(catalog, id('t'), { predicate: '`a.b` >= 2' }), 2)
        await catalog.deleteFromTable({ id: id('t'), predicate: "`tick``` = 'z'" })
        assert.equal(await count(catalog, id('t')), 2)
      },
    ),
    rule(
      'rows.predicate-refused',
      'document 7, status 400; decision: predicates',
      'A predicate with an unknown field, a wrong type or text after its end is InvalidInput, and nothing is deleted.',
      [...basic, 'deleteFromTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        const bad = ['none = 1', 'n =', 'true; DROP TABLE t', 'true extra', "n = 'text'", '', '(n = 1']
        await unchanged(
          trial,
          'InvalidInput',
          bad.map((predicate) => () => catalog.deleteFromTable({ id: id('t'), predicate })),
        )
        assert.equal(await count(catalog, id('t')), 3)
      },
    ),
    rule(
      'rows.insert-refused',
      'decision: row changes',
      'Rows with other columns are TableSchemaValidationError, and none of them is kept.',
      [...basic, 'insertIntoTable'],
      async (trial: CatalogTrial) => {
        const { catalog, id } = trial
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        await unchanged(trial, 'TableSchemaValidationError', [
          () => catalog.insertIntoTable({ id: id('t'), data: [{ n: 1, odd: true, text: 'x', more: 1 }] }),
          () => catalog.insertIntoTable({ id: id('t'), data: [{ n: 'one', odd: true, text: 'x' }] }),
        ])
        assert.equal(await count(catalog, id('t')), 3)
      },
    ),
    rule(
      'rows.left-out',
      'decision: row changes',
      'Columns that an insert leaves out are NULL in its rows, where they may be.',
      [...basic, 'insertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(3) })
        await catalog.insertIntoTable({ id: id('t'), data: [{ n: 3 }, { text: 'x', n: 4 }] })
        assert.equal(await count(catalog, id('t')), 5)
        assert.equal(await count(catalog, id('t'), { predicate: 'odd IS NULL AND text IS NULL' }), 1)
        assert.equal(await count(catalog, id('t'), { predicate: "odd IS NULL AND text = 'x'" }), 1)
      },
    ),
    rule(
      'rows.declared',
      'decision: versions',
      'A version another engine wrote is listed, but its rows cannot be counted here: InvalidTableState.',
      ['countTableRows'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.declareTable({ id: id('t'), location: `s3://bucket/${id('t').join('/')}` })
        await catalog.createTableVersion(versionOf(id('t'), 1))
        await refused(count(catalog, id('t')), 'InvalidTableState')
      },
    ),
  ],
}

export const rowContent: Topic<CatalogTrial> = {
  name: 'content of tables',
  cases: [
    rule(
      'rows.clone',
      'protocol of LanceDB: clone table',
      'A clone has the rows of the version that is named. It and its source change and are dropped without each other.',
      [...basic, 'cloneTable', 'dropTable', 'deleteFromTable', 'insertIntoTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })
        await catalog.cloneTable({ id: id('c'), source: id('t') })
        await catalog.cloneTable({ id: id('old'), source: id('t'), source_version: 1 })
        await catalog.cloneTable({ id: id('copy'), source: id('t'), is_shallow: false })
        await refused(catalog.cloneTable({ id: id('c'), source: id('old') }), 'TableAlreadyExists')
        await refused(catalog.cloneTable({ id: id('x'), source: id('none') }), 'TableNotFound')
        await refused(
          catalog.cloneTable({ id: id('x'), source: id('t'), source_version: 9 }),
          'TableVersionNotFound',
        )
        await catalog.deleteFromTable({ id: id('c'), predicate: 'n < 3' })
        assert.equal(await count(catalog, id('t')), 6, 'A change of the clone changed its source.')
        await catalog.insertIntoTable({ id: id('t'), data: numbered(1, 9) })
        assert.equal(await count(catalog, id('c')), 3, 'A change of the source changed its clone.')
        await catalog.cloneTable({ id: id('second'), source: id('c') })
        await catalog.dropTable({ id: id('t') })
        await catalog.dropTable({ id: id('c') })
        const left = { old: 4, copy: 6, second: 3 }
        for (const [name, rows] of Object.entries(left)) {
          assert.equal(await count(catalog, id(name), { predicate: 'n >= 0' }), rows, name)
        }
        assert.deepEqual(await numbers(catalog, id('second')), [1])
      },
    ),
    rule(
      'rows.come-back',
      'document 4.2; decision: content',
      'Deregistering leaves the content in storage: registering its location brings rows, versions and tags back.',
      [...basic, 'deregisterTable', 'registerTable', 'createTableTag', 'getTableTagVersion'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(7) })
        await catalog.createTableTag({ id: id('t'), tag: 'x', version: 1 })
        const { location } = await catalog.deregisterTable({ id: id('t') })
        await catalog.registerTable({ id: id('back'), location: location! })
        assert.equal(await count(catalog, id('back')), 7)
        assert.equal((await catalog.getTableTagVersion({ id: id('back'), tag: 'x' })).version, 1)
      },
    ),
    rule(
      'rows.dropped',
      'decision: drop, deregister',
      'Dropping a table removes its content: registering its location brings nothing of it back.',
      [...basic, 'dropTable', 'registerTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const { location } = await catalog.createTable({ id: id('t'), data: numbered(7) })
        await catalog.dropTable({ id: id('t') })
        const registered = await catalog
          .registerTable({ id: id('back'), location: location! })
          .catch(() => {})
        if (!registered) return
        assert.deepEqual(await numbers(catalog, id('back')), [])
        await refused(count(catalog, id('back')), ['InvalidTableState', 'TableVersionNotFound'])
      },
    ),
  ],
}
