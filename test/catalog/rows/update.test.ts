import { type DataType, type Field, field, float64, int8, int32, utf8 } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { fails, refuses } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['t']
const of = (name: string, type: DataType, nullable = true): Field =>
  field(name, type, nullable, null as unknown as Map<string, string>)
const columns = {
  fields: [of('k', int32(), false), of('v', utf8()), of('w', float64()), of('b', int8())],
} as never
const letters = ['a', 'b', null, 'd'].map((v, k) => ({ k, v, w: k / 2, b: 100 }))

eachCatalog((open) => {
  const filled = async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: letters, schema: columns })
    return catalog
  }

  describe('updateTable', () => {
    it('gives new values to the rows of a predicate, which come last then', async () => {
      const catalog = await filled()
      const answer = await catalog.updateTable({
        id,
        updates: [
          ['w', 'k + 10'],
          ['k', 'k * 2'],
          ['v', "coalesce(v, 'none')"],
        ],
        predicate: 'k IN (0, 2)',
      })
      expect(answer).toEqual({ updated_rows: 2, version: 2, transaction_id: expect.any(String) })
      expect(await rowsOf(catalog, id)).toEqual([
        letters[1],
        letters[3],
        { k: 0, v: 'a', w: 10, b: 100 },
        { k: 4, v: 'none', w: 12, b: 100 },
      ])
      expect(await rowsOf(catalog, id, { version: 1 })).toEqual(letters)
    })

    it('updates all rows without a predicate, and makes a version where nothing matches', async () => {
      const catalog = await filled()
      expect(await catalog.updateTable({ id, updates: [['w', 'NULL']] })).toMatchObject({
        updated_rows: 4,
        version: 2,
      })
      expect(await catalog.updateTable({ id, updates: [['w', '1']], predicate: 'k > 9' })).toMatchObject({
        updated_rows: 0,
        version: 3,
      })
      expect(await rowsOf(catalog, id)).toEqual(letters.map((row) => ({ ...row, w: null })))
    })

    it('asks an expression of the chosen rows only', async () => {
      const catalog = await filled()
      const update = (predicate: string | null) =>
        catalog.updateTable({ id, updates: [['w', '12 / k']], predicate })
      expect(await update('k <> 0')).toMatchObject({ updated_rows: 3 })
      expect((await rowsOf(catalog, id)).map(({ w }) => w)).toEqual([0, 12, 6, 4])
      await refuses(catalog, () => update(null), 'InvalidInput', 'zero')
      await catalog.deleteFromTable({ id, predicate: 'k = 0' })
      expect(await update(null)).toMatchObject({ updated_rows: 3 })
    })

    it('refuses what cannot be, with its place, and changes nothing', async () => {
      const catalog = await filled()
      await catalog.createTable({ id: ['s'], data: [{ s: { a: 1 } }] })
      await catalog.declareTable({ id: ['d'] })
      for (const [request, code, ...said] of [
        [{ updates: [] }, 'InvalidInput', 'updates is empty'],
        [{ updates: [['k']] }, 'InvalidInput', 'updates[0][1] is missing'],
        [{ updates: [['k', '1', '2']] }, 'InvalidInput', 'updates'],
        [{ updates: { k: '1' } }, 'InvalidInput', 'list of pairs'],
        [{ updates: [['z', '1']] }, 'TableColumnNotFound', '"z"'],
        [{ updates: [['K', '1']] }, 'TableColumnNotFound', '"K"'],
        [
          {
            updates: [
              ['k', '1'],
              ['k', '2'],
            ],
          },
          'InvalidInput',
          '"k" is updated twice',
        ],
        [{ updates: [['k', 'NULL']] }, 'InvalidInput', '"k"', /null/i],
        [{ updates: [['k', 'w']], predicate: 'k = 1' }, 'InvalidInput', 'k'],
        [{ updates: [['b', '300']] }, 'InvalidInput', '"b"'],
        [{ updates: [['b', 'k * 1000']], predicate: 'k > 0' }, 'InvalidInput', 'row 1'],
        [{ updates: [['v', 'z']] }, 'InvalidInput', '"v"', 'z'],
        [{ updates: [['v', 'v +']] }, 'InvalidInput', '"v"'],
        [{ updates: [['v', "'x'"]], predicate: 'nope' }, 'InvalidInput', 'nope'],
        [{ updates: [['v', "'x'"]], predicate: '' }, 'InvalidInput', /predicate|empty/],
        [{ id: ['s'], updates: [['s.a', '2']] }, 'Unsupported', 's.a'],
        [{ id: ['d'], updates: [['a', '2']] }, 'InvalidTableState', 'declared'],
        [{ id: ['none'], updates: [['a', '2']] }, 'TableNotFound', 'none'],
      ] as const) {
        await refuses(catalog, () => catalog.updateTable({ id, ...request } as never), code, ...said)
      }
    })

    it('n at once on all rows add up to n', async () => {
      const catalog = await filled()
      const add = () => catalog.updateTable({ id, updates: [['w', 'w + 1']], predicate: 'w >= 0' })
      const answers = await Promise.all(Array.from({ length: 9 }, add))
      expect(answers.map(({ updated_rows }) => updated_rows)).toEqual(answers.map(() => 4))
      expect((await rowsOf(catalog, id)).map(({ w }) => w)).toEqual([9, 9.5, 10, 10.5])
    })

    it('takes in what others insert, delete and merge at the same time', async () => {
      const catalog = await filled()
      const jobs = [
        ...Array.from({ length: 4 }, () => catalog.updateTable({ id, updates: [['w', 'w + 1']] })),
        catalog.insertIntoTable({ id, data: [{ k: 100, w: 0 }] }),
        catalog.deleteFromTable({ id, predicate: 'k = 1' }),
        catalog.optimizeTable({ id }),
        catalog.mergeInsertIntoTable({
          id,
          on: 'k',
          data: [
            { k: 3, v: 'merged' },
            { k: 200, v: 'merged' },
          ],
          when_matched_update_all: true,
          when_not_matched_insert_all: true,
        }),
      ]
      await Promise.all(jobs)
      const found = new Map((await rowsOf(catalog, id)).map((row) => [row.k, row]))
      expect([...found.keys()].sort((a, b) => Number(a) - Number(b))).toEqual([0, 2, 3, 100, 200])
      expect([0, 2].map((k) => found.get(k)!.w)).toEqual([4, 5])
      expect(found.get(3)).toEqual({ k: 3, v: 'merged', w: 5.5, b: 100 })
      expect(found.get(200)!.v).toBe('merged')
    })
  })
})

eachLocalCatalog((open) => {
  it('updates and merges inside of transactions add up, too', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: letters, schema: columns })
    await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        catalog.transaction(async (tx) => {
          await tx.updateTable({ id, updates: [['w', 'w + 1']], predicate: 'k < 100' })
          await tx.mergeInsertIntoTable({
            id,
            on: 'k',
            data: [{ k: 100 + (i % 2), w: i }],
            when_matched_update_all: true,
            when_not_matched_insert_all: true,
          })
        }),
      ),
    )
    const rows = await rowsOf(catalog, id)
    expect(rows.map(({ k }) => k).sort((a, b) => Number(a) - Number(b))).toEqual([0, 1, 2, 3, 100, 101])
    expect(rows.filter(({ k }) => Number(k) < 100).map(({ w }) => w)).toEqual([6, 6.5, 7, 7.5])
  })

  it('an update hears its signal and tells its progress', async () => {
    const catalog = await open()
    const data = Array.from({ length: 5_000 }, (_, k) => ({ k, v: 'x', w: k, b: 1 }))
    await catalog.createTable({ id, data, schema: columns })
    const seen: number[] = []
    await catalog.updateTable(
      { id, updates: [['w', '0']] },
      { onProgress: ({ rows, total }) => seen.push(rows, total) },
    )
    expect(seen.slice(-2)).toEqual([5_000, 5_000])
    const stop = new AbortController()
    const work = catalog.updateTable(
      { id, updates: [['w', '1']] },
      { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) },
    )
    await expect(work).rejects.toThrow('enough')
    expect((await catalog.countTableRows({ id, predicate: 'w = 0' })).count).toBe(5_000)
    await fails(catalog.updateTable({ id, updates: [['b', 'k']] }), 'InvalidInput', 'row 128')
  })
})
