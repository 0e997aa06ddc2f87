import { fixedSizeList, float32, int32, tableFromArrays } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { eachCatalog } from '../support/catalogs.ts'
import { fails } from '../support/refusals.ts'
import { numbered } from '../support/rows.ts'

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
        'Columns: name, n * 2 (computed)',
        '  Order: half desc nulls last keep the best 5',
        '    Rows: offset=0 limit=5',
        '      Filter: n >= 120',
        '        Scan: 2 fragments, 149 rows, 1 deleted; by statistics 1 fragments with 100 rows are skipped, and 0 match as a whole; reads n',
        '',
      ])
      const old = await catalog.explainTableQueryPlan({
        id,
        query: { version: 1, columns: ['n'] },
        verbose: true,
      })
      expect(old.plan).toBe(
        'Columns: n\n  Rows: all\n    Scan: 1 fragments, 100 rows, 0 deleted; reads no column\n',
      )
    })

    it('tell rows and time of each step of a query that was run', async () => {
      const catalog = await seeded()
      const { analysis } = await catalog.analyzeTableQueryPlan({ id, filter: 'n >= 120', columns: ['n'] })
      expect(analysis).toMatch(/^Columns: n\n {2}Rows: all\n {4}Filter: n >= 120\n {6}Scan: /)
      expect(analysis).toMatch(
        /\n\nselect rows: rows=30 time=[\d.]+ ms\nmake columns: rows=30 time=[\d.]+ ms\n/,
      )
      expect(analysis).toMatch(/\nwhole query: bytes=\d+ time=[\d.]+ ms\n$/)
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
        /^Columns: n, _distance\n {2}Rows: offset=0 limit=2\n {4}Nearest: 1 of 2 by l2 from -infinity below 4, .* keep 2\n {6}Filter: n < 3\n {8}Scan: .*reads at, n\n$/,
      )
      const after = { ...query, prefilter: false }
      expect((await catalog.explainTableQueryPlan({ id, query: after })).plan).toContain(
        '(of the rows found)',
      )
      const { analysis } = await catalog.analyzeTableQueryPlan({ id, ...query })
      expect(analysis).toMatch(/\nfind nearest: rows=2 time=.*\nmake columns: rows=2 time=/)
    })

    it('refuse what the query would be refused for', async () => {
      const catalog = await seeded()
      for (const [query, code, ...parts] of [
        [{ filter: 'none = 1' }, 'InvalidInput', 'none'],
        [{ columns: ['none'] }, 'TableColumnNotFound', 'none'],
        [{ vector: [1] }, 'InvalidInput', 'no column of vectors'],
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
          lengths: { min: 6, max: 99, mean: 51, p25: 6, p50: 50, p75: 50, p99: 50 },
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
