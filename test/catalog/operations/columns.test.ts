import { join } from 'node:path'
import { int32, tableFromArrays, tableFromIPC, tableToIPC } from '@uwdata/flechette'
import { describe, expect, it } from 'vitest'
import { type Catalog, type ErrorCode, openCatalog, type Progress } from '../../../src/tabularium/index.ts'
import { eachCatalog, eachLocalCatalog, freshFolder } from '../../support/catalogs.ts'
import { refuses as refusesOne } from '../../support/refusals.ts'
import { rowsOf } from '../../support/rows.ts'

const id = ['t']
const schema = {
  fields: [
    { name: 'n', nullable: true, type: { type: 'int32' } },
    { name: 'text', nullable: true, type: { type: 'string' } },
  ],
}
const some = (count: number) => Array.from({ length: count }, (_, n) => ({ n, text: `r${n}` }))

type Attempt = readonly [attempt: () => Promise<unknown>, text: string | RegExp]

/** Each attempt is refused with its text, and changes nothing. */
async function refuses(catalog: Catalog, code: ErrorCode, ...attempts: readonly Attempt[]): Promise<void> {
  for (const [attempt, text] of attempts) await refusesOne(catalog, attempt, code, text)
}

async function columnsOf(catalog: Pick<Catalog, 'describeTable'>, request: object = {}): Promise<string[]> {
  const described = await catalog.describeTable({ id, load_detailed_metadata: true, ...request })
  const { fields } = described.schema as {
    fields: { name: string; type: { type: string }; nullable: boolean }[]
  }
  return fields.map(({ name, type, nullable }) => `${name} ${type.type}${nullable ? '' : ' not null'}`)
}

eachCatalog((open) => {
  const filled = async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: some(3), schema })
    return catalog
  }

  describe('alterTableAddColumns', () => {
    it('computes expressions over the columns that were there, and makes one version', async () => {
      const catalog = await filled()
      const answer = await catalog.alterTableAddColumns({
        id,
        new_columns: [
          { name: 'next', expression: 'n + 1' },
          { name: 'later', data_type: 'double' },
          { name: 'upper', expression: 'upper(text)' },
        ],
      })
      expect(answer).toEqual({ version: 2, transaction_id: expect.any(String) })
      expect(await rowsOf(catalog, id)).toEqual(
        some(3).map(({ n, text }) => ({ n, text, next: n + 1, later: null, upper: text.toUpperCase() })),
      )
      expect(await columnsOf(catalog, { version: 1 })).toEqual(['n int32', 'text string'])
    })

    it('fills the columns of an Arrow schema with nulls', async () => {
      const catalog = await filled()
      const fields = [
        {
          name: 'v',
          nullable: true,
          type: {
            type: 'fixed_size_list',
            length: 2,
            fields: [{ name: 'item', nullable: true, type: { type: 'float' } }],
          },
        },
        { name: 'k', nullable: true, type: { type: 'int64' }, metadata: { unit: 'm' } },
      ]
      await catalog.alterTableAddColumns({ id, schema: { fields } })
      expect(await rowsOf(catalog, id)).toEqual(some(3).map((row) => ({ ...row, v: null, k: null })))
      const described = await catalog.describeTable({ id, load_detailed_metadata: true })
      expect((described.schema as typeof schema).fields.slice(2)).toEqual(fields)
    })

    it('takes the schema as Arrow bytes, too', async () => {
      const catalog = await filled()
      const bytes = (x: number[], format: 'stream' | 'file' = 'stream') =>
        tableToIPC(tableFromArrays({ x }, { types: { x: int32() } }), { format })!
      await catalog.alterTableAddColumns({ id, schema: bytes([]) })
      expect(await columnsOf(catalog)).toEqual(['n int32', 'text string', 'x int32'])
      await catalog.createTable({ id: ['other'], data: [{ x: 1 }], schema: bytes([], 'file') })
      expect(await rowsOf(catalog, ['other'])).toEqual([{ x: 1 }])
      await refuses(
        catalog,
        'InvalidInput',
        [() => catalog.alterTableAddColumns({ id, schema: bytes([1]) }), 'have rows'],
        [() => catalog.alterTableAddColumns({ id, schema: Uint8Array.of(1, 2, 3) }), 'Arrow'],
        [() => catalog.alterTableAddColumns({ id, schema: 'x' as never }), 'must be an Arrow schema'],
      )
    })

    it('refuses what it cannot add, and changes nothing', async () => {
      const catalog = await filled()
      const add =
        (...new_columns: object[]) =>
        () =>
          catalog.alterTableAddColumns({ id, new_columns: new_columns as never })
      await refuses(
        catalog,
        'InvalidInput',
        [add({ name: 'n', expression: '1' }), 'column "n" already'],
        [add({ name: 'x', expression: '1' }, { name: 'x', expression: '2' }), 'column "x" already'],
        [add({ name: 'x', expression: 'n / (n - 2)' }), 'row 2'],
        [add({ name: 'x', expression: 'nope' }), 'nope'],
        [add({ name: 'x', expression: 'n +' }), /./],
        [add({ name: 'x' }), 'Give expression or data_type'],
        [add({ name: 'x', expression: '1', data_type: 'int32' }), 'more than one'],
        [add({ name: 'x', data_type: 'int33' }), 'int33'],
        [add({ name: 'x', data_type: 'int32', nullable: false }), 'must not be null'],
        [add({ name: 'a.b', expression: '1' }), 'a dot'],
        [() => catalog.alterTableAddColumns({ id }), 'Give new_columns or schema'],
      )
      await expect(add({ name: 'x', computed: 'n + 1' })()).rejects.toMatchObject({ code: 'Unsupported' })
    })
  })

  describe('alterTableAlterColumns', () => {
    it('makes all alterations in one version', async () => {
      const catalog = await filled()
      const { version } = await catalog.alterTableAlterColumns({
        id,
        alterations: [
          { path: 'n', rename: 'text', data_type: { type: 'int64' }, nullable: false },
          { path: 'text', rename: 'n', data_type: 'large_string' },
        ],
      })
      expect(version).toBe(2)
      expect(await columnsOf(catalog)).toEqual(['text int64 not null', 'n large_string'])
      expect(await rowsOf(catalog, id)).toEqual(some(3).map(({ n, text }) => ({ text: n, n: text })))
      await catalog.restoreTable({ id, version: 1 })
      expect(await rowsOf(catalog, id)).toEqual(some(3))
    })

    it('refuses what does not fit, and changes nothing', async () => {
      const catalog = await filled()
      await catalog.insertIntoTable({ id, data: [{ n: 300, text: null }], schema })
      const alter =
        (...alterations: object[]) =>
        () =>
          catalog.alterTableAlterColumns({ id, alterations: alterations as never })
      await refuses(
        catalog,
        'InvalidInput',
        [alter({ path: 'n' }), '"rename", "data_type" or "nullable"'],
        [alter({ path: 'n', data_type: 'int8' }), 'holds 300, which int8 cannot hold, in row 3'],
        [alter({ path: 'n', data_type: 'string' }), 'cannot become string'],
        [alter({ path: 'n', data_type: { type: 'nothing' } }), 'nothing'],
        [alter({ path: 'text', nullable: false }), 'null in row 3'],
        [alter({ path: 'n', rename: 'text' }), 'column "text" already'],
        [alter({ path: 'n', rename: 'a' }, { path: 'n', rename: 'b' }), 'twice'],
      )
    })
  })

  describe('alterTableDropColumns', () => {
    it('leaves earlier versions, tags and branches as they were', async () => {
      const catalog = await filled()
      await catalog.createTableTag({ id, tag: 'x', version: 1 })
      await catalog.createTableBranch({ id, name: 'dev' })
      expect((await catalog.alterTableDropColumns({ id, columns: ['text'] })).version).toBe(2)
      await catalog.alterTableDropColumns({ id, branch: 'dev', columns: ['n'] })
      expect(await rowsOf(catalog, id)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }])
      expect(await columnsOf(catalog, { tag: 'x' })).toEqual(['n int32', 'text string'])
      expect(await columnsOf(catalog, { branch: 'dev' })).toEqual(['text string'])
      await refuses(
        catalog,
        'InvalidInput',
        [() => catalog.alterTableDropColumns({ id, columns: ['n'] }), 'at least one column'],
        [() => catalog.alterTableDropColumns({ id, columns: 'n' as never }), 'must be a list'],
      )
    })
  })

  describe('updateFieldMetadata', () => {
    it('adds pairs, takes keys away, or replaces all', async () => {
      const catalog = await filled()
      const update = (metadata: Record<string, string | null>, replace?: boolean) =>
        catalog.updateFieldMetadata({ id, updates: [{ path: 'n', metadata, replace }] })
      expect(await update({ a: '1', b: '2' })).toEqual({
        version: 2,
        fields: { n: { a: '1', b: '2' } },
        transaction_id: expect.any(String),
      })
      expect(await update({ a: null, c: '3' })).toMatchObject({ fields: { n: { b: '2', c: '3' } } })
      expect(await update({ d: '4' }, true)).toMatchObject({ fields: { n: { d: '4' } } })
      const described = await catalog.describeTable({ id, load_detailed_metadata: true })
      expect((described.schema as { fields: object[] }).fields[0]).toMatchObject({ metadata: { d: '4' } })
      await refuses(catalog, 'InvalidInput', [() => update({ a: 1 as never }), 'strings or null'])
    })
  })

  it('columns change inside of transactions, beside rows that others add', async () => {
    const catalog = await filled()
    await catalog.transaction(async (tx) => {
      await tx.alterTableAddColumns({ id, new_columns: [{ name: 'next', expression: 'n + 1' }] })
      await tx.alterTableAlterColumns({ id, alterations: [{ path: 'text', rename: 'name' }] })
      expect(await columnsOf(tx)).toEqual(['n int32', 'name string', 'next int32'])
      expect(await columnsOf(catalog)).toEqual(['n int32', 'text string'])
      if ((await catalog.listTableVersions({ id })).versions.length === 1)
        await catalog.insertIntoTable({ id, data: [{ n: 9, text: 'x' }], schema })
    })
    expect((await rowsOf(catalog, id)).at(-1)).toEqual({ n: 9, name: 'x', next: 10 })
  })

  it('a declared table has no columns to change', async () => {
    const catalog = await open()
    await catalog.declareTable({ id })
    await refuses(
      catalog,
      'InvalidTableState',
      [() => catalog.alterTableDropColumns({ id, columns: ['n'] }), 'Insert rows first'],
      [
        () => catalog.alterTableAddColumns({ id, new_columns: [{ name: 'x', expression: '1' }] }),
        'Insert rows first',
      ],
    )
  })
})

eachLocalCatalog((open) => {
  it('adding a column tells its progress, and can be stopped', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: some(5_000), schema })
    await catalog.insertIntoTable({ id, data: some(5_000), schema })
    const heard: Progress[] = []
    const new_columns = [{ name: 'next', expression: 'n + 1' }]
    await catalog.alterTableAddColumns(
      { id, new_columns },
      { onProgress: (progress) => heard.push(progress) },
    )
    expect(heard.at(-1)).toMatchObject({ rows: 10_000, total: 10_000 })
    const stop = new AbortController()
    const again = catalog.alterTableAddColumns(
      { id, new_columns: [{ name: 'more', expression: 'n + 2' }] },
      { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) },
    )
    await expect(again).rejects.toThrow('enough')
    expect(await columnsOf(catalog)).toEqual(['n int32', 'text string', 'next int32'])
  })
})

it('a directory keeps columns: in the next process, in a backup, and as plain files', async () => {
  const folder = await freshFolder()
  const first = await openCatalog(join(folder, 'first'))
  await first.createTable({ id, data: some(3), schema })
  await first.alterTableAddColumns({ id, new_columns: [{ name: 'next', expression: 'n + 1' }] })
  await first.alterTableAlterColumns({ id, alterations: [{ path: 'n', data_type: 'int64' }] })
  await first.alterTableDropColumns({ id, columns: ['text'] })
  await first.close()
  const expected = some(3).map(({ n }) => ({ n, next: n + 1 }))
  const second = await openCatalog(join(folder, 'first'))
  const check = async (catalog: Catalog) => {
    expect(await rowsOf(catalog, id)).toEqual(expected)
    const { data } = await catalog.queryTable({ id, version: 2 })
    expect(tableFromIPC(data).names).toEqual(['n', 'text', 'next'])
    expect(await columnsOf(catalog, { version: 1 })).toEqual(['n int32', 'text string'])
  }
  await second.vacuum()
  await check(second)
  expect((await second.verify()).findings).toEqual([])
  await second.backup(join(folder, 'backup'))
  await second.exportTo(join(folder, 'files'), { history: true })
  await second.close()
  const restored = await openCatalog(join(folder, 'backup'))
  await check(restored)
  await restored.close()
  const other = await openCatalog('memory:')
  await other.importFrom(join(folder, 'files'))
  await check(other)
  await other.close()
})
