import { fixedSizeList, float32, int32, list, tableFromArrays } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['passages']

type Vectors = (readonly [number, number] | null)[] | null

const rows = (tokens: readonly Vectors[]) =>
  tableFromArrays(
    { id: tokens.map((_, i) => i), tokens: tokens as never },
    { types: { id: int32(), tokens: list(fixedSizeList(float32(), 2)) } },
  )

eachCatalog((open) => {
  describe('queryTable on lists of vectors', () => {
    const seeded = async () => {
      const catalog = await open()
      const data = rows([
        [
          [1, 0],
          [0, 1],
        ],
        [[0.5, 0.5]],
        null,
        [],
        [null],
        [
          [3, 0],
          [0, 4],
          [1, 1],
        ],
      ])
      await catalog.createTable({ id, data })
      return catalog
    }
    type Query = Omit<Parameters<Catalog['queryTable']>[0], 'id'>
    const found = async (catalog: Catalog, request: Query) =>
      (await rowsOf(catalog, id, { columns: ['id'], ...request })).map((row) => {
        expect(row).not.toHaveProperty('query_index')
        return [row.id, row._distance]
      })

    it('adds up how far the nearest vector of a row is from each vector of the query', async () => {
      const catalog = await seeded()
      const one = [
        [0, 0],
        [1, 0.5],
        [5, 1],
      ]
      expect(await found(catalog, { vector: [1, 0] })).toEqual(one)
      expect(await found(catalog, { vector: [[1, 0]] })).toEqual(one)
      const vector = [
        [1, 0],
        [0, 1],
      ]
      expect(await found(catalog, { vector })).toEqual([
        [0, 0],
        [1, 1],
        [5, 2],
      ])
      expect(await found(catalog, { vector, distance_type: 'dot' })).toEqual([
        [5, -5],
        [0, 0],
        [1, 1],
      ])
      expect((await found(catalog, { vector, distance_type: 'cosine' })).map(([row]) => row)).toEqual([
        0, 5, 1,
      ])
      expect(await found(catalog, { vector: { multi_vector: vector }, k: 1, offset: 1 })).toEqual([[1, 1]])
      expect(await found(catalog, { vector, lower_bound: 1, upper_bound: 2 })).toEqual([[1, 1]])
      expect(await found(catalog, { vector, filter: 'id <> 0', k: 1 })).toEqual([[1, 1]])
      expect(await found(catalog, { vector, filter: '_distance > 1', prefilter: false })).toEqual([[5, 2]])
      const [first] = await rowsOf(catalog, id, { vector, k: 1, with_row_id: true })
      expect(Object.keys(first!)).toEqual(['id', 'tokens', '_distance', '_rowid'])
    })

    it('finds rows of several fragments, and none that were deleted', async () => {
      const catalog = await seeded()
      await catalog.insertIntoTable({
        id,
        data: rows([
          [[1, 0]],
          [
            [0, 1],
            [1, 0.5],
          ],
        ]),
      })
      await catalog.deleteFromTable({ id, predicate: 'id = 5' })
      expect(await found(catalog, { vector: [[1, 0]], k: 3 })).toEqual([
        [0, 0],
        [0, 0],
        [1, 0.25],
      ])
      const { plan } = await catalog.explainTableQueryPlan({ id, query: { vector: [[1, 0]] } })
      expect(plan).toContain('KNNVectorDistance: metric=l2, column=tokens, type=float32, dimension=2')
    })

    it('takes indexes of vectors, and refuses what does not fit', async () => {
      const catalog = await seeded()
      await catalog.createTableIndex({ id, column: 'tokens', index_type: 'IVF_PQ', distance_type: 'cosine' })
      const { indexes } = await catalog.listTableIndices({ id })
      expect(indexes).toMatchObject([{ columns: ['tokens'], index_type: 'IVF_PQ' }])
      await fails(catalog.queryTable({ id, vector: [1, 2, 3] }), 'InvalidInput', 'dimension 2')
      const uneven = [
        [1, 2],
        [1, 2, 3],
      ]
      await fails(catalog.queryTable({ id, vector: uneven }), 'InvalidInput', 'vectors of one dimension')
      const column = { name: 'at', data_type: { type: 'fixed_size_list', length: 2, fields: [] as object[] } }
      column.data_type.fields.push({ name: 'item', nullable: true, type: { type: 'float' } })
      await catalog.alterTableAddColumns({ id, new_columns: [column as never] })
      await fails(catalog.queryTable({ id, vector: [1, 2] }), 'InvalidInput', '"tokens" (2)', '"at" (2)')
      expect(await found(catalog, { vector: [1, 0], vector_column: 'tokens', k: 1 })).toEqual([[0, 0]])
    })
  })
})
