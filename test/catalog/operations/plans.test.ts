import { fixedSizeList, float32, int32, tableFromArrays } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { numbered } from '../../support/rows.ts'

const id = ['t']

eachCatalog((open) => {
  describe('explainTableQueryPlan and analyzeTableQueryPlan', () => {
    const seeded = async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(100) })
      await catalog.insertIntoTable({ id, data: numbered(50, 100) })
      await catalog.deleteFromTable({ id, predicate: 'n = 3' })
      return catalog
    }

    it('tell what is scanned, and what statistics leave out', async () => {
      const catalog = await seeded()
      const query = { columns: ['name', 'n * 2'], filter: 'n >= 120', limit: 5, order_by: ['half desc'] }
      const { plan } = await catalog.explainTableQueryPlan({ id, query })
      expect(plan.split('\n')).toEqual([
        'ProjectionExec: expr=[name, n * 2 (computed)]',
        '  GlobalLimitExec: skip=0, fetch=5',
        '    SortExec: TopK(fetch=5), expr=[half DESC NULLS LAST]',
        '      FilterExec: n >= 120',
        '        DataSourceExec: projection=[n], fragments=2, rows=149, deleted_rows=1, pruned_fragments=1, pruned_rows=100, matching_fragments=0',
        '',
      ])
      const old = await catalog.explainTableQueryPlan({
        id,
        query: { version: 1, columns: ['n'] },
        verbose: true,
      })
      expect(old.plan).toBe(
        'ProjectionExec: expr=[n]\n  DataSourceExec: projection=[], fragments=1, rows=100, deleted_rows=0\n',
      )
    })

    it('tell where rows are looked up in an index', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(5_000) })
      await catalog.createTableScalarIndex({ id, column: 'name', index_type: 'BTREE' })
      await catalog.insertIntoTable({ id, data: numbered(5_000, 5_000) })
      const scanOf = async (filter: string) =>
        (await catalog.explainTableQueryPlan({ id, query: { filter } })).plan.split('\n').at(-2)
      expect(await scanOf("name = 'row 77'")).toMatch(/, matching_fragments=0, indexed_fragments=1$/)
      expect(await scanOf("name > 'row 77'")).toMatch(/, matching_fragments=0$/)
    })

    it('tell rows and time of each step of a query that was run', async () => {
      const catalog = await seeded()
      const { analysis } = await catalog.analyzeTableQueryPlan({ id, filter: 'n >= 120', columns: ['n'] })
      const [all, columns, rows, scan] = analysis.split('\n')
      expect(all).toMatch(/^AnalyzeExec verbose=true, metrics=\[output_bytes=\d+, elapsed=[\d.]+ms\]$/)
      expect(columns).toMatch(
        /^ {2}ProjectionExec: expr=\[n\], metrics=\[output_rows=30, elapsed_compute=[\d.]+ms\]$/,
      )
      expect(rows).toMatch(/^ {4}FilterExec: n >= 120, metrics=\[output_rows=30, elapsed_compute=[\d.]+ms\]$/)
      expect(scan).toMatch(/^ {6}DataSourceExec: [^\]]*\][^\]]*$/)
    })

    it('tell how a search is made', async () => {
      const catalog = await open()
      const data = tableFromArrays(
        {
          n: [1, 2, 3],
          at: [
            [0, 1],
            [1, 0],
            [1, 1],
          ],
        },
        { types: { n: int32(), at: fixedSizeList(float32(), 2) } },
      )
      await catalog.createTable({ id, data })
      const query = { vector: [0, 1], k: 2, filter: 'n < 3', upper_bound: 4, nprobes: 3, columns: ['n'] }
      const { plan } = await catalog.explainTableQueryPlan({ id, query })
      expect(plan).toMatch(
        new RegExp(
          [
            '^ProjectionExec: expr=\\[n, _distance\\]',
            ' {2}GlobalLimitExec: skip=0, fetch=2',
            ' {4}SortExec: TopK\\(fetch=2\\), expr=\\[_distance ASC NULLS LAST\\]',
            ' {6}FilterExec: _distance < 4',
            ' {8}KNNVectorDistance: metric=l2, column=at, .*vectors=1',
            ' {10}FilterExec: n < 3',
            ' {12}DataSourceExec: projection=\\[at, n\\], .*\n$',
          ].join('\n'),
        ),
      )
      const after = { ...query, prefilter: false }
      expect((await catalog.explainTableQueryPlan({ id, query: after })).plan).toMatch(
        /fetch=2\n {4}FilterExec: n < 3\n {6}SortExec/,
      )
      const { analysis } = await catalog.analyzeTableQueryPlan({ id, ...query })
      expect(analysis).toMatch(
        /ProjectionExec: .*, metrics=\[output_rows=2, .*\n.*GlobalLimitExec: skip=0, fetch=2, metrics=\[output_rows=2/,
      )
    })

    it('refuse what the query would be refused for', async () => {
      const catalog = await seeded()
      for (const [query, code, ...parts] of [
        [{ filter: 'none = 1' }, 'InvalidInput', 'none'],
        [{ columns: ['none'] }, 'TableColumnNotFound', 'none'],
        [{ vector: [1] }, 'InvalidInput', 'No vector column'],
        [{ version: 9 }, 'TableVersionNotFound', '9'],
        [{ full_text_query: { query: 'x' } }, 'Unsupported', 'Full-text'],
        [{ filer: 'n = 1' }, 'InvalidInput', 'filer'],
      ] as const) {
        await fails(catalog.explainTableQueryPlan({ id, query } as never), code, ...parts)
        await fails(catalog.analyzeTableQueryPlan({ id, ...query } as never), code, ...parts)
      }
    })
  })

  describe('getTableStats', () => {
    it('tells bytes, rows, indexes and the lengths of fragments', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: numbered(100) })
      await catalog.insertIntoTable({ id, data: numbered(50, 100) })
      await catalog.insertIntoTable({ id, data: numbered(6, 150) })
      await catalog.deleteFromTable({ id, predicate: 'n = 3' })
      await catalog.createTableIndex({ id, column: 'n', index_type: 'BTREE' })
      expect(await catalog.getTableStats({ id })).toEqual({
        total_bytes: expect.any(Number),
        num_rows: 155,
        num_indices: 1,
        fragment_stats: {
          num_fragments: 3,
          num_small_fragments: 3,
          lengths: { min: 6, max: 99, mean: 51, p25: 6, p50: 50, p75: 99, p99: 99 },
        },
      })
      await catalog.deleteFromTable({ id, predicate: 'true' })
      await catalog.optimizeTable({ id })
      expect((await catalog.getTableStats({ id })).fragment_stats.lengths).toMatchObject({ min: 0, max: 0 })
      await fails(catalog.getTableStats({ id: ['none'] }), 'TableNotFound')
      await catalog.declareTable({ id: ['declared'] })
      await fails(catalog.getTableStats({ id: ['declared'] }), 'InvalidTableState')
    })
  })
})
