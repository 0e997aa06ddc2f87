import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { type CatalogOptions, openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* Tables that Lance writes from their first row on. */

const opened = async (options: CatalogOptions = {}) =>
  closedAfterwards(await openCatalog(join(await freshFolder(), 'a catalog'), { ...howLanceRuns, ...options }))

const isOfLance = async (catalog: Awaited<ReturnType<typeof opened>>, id: string[]) => {
  const { versions } = await catalog.listTableVersions({ id })
  return versions.at(-1)!.manifest_path.endsWith('.manifest')
}

describe('creating tables of Lance', () => {
  lanceIt(
    'the property format of a table, or else the option of the catalog, says who writes it',
    async () => {
      for (const format of [undefined, 'arrow', 'lance'] as const) {
        const catalog = await opened({ ...(format && { format }) })
        for (const wanted of [undefined, 'arrow', 'lance', 'other'] as const) {
          const id = [`t_${wanted}`]
          const properties = wanted && { format: wanted }
          const made = await catalog.createTable({ id, data: numbered(10) as never, properties })
          const isLances = wanted === 'lance' || (format === 'lance' && wanted !== 'arrow')
          expect([made.version, made.properties]).toEqual([1, properties ?? {}])
          expect([format, wanted, await isOfLance(catalog, id)]).toEqual([format, wanted, isLances])
          expect(await countOf(catalog, id, { predicate: 'n < 3' })).toBe(3)
          await catalog.insertIntoTable({ id, data: numbered(2, 10) as never })
          expect(await rowsOf(catalog, id, { order_by: ['n'] })).toEqual(numbered(12))
          const { transactions } = await catalog.listTransactions({ limit: 100 })
          expect(transactions.filter(({ subject }) => String(subject) === String(id)).length).toBe(2)
        }
      }
    },
  )

  lanceIt(
    'a declared table takes rows, though a crash left files of Lance before the first manifest',
    async () => {
      const catalog = await opened({ format: 'lance' })
      const { location } = await catalog.declareTable({ id: ['d'] })
      const folder = fileURLToPath(location!)
      for (const name of [
        'data/0.lance',
        'data/.tmpLk5Pku',
        '_transactions/0.txn',
        '_transactions/0.txn#1',
        '_versions/1.manifest-0',
      ]) {
        await mkdir(dirname(join(folder, name)), { recursive: true })
        await writeFile(join(folder, name), 'half')
      }
      await expect(countOf(catalog, ['d'], { predicate: 'n < 3' })).rejects.toMatchObject({
        message: expect.stringContaining('is declared and has no rows'),
      })
      await catalog.insertIntoTable({ id: ['d'], data: numbered(10) as never })
      expect(await countOf(catalog, ['d'], { predicate: 'n < 3' })).toBe(3)
    },
  )

  lanceIt('modes, declared tables, empty and streamed rows', async () => {
    const catalog = await opened({ format: 'lance' })
    const id = ['t']
    const data = numbered(3) as never
    await catalog.createTable({ id, data })
    await expect(catalog.createTable({ id, data })).rejects.toMatchObject({ code: 'TableAlreadyExists' })
    expect((await catalog.createTable({ id, data: numbered(9) as never, mode: 'ExistOk' })).version).toBe(1)
    expect(await countOf(catalog, id)).toBe(3)
    await catalog.createTable({ id, data: [{ a: 'x' }], mode: 'Overwrite' })
    expect(await rowsOf(catalog, id)).toEqual([{ a: 'x' }])
    await catalog.declareTable({ id: ['d'] })
    await catalog.createTable({ id: ['d'], data })
    await catalog.declareTable({ id: ['e'] })
    await expect(catalog.deleteFromTable({ id: ['e'], predicate: 'true' })).rejects.toMatchObject({
      code: 'InvalidTableState',
      message: expect.stringContaining('is declared and has no rows'),
    })
    await catalog.insertIntoTable({ id: ['e'], data })
    await catalog.createTable({
      id: ['s'],
      data: (function* () {
        yield numbered(2)
        yield numbered(1, 2)
      })() as never,
    })
    for (const name of ['d', 'e', 's']) {
      expect(await isOfLance(catalog, [name])).toBe(true)
      expect(await rowsOf(catalog, [name])).toEqual(numbered(3))
    }
    const schema = { fields: [{ name: 'n', type: { type: 'int64' }, nullable: true }] }
    await catalog.createTable({ id: ['none'], data: [], schema } as never)
    expect(await countOf(catalog, ['none'])).toBe(0)
    await catalog.insertIntoTable({ id: ['none'], data: [{ n: 4 }] })
    expect(await countOf(catalog, ['none'])).toBe(1)
  })

  lanceIt('a transaction makes tables of both engines, at once or not at all', async () => {
    const catalog = await opened()
    const make = async (tx: Pick<typeof catalog, 'createTable' | 'insertIntoTable'>) => {
      await tx.createTable({ id: ['l'], data: numbered(3) as never, properties: { format: 'lance' } })
      await tx.insertIntoTable({ id: ['l'], data: numbered(1, 3) as never })
      await tx.createTable({ id: ['o'], data: numbered(4) as never })
    }
    const undone = catalog.transaction(async (tx) => {
      await make(tx as never)
      expect(await countOf(tx as never, ['l'])).toBe(4)
      throw new Error('never mind')
    })
    await expect(undone).rejects.toThrow('never mind')
    expect((await catalog.listTables({ id: [] })).tables).toEqual([])
    await catalog.transaction((tx) => make(tx as never))
    expect(await rowsOf(catalog, ['l'])).toEqual(await rowsOf(catalog, ['o']))
    await catalog.vacuum({ graceMillis: 0 })
    expect(await countOf(catalog, ['l'], { predicate: 'n >= 0' })).toBe(4)
  })

  lanceIt('a server is one of LanceDB', async () => {
    const { serve } = await import('../../../src/server/index.ts')
    const catalog = await opened({ format: 'lance' })
    const server = await serve(catalog, { auth: { tokens: ['a-token-of-some-length'] }, port: 0 })
    const db = await lance.connect('db://any', { apiKey: 'a-token-of-some-length', hostOverride: server.url })
    const table = await db.createTable('t', [
      { i: 1, v: [1, 0] },
      { i: 2, v: [0, 1] },
    ])
    await table.add([{ i: 3, v: [1, 1] }])
    expect(await table.countRows('i > 1')).toBe(2)
    expect(await isOfLance(catalog, ['t'])).toBe(true)
    await server.close()
  })

  lanceIt('what cannot be is refused, and leaves nothing', async () => {
    await expect(openCatalog('memory:', { format: 'lance' })).rejects.toMatchObject({ code: 'InvalidInput' })
    await expect(openCatalog('memory:', { format: 'iceberg' } as never)).rejects.toMatchObject({
      code: 'InvalidInput',
    })
    const memory = closedAfterwards(await openCatalog('memory:'))
    const properties = { format: 'lance' }
    await expect(
      memory.createTable({ id: ['t'], data: numbered(1) as never, properties }),
    ).rejects.toMatchObject({ code: 'Unsupported' })
    expect((await memory.listTables({ id: [] })).tables).toEqual([])
    const catalog = await opened({ format: 'lance' })
    await expect(catalog.createTable({ id: ['no', 't'], data: numbered(1) as never })).rejects.toMatchObject({
      code: 'NamespaceNotFound',
    })
    const aborted = catalog.createTable(
      { id: ['t'], data: numbered(1) as never },
      { signal: AbortSignal.abort('enough') },
    )
    await expect(aborted).rejects.toBe('enough')
    expect((await catalog.listTables({ id: [] })).tables).toEqual([])
  })
})
