import assert from 'node:assert/strict'
import { refused } from '../checks.ts'
import { rule, type Topic } from '../suite.ts'
import { answer, type CatalogTrial, numbered, type OrderKey } from './trial.ts'

export const queries: Topic<CatalogTrial> = {
  name: 'queries',
  cases: [
    rule(
      'rows.query',
      'protocol: query table',
      'A query answers with the rows as Arrow: all, or those of a filter, a version and a limit.',
      ['createTable', 'insertIntoTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(5) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(5, 5) })
        const query = async (request: { filter?: string; version?: number; limit?: number }) =>
          (await answer(catalog, { id: id('t'), ...request })).map(({ n }) => n)
        assert.deepEqual(await query({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        assert.deepEqual(await query({ filter: 'odd AND n > 2' }), [3, 5, 7, 9])
        assert.deepEqual(await query({ version: 1, limit: 3 }), [0, 1, 2])
      },
    ),
    rule(
      'rows.search',
      'protocol: query table',
      'A query with a vector answers the k nearest rows, the nearest first, with their distance; rows without a vector are none of them.',
      ['createTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        const points = [[0, 0], [3, 4], null, [1, 0], [0, 2]]
        const data = points.map((at, n) => ({ n, at }))
        const item = { name: 'item', nullable: true, type: { type: 'float' } }
        const schema = {
          fields: [
            { name: 'n', nullable: true, type: { type: 'int32' } },
            { name: 'at', nullable: true, type: { type: 'fixed_size_list', length: 2, fields: [item] } },
          ],
        }
        await catalog.createTable({ id: id('t'), data, schema })
        const query = async (request: object) => {
          const found = await answer(catalog, { id: id('t'), columns: { column_names: ['n'] }, ...request })
          return found.map(({ n, _distance }) => [n, _distance])
        }
        const vector = { single_vector: [0, 0] }
        const all = [
          [0, 0],
          [3, 1],
          [4, 4],
          [1, 25],
        ]
        assert.deepEqual(await query({ vector, k: 10 }), all)
        assert.deepEqual(await query({ vector, k: 2, offset: 1 }), all.slice(1, 3))
        assert.deepEqual(await query({ vector, k: 10, filter: 'n > 0', prefilter: true }), all.slice(1))
        assert.deepEqual(await query({ vector, k: 10, lower_bound: 1, upper_bound: 25 }), all.slice(1, 3))
        assert.deepEqual(await query({ vector: { single_vector: [1, 0] }, k: 1, distance_type: 'dot' }), [
          [1, -2],
        ])
        for (const wrong of [
          { vector: { single_vector: [0] }, k: 1 },
          { vector, k: 0 },
        ])
          await refused(query(wrong), 'InvalidInput')
      },
    ),
    rule(
      'rows.computed',
      'decision: expressions',
      'A column of an answer may be an expression; what names a column stays that column; a row that fails is named.',
      ['createTable', 'deleteFromTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.deleteFromTable({ id: id('t'), predicate: 'n = 2' })
        const column_aliases = { n: 'n', m: 'n * 2', kind: "CASE WHEN odd THEN 'odd' ELSE 'even' END" }
        const found = await answer(catalog, { id: id('t'), columns: { column_aliases } })
        assert.deepEqual(found, [
          { n: 0, m: 0, kind: 'even' },
          { n: 1, m: 2, kind: 'odd' },
          { n: 3, m: 6, kind: 'odd' },
        ])
        const inverse = { column_aliases: { i: '6 / (CAST(n AS INT) - 2)' } }
        assert.deepEqual(await answer(catalog, { id: id('t'), columns: inverse }), [
          { i: -3 },
          { i: -6 },
          { i: 6 },
        ])
        const failing = { column_aliases: { i: '6 / (CAST(n AS INT) - 3)' } }
        await refused(catalog.queryTable({ id: id('t'), columns: failing }), 'InvalidInput')
        await refused(catalog.queryTable({ id: id('t'), columns: ['n +'] }), 'InvalidInput')
        await refused(catalog.queryTable({ id: id('t'), columns: ['none'] }), 'TableColumnNotFound')
      },
    ),
    rule(
      'rows.order',
      'decision: order',
      'order_by sorts by its keys in turn, nulls last unless they are first, before limit and offset cut the rows.',
      ['createTable', 'insertIntoTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(3, 4) })
        const ns = async (order_by: OrderKey[], rest: object = {}) => {
          const rows = await answer(catalog, { id: id('t'), columns: ['n'], order_by, ...rest })
          return rows.map(({ n }) => n)
        }
        const text = { column_name: 'text' }
        const down = { column_name: 'n', ascending: false }
        assert.deepEqual(await ns([down]), [6, 5, 4, 3, 2, 1, 0])
        assert.deepEqual(await ns([{ column_name: 'odd' }, down]), [6, 4, 2, 0, 5, 3, 1])
        assert.deepEqual(await ns([{ column_name: 'odd' }]), [0, 2, 4, 6, 1, 3, 5])
        assert.deepEqual(await ns([text, down]), [1, 2, 4, 5, 6, 3, 0])
        assert.deepEqual(await ns([{ ...text, nulls_first: true }]), [0, 3, 6, 1, 2, 4, 5])
        assert.deepEqual(await ns([down], { limit: 2, offset: 1 }), [5, 4])
        assert.deepEqual(await ns([down], { filter: 'odd', limit: 2 }), [5, 3])
        await refused(ns([{ column_name: 'none' }]), 'TableColumnNotFound')
      },
    ),
    rule(
      'rows.ids',
      'decision: row ids',
      'The id of a row stays through inserts and deletes, and no other row gets it; rows are taken by ids and offsets.',
      ['createTable', 'insertIntoTable', 'deleteFromTable', 'queryTable'],
      async ({ catalog, id }: CatalogTrial) => {
        await catalog.createTable({ id: id('t'), data: numbered(4) })
        const ids = async () => {
          const rows = await answer(catalog, { id: id('t'), columns: ['n'], with_row_id: true })
          return new Map(rows.map(({ n, _rowid }) => [n, _rowid]))
        }
        const before = await ids()
        assert.equal(new Set(before.values()).size, 4)
        await catalog.deleteFromTable({ id: id('t'), predicate: 'n IN (1, 3)' })
        await catalog.insertIntoTable({ id: id('t'), data: numbered(2, 4) })
        const after = await ids()
        assert.deepEqual([...after.keys()], [0, 2, 4, 5])
        for (const n of [0, 2]) assert.equal(after.get(n), before.get(n))
        for (const n of [4, 5]) assert.ok(![...before.values()].includes(after.get(n)))
        const taken = async (filter: string) =>
          (await answer(catalog, { id: id('t'), columns: ['n'], filter })).map(({ n }) => n)
        assert.deepEqual(await taken(`_rowid IN (${before.get(2)}, ${after.get(5)})`), [2, 5])
        assert.deepEqual(await taken(`_rowid = ${before.get(3)}`), [])
        assert.deepEqual(await taken('_rowoffset IN (1, 3)'), [2, 5])
      },
    ),
    rule(
      'rows.plans',
      'protocol: get table stats, explain and analyze table query plan',
      'Statistics count rows and fragments of the latest version; a plan is a text, and refuses what its query would be refused for.',
      ['createTable', 'insertIntoTable', 'getTableStats', 'explainTableQueryPlan', 'analyzeTableQueryPlan'],
      async ({ catalog, id }: CatalogTrial) => {
        const table = id('t')
        await catalog.createTable({ id: table, data: numbered(5) })
        await catalog.insertIntoTable({ id: table, data: numbered(3, 5) })
        const stats = await catalog.getTableStats({ id: table })
        assert.equal(stats.num_rows, 8)
        assert.equal(stats.fragment_stats.lengths.max <= 8, true)
        const { plan } = await catalog.explainTableQueryPlan({ id: table, query: { filter: 'n > 2' } })
        assert.match(plan, /\S/)
        const { analysis } = await catalog.analyzeTableQueryPlan({ id: table, filter: 'n > 2' })
        assert.match(analysis, /\S/)
        await refused(catalog.explainTableQueryPlan({ id: table, query: { filter: 'none > 2' } }), [
          'InvalidInput',
          'TableColumnNotFound',
        ])
        await refused(catalog.analyzeTableQueryPlan({ id: table, filter: 'none > 2' }), [
          'InvalidInput',
          'TableColumnNotFound',
        ])
      },
    ),
  ],
}
