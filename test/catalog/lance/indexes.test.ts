import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* Indexes of tables of Lance, and changes of them that leave their rows as they are. */

const opened = async () =>
  closedAfterwards(
    await openCatalog(join(await freshFolder(), 'catalog'), { format: 'lance', ...howLanceRuns }),
  )

const words = ['cat', 'dog', 'car', 'bird', 'tree']
const row = (i: number) => ({
  i,
  text: `a ${words[i % 5]} and the ${words[(i * 3 + 1) % 5]}`,
  tags: [words[i % 3]!],
  vector: [i % 17, i % 7, 1, 0],
})
const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => row(from + i)) as never
const id = ['t']

const item = (type: string) => [{ name: 'item', nullable: true, type: { type } }]
const schema = {
  fields: [
    { name: 'i', nullable: true, type: { type: 'int32' } },
    { name: 'text', nullable: true, type: { type: 'string' } },
    { name: 'tags', nullable: true, type: { type: 'list', fields: item('string') } },
    { name: 'vector', nullable: true, type: { type: 'fixed_size_list', length: 4, fields: item('float') } },
  ],
}

describe('indexes of tables of Lance', () => {
  lanceIt(
    'answers are the same with and without indexes, which are listed, described and dropped',
    async () => {
      const catalog = await opened()
      await catalog.createTable({ id, data: rows(300), schema })
      const asked = fc.sample(
        fc.oneof(
          fc.nat(350).map((n) => `i = ${n}`),
          fc.array(fc.nat(350), { minLength: 1, maxLength: 5 }).map((all) => `i IN (${all.join(', ')})`),
          fc.nat(300).map((n) => `i BETWEEN ${n} AND ${n + 20} AND text LIKE '%cat%'`),
          fc.constantFrom(...words).map((word) => `array_has(tags, '${word}')`),
        ),
        { numRuns: 25, seed: 20_261_127 },
      )
      const answers = async () => {
        const found: number[][] = []
        for (const filter of asked)
          found.push((await rowsOf(catalog, id, { filter, columns: ['i'] })).map(({ i }) => Number(i)).sort())
        return found
      }
      const before = await answers()
      await catalog.createTableScalarIndex({ id, column: 'i', index_type: 'BTREE' })
      await catalog.createTableScalarIndex({ id, column: 'tags', index_type: 'LABEL_LIST', name: 'labels' })
      await catalog.createTableIndex({ id, column: 'text', index_type: 'FTS', with_position: true })
      const vectors = {
        id,
        column: 'vector',
        index_type: 'IVF_FLAT',
        num_partitions: 2,
        distance_type: 'cosine',
      } as const
      await catalog.createTableIndex(vectors)
      expect(await answers()).toEqual(before)
      const { indexes } = await catalog.listTableIndices({ id })
      expect(indexes.map(({ index_name, index_type, columns }) => [index_name, index_type, columns])).toEqual(
        [
          ['i_idx', 'BTREE', ['i']],
          ['labels', 'LABEL_LIST', ['tags']],
          ['text_idx', 'FTS', ['text']],
          ['vector_idx', 'IVF_FLAT', ['vector']],
        ],
      )
      for (const { num_indexed_rows, num_unindexed_rows, size_bytes, index_uuid } of indexes) {
        expect([num_indexed_rows, num_unindexed_rows]).toEqual([300, 0])
        expect(size_bytes).toBeGreaterThan(0)
        expect(index_uuid).toMatch(/^[0-9a-f-]{36}$/)
      }
      expect(await catalog.describeTableIndexStats({ id, index_name: 'vector_idx' })).toMatchObject({
        index_type: 'IVF_FLAT',
        distance_type: 'cosine',
      })
      expect((await catalog.listTableIndices({ id, version: 1 })).indexes).toEqual([])
      expect((await catalog.listTableIndices({ id, limit: 1 })).page_token).toBeDefined()
      await catalog.insertIntoTable({ id, data: rows(40, 300) })
      expect(await catalog.describeTableIndexStats({ id, index_name: 'i_idx' })).toMatchObject({
        num_indexed_rows: 300,
        num_unindexed_rows: 40,
      })
      const after = await answers()
      const first = await catalog.optimizeTable({ id })
      expect(first).toMatchObject({ optimized: true, rows: 340, fragments_before: 2 })
      // Lance merges fragments once the same indexes cover them.
      const optimized = await catalog.optimizeTable({ id })
      expect(optimized).toMatchObject({ optimized: true, rows: 340, fragments_after: 1 })
      expect(await answers()).toEqual(after)
      expect(await catalog.describeTableIndexStats({ id, index_name: 'i_idx' })).toMatchObject({
        num_indexed_rows: 340,
        num_unindexed_rows: 0,
      })
      expect(await catalog.optimizeTable({ id })).toMatchObject({
        optimized: false,
        version: optimized.version,
      })
      // No version is gone.
      const { versions } = await catalog.listTableVersions({ id, limit: 100 })
      expect(versions.length).toBe(optimized.version)
      for (const { version } of versions)
        expect(await countOf(catalog, id, { version, predicate: 'i >= 0' })).toBe(version < 6 ? 300 : 340)
      await catalog.dropTableIndex({ id, index_name: 'labels' })
      expect((await catalog.listTableIndices({ id })).indexes.length).toBe(3)
      expect(await answers()).toEqual(after)
    },
  )

  lanceIt(
    'a search looks at the least and the most partitions that it names, in any combination',
    async () => {
      const catalog = await opened()
      await catalog.createTable({ id, data: rows(100), schema })
      await catalog.createTableIndex({ id, column: 'vector', index_type: 'IVF_FLAT', num_partitions: 4 })
      const search = { id, vector: [3, 3, 1, 0], k: 5, columns: ['i'] }
      const exact = await rowsOf(catalog, id, { ...search, bypass_vector_index: true } as never)
      const counts = [undefined, 0, 1, 4, 19, 20, 21, 40]
      for (const minimum_nprobes of counts)
        for (const maximum_nprobes of counts) {
          const asked = { ...search, minimum_nprobes, maximum_nprobes }
          const [least, most] = [minimum_nprobes, maximum_nprobes]
          const fits = least !== 0 && (!least || !most || least <= most)
          const answer = rowsOf(catalog, id, asked as never).then(
            (found) => found.length,
            ({ code }) => code,
          )
          expect([least, most, await answer]).toEqual([least, most, fits ? 5 : 'InvalidInput'])
        }
      for (const nprobes of [4, 10, 100])
        expect(await rowsOf(catalog, id, { ...search, nprobes } as never)).toEqual(exact)
    },
  )

  lanceIt('words are searched by clauses', async () => {
    const catalog = await opened()
    await catalog.createTable({ id, data: rows(50) })
    await catalog.createTableIndex({
      id,
      column: 'text',
      index_type: 'FTS',
      with_position: true,
      stem: false,
      remove_stop_words: false,
    })
    const search = async (query: unknown) =>
      (await rowsOf(catalog, id, { columns: ['i', 'text'], full_text_query: { query }, k: 100 }))
        .map(({ i }) => Number(i))
        .sort((a, b) => a - b)
    const expected = (is: (text: string) => boolean) =>
      Array.from({ length: 50 }, (_, i) => i).filter((i) => is(row(i).text))
    const match = (terms: string, more = {}) => ({ match: { terms, column: 'text', ...more } })
    const both = (a: string, b: string) => (text: string) => text.includes(a) && text.includes(b)
    expect(await search(match('cat'))).toEqual(expected((text) => text.includes('cat')))
    expect(await search(match('cat dog', { operator: 'And' }))).toEqual(expected(both('cat', 'dog')))
    expect(await search(match('brid', { fuzziness: 2 }))).toEqual(expect.arrayContaining([3]))
    expect(await search({ phrase: { terms: 'cat and', column: 'text' } })).toEqual(
      expected((text) => text.includes('cat and')),
    )
    expect(await search({ boolean: { must: [match('cat')], must_not: [match('dog')] } })).toEqual(
      expected((text) => text.includes('cat') && !text.includes('dog')),
    )
    expect(await search({ multi_match: { query: 'tree', columns: ['text'] } })).toEqual(
      expected((text) => text.includes('tree')),
    )
    expect(await search({ boost: { positive: match('cat'), negative: match('dog') } })).toEqual(
      expected((text) => text.includes('cat')),
    )
    expect(await search({ match: { terms: 'cat dog', column: null, operator: 'And' } })).toEqual(
      expected(both('cat', 'dog')),
    )
    expect(await search({ phrase: { terms: 'cat and', column: null } })).toEqual(
      expected((text) => text.includes('cat and')),
    )
    for (const wrong of [{ match: {} }, { other: {} }, { match: { terms: 'a' }, phrase: { terms: 'a' } }, []])
      await expect(search(wrong)).rejects.toMatchObject({ code: 'InvalidInput' })
  })

  lanceIt('columns are altered, metadata of fields is set, and versions come back', async () => {
    const catalog = await opened()
    await catalog.createTable({
      id,
      data: [
        { i: 1, text: 'a' },
        { i: 2, text: 'b' },
      ],
      schema: {
        fields: [
          { name: 'i', nullable: true, type: { type: 'int32' } },
          { name: 'text', nullable: true, type: { type: 'string' } },
        ],
      },
    })
    await catalog.alterTableAlterColumns({
      id,
      alterations: [
        { path: 'i', data_type: { type: 'int64' } },
        { path: 'text', rename: 'word' },
      ],
    })
    const { fields } = await catalog.updateFieldMetadata({
      id,
      updates: [{ path: 'word', metadata: { unit: 'letters' } }],
    })
    expect(fields).toEqual({ word: { unit: 'letters' } })
    const { schema } = await catalog.describeTable({ id, load_detailed_metadata: true })
    expect(schema!.fields.map(({ name, type }) => [name, type.type])).toEqual([
      ['i', 'int64'],
      ['word', 'string'],
    ])
    await catalog.insertIntoTable({ id, data: [{ i: 3, word: 'c' }] })
    await catalog.restoreTable({ id, version: 1 })
    expect(await rowsOf(catalog, id)).toEqual([
      { i: 1, text: 'a' },
      { i: 2, text: 'b' },
    ])
    const { transactions } = await catalog.listTransactions({ limit: 1 })
    expect(transactions[0]).toMatchObject({ operation: 'RestoreTable', status: 'Succeeded' })
    expect((await catalog.listTableVersions({ id })).versions.length).toBe(5)
  })

  lanceIt('a table with a damaged manifest is optimized once that is gone, and not in part', async () => {
    const catalog = await opened()
    await catalog.createTable({ id, data: [{ n: 1 }] })
    for (let n = 2; n < 5; n++) await catalog.insertIntoTable({ id, data: [{ n }] })
    await catalog.createTableScalarIndex({ id, column: 'n', index_type: 'BTREE' })
    await catalog.insertIntoTable({ id, data: [{ n: 5 }] })
    const { versions } = await catalog.listTableVersions({ id })
    const path = `/${versions.find(({ version }) => version === 2)!.manifest_path}`
    const whole = await readFile(path)
    const zeros = Buffer.from(whole).fill(0, whole.length >> 1, whole.length - 20)
    for (const bytes of [whole.subarray(0, 50), Buffer.alloc(0), zeros, Buffer.concat([whole, whole])]) {
      await writeFile(path, bytes)
      await expect(catalog.optimizeTable({ id })).rejects.toMatchObject({
        code: 'InvalidTableState',
        message: expect.stringContaining('as the manifest of its version 2 is damaged'),
      })
      expect((await catalog.listTableVersions({ id })).versions).toHaveLength(versions.length)
    }
    await catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 2, end_version: 3 }] })
    expect(await catalog.optimizeTable({ id })).toMatchObject({ optimized: true, rows: 5 })
    expect(await catalog.describeTableIndexStats({ id, index_name: 'n_idx' })).toMatchObject({
      num_unindexed_rows: 0,
    })
  })

  lanceIt('what cannot be is refused, and changes nothing', async () => {
    const catalog = await opened()
    await catalog.createTable({ id, data: rows(20) })
    await catalog.createTable({ id: ['own'], data: rows(20), properties: { format: 'arrow' } })
    await catalog.createTableIndex({ id, column: 'i', index_type: 'BTREE' })
    const refused = async (work: Promise<unknown>, code: string, says: string) =>
      expect(await work.catch((error) => [error.code, error.message])).toEqual([
        code,
        expect.stringContaining(says),
      ])
    const index = { id, column: 'i', index_type: 'BTREE' } as const
    await refused(catalog.createTableIndex({ ...index, column: 'none' }), 'TableColumnNotFound', 'none')
    await refused(catalog.createTableIndex({ ...index, replace: false }), 'TableIndexAlreadyExists', 'i_idx')
    await refused(catalog.createTableIndex({ ...index, index_type: 'IVF_SQ' }), 'Unsupported', 'IVF_SQ')
    await refused(catalog.createTableIndex({ ...index, index_type: 'FTS' }), 'InvalidInput', 'Lance')
    await refused(catalog.createTableIndex({ ...index, index_type: 'IVF_PQ' }), 'InvalidInput', 'Lance')
    await refused(catalog.dropTableIndex({ id, index_name: 'none' }), 'TableIndexNotFound', 'i_idx')
    await refused(catalog.describeTableIndexStats({ id, index_name: 'none' }), 'TableIndexNotFound', 'i_idx')
    const own = { id: ['own'], column: 'text', index_type: 'FTS' }
    await refused(catalog.createTableIndex(own), 'Unsupported', "format: 'lance'")
    await refused(rowsOf(catalog, ['own'], { full_text_query: 'cat' }), 'Unsupported', "format: 'lance'")
    await refused(catalog.restoreTable({ id, version: 9 }), 'TableVersionNotFound', '9')
    expect((await catalog.listTableVersions({ id })).versions.length).toBe(2)
  })
})
