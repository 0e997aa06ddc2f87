import { fixedSizeList, float32, int32, tableFromArrays, utf8 } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['places']

function places(points: readonly (readonly [number, number] | null)[], first = 0) {
  return tableFromArrays(
    {
      id: points.map((_, i) => first + i),
      kind: points.map((_, i) => (i % 2 === 0 ? 'even' : 'odd')),
      at: points.map((point) => point && [...point]),
    },
    { types: { id: int32(), kind: utf8(), at: fixedSizeList(float32(), 2) } },
  )
}

eachCatalog((open) => {
  describe('queryTable with a vector', () => {
    const seeded = async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: places([[0, 0], [3, 4], null, [1, 0], [0, 2]]) })
      return catalog
    }
    type Query = Omit<Parameters<Catalog['queryTable']>[0], 'id'>
    const found = async (catalog: Catalog, request: Query) =>
      (await rowsOf(catalog, id, { columns: ['id'], ...request })).map(({ id, _distance, query_index }) =>
        query_index === undefined ? [id, _distance] : [query_index, id, _distance],
      )

    it('computes columns of distances', async () => {
      const catalog = await seeded()
      await catalog.deleteFromTable({ id, predicate: 'id = 1' })
      const columns = {
        column_aliases: {
          score: '1 / (1 + _distance)',
          id: 'id',
          sum: 'id + _distance',
          row: '_rowid + 0 * _distance',
        },
      }
      expect(await rowsOf(catalog, id, { vector: [0, 0], k: 2, columns })).toEqual([
        { score: 1, id: 0, sum: 0, row: 0, _distance: 0 },
        { score: 0.5, id: 3, sum: 4, row: 3, _distance: 1 },
      ])
      const both = [
        [0, 0],
        [1, 0],
      ]
      const far = { column_aliases: { far: '(_distance)', word: "concat(kind, '!')" } }
      expect(await rowsOf(catalog, id, { vector: both, k: 1, columns: far, with_row_id: true })).toEqual([
        { query_index: 0, far: 0, word: 'even!', _distance: 0, _rowid: 0 },
        { query_index: 1, far: 0, word: 'odd!', _distance: 0, _rowid: 3 },
      ])
      expect(
        await rowsOf(catalog, id, { vector: [0, 0], columns: ['_distance * 2'], filter: 'id > 9' }),
      ).toEqual([])
      const asked = (text: string) => catalog.queryTable({ id, vector: [0, 0], columns: [text] })
      // Of the rows that are not deleted, the one at distance 1 has place 2.
      const failing = asked("CAST(CASE WHEN _distance = 1 THEN 'x' ELSE '1' END AS INT)")
      await fails(failing, 'InvalidInput', 'failed on row 2 ')
      await fails(asked('nope + _distance'), 'InvalidInput', 'nope')
      await fails(catalog.queryTable({ id, columns: ['_distance * 2'] }), 'InvalidInput', '_distance')
    })

    it('answers the nearest rows and how far they are, in each form of the vector', async () => {
      const catalog = await seeded()
      const all = [
        [0, 0],
        [3, 1],
        [4, 4],
        [1, 25],
      ]
      for (const vector of [[0, 0], [[0, 0]], { single_vector: [0, 0] }, { multi_vector: [[0, 0]] }])
        expect(await found(catalog, { vector })).toEqual(all)
      expect(await found(catalog, { vector: [0, 0], k: 2, offset: 1 })).toEqual(all.slice(1, 3))
      expect(await found(catalog, { vector: [0, 0], k: 1e15, limit: 1 })).toEqual(all.slice(0, 1))
      expect(
        await found(catalog, {
          vector: {
            multi_vector: [
              [0, 0],
              [3, 4],
            ],
          },
          k: 1,
        }),
      ).toEqual([
        [0, 0, 0],
        [1, 1, 0],
      ])
      expect(await rowsOf(catalog, id, { vector: [0, 0], k: 1 })).toEqual([
        { id: 0, kind: 'even', at: Float32Array.of(0, 0), _distance: 0 },
      ])
      const tuned = {
        nprobes: 3,
        minimum_nprobes: 20,
        maximum_nprobes: 0,
        refine_factor: 2,
        ef: null,
        bypass_vector_index: true,
        fast_search: true,
        approx_mode: 'fast',
      }
      expect(await found(catalog, { vector: [0, 0], ...tuned } as Query)).toEqual(all)
    })

    it('measures, filters and bounds as asked', async () => {
      const catalog = await seeded()
      expect(await found(catalog, { vector: [1, 0], distance_type: 'dot' })).toEqual([
        [1, -2],
        [3, 0],
        [0, 1],
        [4, 1],
      ])
      expect(await found(catalog, { vector: [0, 1], distance_type: 'Cosine', k: 1 })).toEqual([[4, 0]])
      const filter = "kind = 'odd'"
      const vector = [0, 0]
      expect(await found(catalog, { vector, filter })).toEqual([
        [3, 1],
        [1, 25],
      ])
      expect(await found(catalog, { vector, filter, prefilter: false, k: 2 })).toEqual([[3, 1]])
      expect(await found(catalog, { vector, lower_bound: 1, upper_bound: 25 })).toEqual([
        [3, 1],
        [4, 4],
      ])
      expect(await found(catalog, { vector, vector_column: 'at', lower_bound: null })).toHaveLength(4)
    })

    it('searches versions, branches and what a transaction wrote', async () => {
      const catalog = await seeded()
      await catalog.createTableTag({ id, tag: 'first', version: 1 })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.insertIntoTable({ id, data: places([[0, 0.5]], 9), branch: 'dev' })
      await catalog.deleteFromTable({ id, predicate: 'id = 0' })
      const vector = [0, 0]
      expect(await found(catalog, { vector, k: 1 })).toEqual([[3, 1]])
      expect(await found(catalog, { vector, k: 1, version: 1 })).toEqual([[0, 0]])
      expect(await found(catalog, { vector, k: 1, tag: 'first' })).toEqual([[0, 0]])
      expect(await found(catalog, { vector, k: 2, branch: 'dev' })).toEqual([
        [0, 0],
        [9, 0.25],
      ])
      await catalog.transaction(async (tx) => {
        await tx.insertIntoTable({ id, data: places([[0.5, 0]], 7) })
        const { data } = await tx.queryTable({ id, vector, k: 1, columns: ['id'] })
        const { tableFromIPC } = await import('@uwdata/flechette')
        expect(tableFromIPC(data).toArray()).toEqual([{ id: 7, _distance: 0.25 }])
      })
      expect(await found(catalog, { vector, k: 1 })).toEqual([[7, 0.25]])
    })

    it('refuses what it cannot search', async () => {
      const catalog = await seeded()
      const query = (request: object) => catalog.queryTable({ id, ...request } as never)
      for (const [request, ...parts] of [
        [
          { vector: [0, 0, 0] },
          "query dim(3) doesn't match the column at vector dim(2)",
          'Give a vector of dimension 2',
        ],
        [{ vector: [[0, 0], [1]] }, 'vector 1 has dimension 1'],
        [{ vector: ['a', 0] }, 'vector', 'finite numbers'],
        [{ vector: 'near' }, 'vector must be a list of numbers'],
        [{ vector: { single_vector: [0, 0], multi_vector: [[0, 0]] } }, 'give one of them'],
        [{ vector: [0, 0], k: 0 }, 'k of 1'],
        [{ vector: [0, 0], distance_type: 'manhattan' }, 'l2, cosine, dot or hamming'],
        [{ vector: [0, 0], distance_type: 'hamming' }, 'hamming', 'float32'],
        [{ vector: [0, 0], lower_bound: 'low' }, 'lower_bound must be a number'],
        [{ vector: [0, 0], vector_column: 'kind' }, 'does not hold vectors'],
        [{ vector: [0, 0], filter: '_distance < 1' }, '_distance'],
      ] as const) {
        await fails(query(request), 'InvalidInput', ...parts)
      }
      await fails(query({ vector: [0, 0], vector_column: 'none' }), 'TableColumnNotFound', 'none')
      await fails(query({ vector: [0, 0], full_text_query: { query: 'x' } }), 'Unsupported', 'Full-text')
      if (!open.remote)
        await fails(query({ vector: [0, Number.NaN] }), 'InvalidInput', 'NaN as its component 1')
    })
  })
})
