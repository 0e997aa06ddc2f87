import { fixedSizeList, float32, int32, tableFromArrays, utf8 } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import type { Catalog } from '../../../src/tabularium/index.ts'
import { eachCatalog } from '../../support/catalogs.ts'
import { fails } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['docs']

const rows = () =>
  tableFromArrays(
    {
      n: [1, 2, 3],
      word: ['a', 'b', 'c'],
      at: [
        [0, 1],
        [1, 0],
        [1, 1],
      ],
      tags: [['x'], [], ['y']],
    },
    { types: { n: int32(), word: utf8(), at: fixedSizeList(float32(), 2) } },
  )

eachCatalog((open) => {
  describe('indexes', () => {
    const seeded = async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: rows() })
      return catalog
    }
    type Wanted = Omit<Parameters<Catalog['listTableIndices']>[0], 'id'>
    const names = async (catalog: Catalog, request: Wanted = {}) =>
      (await catalog.listTableIndices({ id, ...request })).indexes.map(
        ({ index_name, columns, index_type }) => `${index_name}: ${columns} ${index_type}`,
      )
    const create = (catalog: Catalog, column: string, index_type: string, more: object = {}) =>
      catalog.createTableIndex({ id, column, index_type, ...more })

    it('are recorded with column, type and parameters, and cover all rows', async () => {
      const catalog = await seeded()
      expect(await catalog.listTableIndices({ id })).toEqual({ indexes: [] })
      const { transaction_id } = await create(catalog, 'at', 'ivf_pq', {
        distance_type: 'Cosine',
        num_partitions: 4,
        num_bits: null,
      })
      expect(await catalog.describeTransaction({ id: [transaction_id!] })).toMatchObject({
        status: 'Succeeded',
      })
      const { indexes } = await catalog.listTableIndices({ id })
      expect(indexes).toEqual([
        {
          index_name: 'at_idx',
          index_uuid: expect.any(String),
          columns: ['at'],
          status: 'done',
          index_type: 'IVF_PQ',
          num_indexed_rows: 3,
          num_unindexed_rows: 0,
          size_bytes: 0,
          num_segments: 0,
          created_at: expect.stringMatching(/^\d{4}-.*Z$/),
          index_details: '{"distance_type":"cosine","num_partitions":4}',
        },
      ])
      await catalog.insertIntoTable({ id, data: rows() })
      expect(await catalog.describeTableIndexStats({ id, index_name: 'at_idx' })).toEqual({
        distance_type: 'cosine',
        index_type: 'IVF_PQ',
        num_indexed_rows: 6,
        num_unindexed_rows: 0,
        num_indices: 1,
      })
      await fails(catalog.prewarmTableIndex({ id, index_name: 'at_idx' }), 'Unsupported')
      expect(await catalog.getLsmWriteSpec({ id })).toEqual({ lsm_write_spec: null })
      const { version } = (await catalog.listTableVersions({ id })).versions.at(-1)!
      expect(version).toBe(3)
    })

    it('follow their column, whatever happens to the columns around it', async () => {
      const catalog = await seeded()
      await create(catalog, 'word', 'btree')
      await create(catalog, 'at', 'ivf_flat')
      await catalog.alterTableDropColumns({ id, columns: ['n'] })
      expect(await names(catalog)).toEqual(['at_idx: at IVF_FLAT', 'word_idx: word BTREE'])
      await catalog.alterTableAddColumns({ id, new_columns: [{ name: 'n', expression: 'length(word)' }] })
      await catalog.alterTableAlterColumns({ id, alterations: [{ path: 'word', rename: 'text' }] })
      expect(await names(catalog)).toEqual(['at_idx: at IVF_FLAT', 'word_idx: text BTREE'])
      await catalog.alterTableDropColumns({ id, columns: ['at'] })
      expect(await names(catalog)).toEqual(['word_idx: text BTREE'])
      expect(await names(catalog, { version: 3 })).toEqual(['at_idx: at IVF_FLAT', 'word_idx: word BTREE'])
    })

    it('change no answer', async () => {
      const catalog = await seeded()
      const query = { vector: [0.2, 1], k: 2, columns: ['n'] }
      const [before, filtered] = [
        await rowsOf(catalog, id, query),
        await rowsOf(catalog, id, { filter: 'n > 1' }),
      ]
      await create(catalog, 'at', 'IVF_HNSW_SQ', { m: 3 })
      await create(catalog, 'n', 'BTREE')
      expect(await rowsOf(catalog, id, query)).toEqual(before)
      expect(await rowsOf(catalog, id, { filter: 'n > 1' })).toEqual(filtered)
    })

    it('have names of their own, which LanceDB would give them, too', async () => {
      const catalog = await seeded()
      await create(catalog, 'n', 'BTREE')
      const [first] = (await catalog.listTableIndices({ id })).indexes
      await create(catalog, 'n', 'BTREE')
      const [again] = (await catalog.listTableIndices({ id })).indexes
      expect(again!.index_uuid).not.toBe(first!.index_uuid)
      await create(catalog, 'n', 'BITMAP')
      await create(catalog, 'word', 'BITMAP', { name: 'words' })
      expect(await names(catalog)).toEqual(['n_idx: n BTREE', 'n_idx_2: n BITMAP', 'words: word BITMAP'])
      await create(catalog, 'word', 'BTREE', { name: 'words' })
      expect((await names(catalog)).at(-1)).toBe('words: word BTREE')
      const taken = 'TableIndexAlreadyExists'
      await fails(create(catalog, 'n', 'BTREE', { name: 'words' }), taken, 'column "word"', 'another name')
      await fails(create(catalog, 'n', 'BTREE', { replace: false }), taken, 'n_idx')
      const page = await catalog.listTableIndices({ id, limit: 2 })
      expect(page.indexes).toHaveLength(2)
      const rest = await catalog.listTableIndices({ id, limit: 2, page_token: page.page_token })
      expect(rest.indexes.map(({ index_name }) => index_name)).toEqual(['words'])
      expect(rest.page_token).toBeUndefined()
    })

    it('belong to versions: branches, tags and restores have those of their version', async () => {
      const catalog = await seeded()
      await create(catalog, 'n', 'BTREE')
      await catalog.createTableBranch({ id, name: 'dev' })
      await create(catalog, 'word', 'BTREE', { branch: 'dev' })
      await catalog.dropTableIndex({ id, index_name: 'n_idx' })
      expect(await names(catalog)).toEqual([])
      expect(await names(catalog, { version: 2 })).toEqual(['n_idx: n BTREE'])
      expect(await names(catalog, { branch: 'dev' })).toEqual(['n_idx: n BTREE', 'word_idx: word BTREE'])
      await catalog.restoreTable({ id, version: 2 })
      await catalog.deleteFromTable({ id, predicate: 'n = 1' })
      await catalog.optimizeTable({ id })
      expect(await names(catalog)).toEqual(['n_idx: n BTREE'])
      await catalog.insertIntoTable({ id, data: rows(), mode: 'Overwrite' })
      expect(await names(catalog)).toEqual([])
    })

    it('are made and dropped in transactions, and beside other changes', async () => {
      const catalog = await seeded()
      await catalog.transaction(async (tx) => {
        await tx.createTableScalarIndex({ id, column: 'tags', index_type: 'LABEL_LIST' })
        expect((await tx.listTableIndices({ id })).indexes).toHaveLength(1)
      })
      let runs = 0
      await catalog.transaction(async (tx) => {
        await tx.createTableIndex({ id, column: 'at', index_type: 'IVF_FLAT' })
        if (++runs === 1) await catalog.insertIntoTable({ id, data: rows() })
      })
      // The index was put on top of the new rows.
      expect(runs).toBe(1)
      await catalog.dropTableIndex({ id, index_name: 'at_idx' })
      expect(await names(catalog)).toEqual(['tags_idx: tags LABEL_LIST'])
      await Promise.all([
        create(catalog, 'n', 'BTREE'),
        create(catalog, 'word', 'BTREE'),
        catalog.insertIntoTable({ id, data: rows() }),
        catalog.dropTableIndex({ id, index_name: 'tags_idx' }),
      ])
      expect(await names(catalog)).toEqual(['n_idx: n BTREE', 'word_idx: word BTREE'])
      expect((await catalog.countTableRows({ id })).count).toBe(9)
    })

    it('are refused where they make no sense, and nothing is changed', async () => {
      const catalog = await seeded()
      for (const [column, type, more, code, ...parts] of [
        ['none', 'BTREE', {}, 'TableColumnNotFound', 'none'],
        ['n', 'TREE', {}, 'InvalidInput', '"TREE"', 'BTREE, BITMAP'],
        ['n', 'IVF_PQ', {}, 'InvalidInput', 'int32', 'fixed-size list'],
        ['at', 'BTREE', {}, 'InvalidInput', 'fixed_size_list', 'It needs'],
        ['word', 'LABEL_LIST', {}, 'InvalidInput', 'It needs a list'],
        ['n', 'FM', {}, 'InvalidInput', 'It needs strings'],
        ['at', 'IVF_FLAT', { distance_type: 'hamming' }, 'InvalidInput', 'l2, cosine or dot'],
        ['at', 'IVF_FLAT', { num_partitions: 0 }, 'InvalidInput', 'num_partitions must be'],
        ['at', 'IVF_FLAT', { name: '' }, 'InvalidInput', 'name'],
        ['word', 'FTS', { with_position: true }, 'Unsupported', 'Full-text'],
        ['word', 'inverted', {}, 'Unsupported', 'Full-text'],
      ] as const) {
        await fails(create(catalog, column, type, more), code, ...parts)
      }
      await fails(
        catalog.createTableScalarIndex({ id, column: 'at', index_type: 'IVF_FLAT' }),
        'InvalidInput',
        'BTREE, BITMAP, LABEL_LIST, FM.',
      )
      const missing = { id, index_name: 'none' }
      await fails(catalog.dropTableIndex(missing), 'TableIndexNotFound', 'It has none')
      await fails(catalog.describeTableIndexStats(missing), 'TableIndexNotFound')
      await fails(catalog.prewarmTableIndex(missing), 'TableIndexNotFound')
      expect((await catalog.listTableVersions({ id })).versions).toHaveLength(1)
      await catalog.declareTable({ id: ['declared'] })
      await fails(catalog.listTableIndices({ id: ['declared'] }), 'InvalidTableState')
      await fails(
        catalog.createTableIndex({ id: ['declared'], column: 'n', index_type: 'BTREE' }),
        'InvalidTableState',
        'no rows or columns',
      )
    })
  })
})
