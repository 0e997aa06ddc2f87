import { readdirSync } from 'node:fs'
import { cp, mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tableFromArrays, tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { CatalogError } from '../../../src/base/errors.ts'
import { connect } from '../../../src/client/index.ts'
import { fileContent } from '../../../src/contents/files/index.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { type LocalCatalog, openCatalog } from '../../../src/tabularium/index.ts'
import { predicates } from '../../engine/predicate/reference/grammar.ts'
import { agree } from '../../engine/predicate/reference/judges.ts'
import { isKnown } from '../../engine/predicate/reference/known.ts'
import type { Answer } from '../../engine/predicate/reference/reference.ts'
import { randomTable } from '../../engine/predicate/reference/rows.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { contentWith } from '../../support/contents.ts'
import { datasetAt, howLanceRuns, lance, lanceIt } from '../../support/lance-package.ts'
import { countOf, numbered, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'
import { servedForLance } from './served.ts'
import { nameOf } from './support.ts'

limitEach(120)

/* Rows that Lance wrote, read by the catalog through Lance's own package. */

const folderWith = async (name: string) => join(await freshFolder(), name)

async function managed() {
  const catalog = closedAfterwards(
    await openCatalog(await folderWith('a catalog'), { managedVersioning: true, ...howLanceRuns }),
  )
  const server = await servedForLance(catalog)
  return { catalog, server, db: await lance.connectNamespace('rest', { uri: server.url }) }
}

type Row = { n: number; name: string }
const made = (n: number): Row => ({ n, name: `row ${n}` })

/** What a client of Lance does to a table, and what that means for its rows. */
const changes = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), from: fc.nat(50), count: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant('delete' as const), below: fc.nat(50) }),
  fc.record({ kind: fc.constant('update' as const), at: fc.nat(50), by: fc.integer({ min: 1, max: 100 }) }),
)
type Change = typeof changes extends fc.Arbitrary<infer T> ? T : never

function after(rows: readonly Row[], change: Change): Row[] {
  if (change.kind === 'add')
    return [...rows, ...Array.from({ length: change.count }, (_, i) => made(change.from + i))]
  if (change.kind === 'delete') return rows.filter(({ n }) => n >= change.below)
  return rows.map((row) => (row.n === change.at ? { ...row, n: row.n + change.by } : row))
}

const sorted = (rows: readonly unknown[]) =>
  rows.map((row) => JSON.stringify(row)).sort((a, b) => (a < b ? -1 : 1))

describe('rows of Lance', () => {
  lanceIt('every version that clients of Lance make reads as a model says', async () => {
    const { catalog, server, db } = await managed()
    let number = 0
    await fc.assert(
      fc.asyncProperty(fc.array(changes, { minLength: 1, maxLength: 6 }), async (asked) => {
        const name = `t${number++}`
        const table = await db.createTable(
          name,
          Array.from({ length: 5 }, (_, i) => made(i)),
        )
        const versions = [Array.from({ length: 5 }, (_, i) => made(i))]
        for (const change of asked) {
          if (change.kind === 'add')
            await table.add(Array.from({ length: change.count }, (_, i) => ({ ...made(change.from + i) })))
          else if (change.kind === 'delete') await table.delete(`n < ${change.below}`)
          else await table.update({ where: `n = ${change.at}`, valuesSql: { n: `n + ${change.by}` } })
          // A delete or update without a row makes no version, or one with the same rows: as Lance decides.
          const model = after(versions.at(-1)!, change)
          while (versions.length < (await table.version())) versions.push(model)
          expect(versions.length).toBe(await table.version())
        }
        for (const [i, model] of versions.entries()) {
          const version = i + 1
          expect(await countOf(catalog, [name], { version })).toBe(model.length)
          expect(await countOf(catalog, [name], { version, predicate: 'n >= 20' })).toBe(
            model.filter(({ n }) => n >= 20).length,
          )
          expect(sorted(await rowsOf(catalog, [name], { version }))).toEqual(sorted(model))
        }
        expect(await countOf(catalog, [name])).toBe(versions.at(-1)!.length)
      }),
      { numRuns: 8, seed: 20_261_127 },
    )
    await server.close()
  })

  lanceIt('answers of any length have the rows in their order, and few batches', async () => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { format: 'lance', ...howLanceRuns }),
    )
    const lengths = fc.constantFrom(1, 7, 1_023, 1_024, 1_025, 8_191, 8_192, 8_193, 20_000)
    await fc.assert(
      fc.asyncProperty(lengths, fc.nat(20_000), fc.nat(3), async (length, from, limits) => {
        const rows = Array.from({ length }, (_, n) => ({ n, name: n % 3 === 0 ? null : `row ${n}` }))
        await catalog.createTable({ id: ['t'], data: rows, mode: 'Overwrite' })
        const k = limits === 0 ? undefined : Math.max(1, Math.floor(length / limits))
        const filtered = rows.filter(({ n }) => n >= from).slice(0, k)
        const { data } = await catalog.queryTable({ id: ['t'], filter: `n >= ${from}`, k })
        const answer = tableFromIPC(data, { useBigInt: false })
        expect(answer.toArray()).toEqual(filtered)
        expect(answer.getChildAt(0).data.length).toBeLessThanOrEqual(Math.ceil(length / 8_192) + 1)
        const names = await rowsOf(catalog, ['t'], { columns: ['name'], order_by: [{ column_name: 'n' }] })
        expect(names).toEqual(rows.map(({ name }) => ({ name })))
      }),
      { numRuns: 8, examples: [[20_000, 0, 0]] },
    )
  })

  lanceIt('many rows are inserted whose columns are missing, cast or as they are', async () => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { format: 'lance', ...howLanceRuns }),
    )
    const kinds = fc.record({
      n: fc.constantFrom('missing', 'cast', 'same'),
      name: fc.constantFrom('missing', 'same'),
    })
    const lengths = fc.constantFrom(1, 16_384, 16_385, 65_536, 65_537)
    const ways = fc.constantFrom('arrow' as const, 'lance' as const)
    await fc.assert(
      fc.asyncProperty(lengths, kinds, ways, async (length, { n, name }, format) => {
        fc.pre(n !== 'missing' || name !== 'missing')
        const id = ['t']
        await catalog.createTable({
          id,
          data: tableFromArrays({ n: Int32Array.of(-1), name: ['first'] }),
          mode: 'Overwrite',
          properties: { format },
        })
        const numbers = Array.from({ length }, (_, i) => i)
        const data = tableFromArrays({
          ...(n !== 'missing' && { n: n === 'same' ? Int32Array.from(numbers) : Float64Array.from(numbers) }),
          ...(name !== 'missing' && { name: numbers.map((i) => `row ${i}`) }),
        })
        await catalog.insertIntoTable({ id, data })
        const found = await rowsOf(catalog, id)
        expect(found.length).toBe(1 + length)
        const isWrong = (row: Record<string, unknown>, at: number) =>
          row.n !== (n === 'missing' && at > 0 ? null : at - 1) ||
          row.name !== (at === 0 ? 'first' : name === 'missing' ? null : `row ${at - 1}`)
        expect(found.find(isWrong)).toBeUndefined()
      }),
      {
        numRuns: 5,
        examples: [
          [65_537, { n: 'missing', name: 'same' }, 'lance'],
          [16_385, { n: 'cast', name: 'same' }, 'lance'],
        ],
      },
    )
  })

  lanceIt('both engines answer random predicates alike', async () => {
    const table = randomTable(7, 40)
    const root = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(root, howLanceRuns))
    await catalog.createTable({ id: ['own'], data: table })
    await catalog.registerTable({ id: ['lances'], location: await datasetAt(join(root, 'lances'), table) })
    const ask = async (name: string, filter: string): Promise<Answer> => {
      try {
        const rows = await rowsOf(catalog, [name], { filter, columns: ['id'] })
        const count = await countOf(catalog, [name], { predicate: filter })
        expect(count).toBe(rows.length)
        return { ids: rows.map(({ id }) => Number(id)).sort((a, b) => a - b) }
      } catch (error) {
        expect([filter, (error as CatalogError).code]).toEqual([filter, 'InvalidInput'])
        return { error: `${(error as { cause?: unknown }).cause ?? (error as Error).message}` }
      }
    }
    const asked = [...new Set(fc.sample(predicates, { seed: 70, numRuns: 250 }))]
    let answered = 0
    for (const predicate of asked) {
      const [expected, found] = [await ask('lances', predicate), await ask('own', predicate)]
      if ('ids' in found) answered++
      if (!agree(expected, found) && !isKnown(predicate, expected, found, table))
        expect([predicate, found]).toEqual([predicate, expected])
    }
    expect(answered).toBeGreaterThan(asked.length / 3)
  })

  lanceIt('a dataset with spaces and no ending is read at versions, tags and branches', async () => {
    const root = await folderWith('with spaces')
    const outside = await folderWith('a root')
    await mkdir(outside)
    const catalog = closedAfterwards(await openCatalog(root, { locationRoots: [outside], ...howLanceRuns }))
    const location = await datasetAt(join(outside, 'my data, 100% mine'), numbered(10), async (table) => {
      await table.add(numbered(5, 10))
      await (await table.tags()).create('first', 1)
    })
    const id = ['d']
    await catalog.registerTable({ id, location })
    const server = await servedForLance(catalog)
    const db = await lance.connectNamespace('rest', { uri: server.url })
    const branch = await (await (await db.openTable('d')).branches()).create('dev')
    await branch.add(numbered(1, 99))
    // Whoever asks for the columns is told. The client of Lance does not ask, and reads them from the files.
    await using client = connect(server.url)
    const asked = await client.describeTable({ id, load_detailed_metadata: true })
    expect(asked.schema!.fields.map(({ name }) => name)).toEqual(['n', 'half', 'name', 'odd'])
    expect((await client.describeTable({ id })).schema).toBeUndefined()
    await server.close()
    expect(await countOf(catalog, id)).toBe(15)
    expect(await countOf(catalog, id, { version: 1 })).toBe(10)
    expect(await countOf(catalog, id, { tag: 'first' })).toBe(10)
    expect(await countOf(catalog, id, { branch: 'dev' })).toBe(16)
    expect(await countOf(catalog, id, { branch: 'dev', predicate: 'n > 50' })).toBe(1)
    expect(await countOf(catalog, id, { predicate: 'n > 50' })).toBe(0)
    const rows = await rowsOf(catalog, id, {
      columns: { column_aliases: { twice: 'n * 2', name: 'name' } },
      filter: 'n < 8',
      order_by: ['n desc'],
      limit: 2,
      offset: 1,
    })
    expect(rows).toEqual([6, 5].map((n) => ({ twice: n * 2, name: `row ${n}` })))
    expect(await rowsOf(catalog, id, { columns: ['n'], with_row_id: true, limit: 1 })).toEqual(
      [{ n: 0, _rowid: 0n }].map((row) => ({ ...row, _rowid: expect.anything() })),
    )
    expect(await rowsOf(catalog, id, { filter: 'n < 0' })).toEqual([])
    const { schema, version } = await catalog.describeTable({ id, load_detailed_metadata: true })
    expect([version, schema!.fields.map(({ name }) => name)]).toEqual([2, ['n', 'half', 'name', 'odd']])
    const { num_rows, fragment_stats } = await catalog.getTableStats({ id })
    expect([num_rows, fragment_stats.num_fragments]).toEqual([15, 2])
    const { plan } = await catalog.explainTableQueryPlan({ id, query: { filter: 'n > 3' } })
    expect(plan).toContain('LanceRead')
    expect((await catalog.analyzeTableQueryPlan({ id, filter: 'n > 3' })).analysis).toContain(
      'output_rows=11',
    )
  })

  lanceIt('searches for vectors and words are those of Lance', async () => {
    const root = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(root, howLanceRuns))
    const rows = ['a cat', 'a dog', 'cat and dog', 'a car'].map((text, i) => ({
      i,
      text,
      vector: [i, 1, 0, 0],
    }))
    const location = await datasetAt(join(root, 'docs'), rows, (table) =>
      table.createIndex('text', { config: lance.Index.fts() }),
    )
    const id = ['docs']
    await catalog.registerTable({ id, location })
    const nearest = await rowsOf(catalog, id, { columns: ['i'], vector: [2.2, 1, 0, 0], k: 2 })
    expect(nearest.map(({ i }) => i)).toEqual([2, 3])
    expect(nearest[0]!._distance).toBeCloseTo(0.04)
    await catalog.createTable({ id: ['own'], data: rows, schema: undefined })
    for (const full_text_query of [
      'cat',
      { query: 'cat' },
      { string_query: { query: 'cat', columns: ['text'] } },
    ]) {
      const found = await rowsOf(catalog, id, { columns: ['i'], full_text_query })
      expect(found.map(({ i }) => i).sort()).toEqual([0, 2])
      expect(found[0]).toHaveProperty('_score')
      await expect(rowsOf(catalog, ['own'], { full_text_query })).rejects.toMatchObject({
        code: 'Unsupported',
      })
    }
    await expect(rowsOf(catalog, id, { full_text_query: { words: 'cat' } })).rejects.toMatchObject({
      code: 'InvalidInput',
    })
  })

  lanceIt('what cannot be read is refused, and says why', async () => {
    const root = await freshFolder()
    const catalog = closedAfterwards(await openCatalog(root, howLanceRuns))
    const whole = fileURLToPath(
      await datasetAt(join(root, 'whole'), numbered(3), (table) => table.add(numbered(1))),
    )
    const damaged = async (name: string, damage: (folder: string) => Promise<unknown>) => {
      const folder = join(root, name)
      await cp(whole, folder, { recursive: true })
      await damage(folder)
      await catalog.registerTable({ id: [name], location: folder })
      return refusal(catalog, name)
    }
    const latestOf = (folder: string) => {
      const versions = join(folder, '_versions')
      return join(
        versions,
        readdirSync(versions)
          .filter((name) => name.endsWith('.manifest'))
          .sort()[0]!,
      )
    }
    const nothing = await damaged('no-manifests', (folder) =>
      rm(join(folder, '_versions'), { recursive: true }),
    )
    const half = await damaged('no-data', (folder) => rm(join(folder, 'data'), { recursive: true }))
    const truncated = await damaged('truncated', (folder) => truncate(latestOf(folder), 20))
    const empty = await damaged('empty', (folder) => truncate(latestOf(folder), 0))
    const random = await damaged('random', (folder) => writeFile(latestOf(folder), Buffer.alloc(500, 'x')))
    expect(nothing).toEqual(['InvalidTableState', expect.stringContaining('holds no dataset of Lance')])
    expect(half).toEqual([
      'InvalidTableState',
      expect.stringMatching(/^Lance cannot read version 2 of no-data/),
    ])
    // Lance itself takes many a damaged manifest for that of a table without rows.
    for (const [code, message] of [truncated, empty, random]) {
      expect([code, message]).toEqual(['InvalidTableState', expect.stringContaining('is damaged')])
    }
    const another = await damaged('another', (folder) =>
      cp(join(folder, '_versions', nameOf(1)), latestOf(folder)),
    )
    expect(another).toEqual([
      'InvalidTableState',
      expect.stringMatching(/manifest of version 2 of another is damaged .* It is that of version 1\./),
    ])
    const id = ['another']
    for (const change of [
      () => catalog.insertIntoTable({ id, data: numbered(1) }),
      () => catalog.insertIntoTable({ id, data: numbered(1), mode: 'Overwrite' }),
      () => catalog.deleteFromTable({ id, predicate: 'true' }),
      () => catalog.updateTableSchemaMetadata({ id, metadata: { by: 'test' } }),
      () => catalog.restoreTable({ id, version: 1 }),
    ])
      expect(await refusalOf(change())).toEqual(another)
    expect((await catalog.listTableVersions({ id })).versions).toHaveLength(2)
    expect(await countOf(catalog, ['another'], { version: 1 })).toBe(3)
    const told = { kind: 'content', message: expect.stringContaining('is that of version 1.') }
    expect((await catalog.verify()).findings).toContainEqual(
      expect.objectContaining({ ...told, id: ['another'] }),
    )
    await expect(catalog.exportTo(join(await freshFolder(), 'export'))).rejects.toThrow(
      /cannot be|is that of/,
    )
    await catalog.registerTable({ id: ['whole'], location: whole })
    expect(await countOf(catalog, ['whole'])).toBe(4)
    expect((await refusal(catalog, 'whole', 'nothing = 1'))[0]).toBe('InvalidInput')
    expect((await refusal(catalog, 'whole', 'n >'))[0]).toBe('InvalidInput')
    expect((await refusal(catalog, 'whole', 'sum(n) > 1'))[1]).toContain('docs/analyse.md')
  })

  lanceIt('a version that is deleted once it was found is one that is not there', async () => {
    const folder = await freshFolder()
    const real = fileContent(folder)
    /** Runs once, before the next manifest is read. */
    let before: (() => Promise<unknown>) | undefined
    const content = contentWith(real, {
      shared: real.shared!,
      get: async (path, range) => {
        const work = path.endsWith('.manifest') && range === undefined ? before : undefined
        if (work) before = undefined
        await work?.()
        return real.get(path, range)
      },
    })
    const catalog = closedAfterwards(
      await openCatalog({ ...howLanceRuns, store: memoryStore(), root: `file://${folder}`, content }),
    )
    const asked: ((id: string[]) => Promise<unknown>)[] = [
      (id) => catalog.countTableRows({ id, version: 1 }),
      (id) => catalog.queryTable({ id, version: 1 }),
      (id) => catalog.tableChanges({ id, from: 1, to: 2 }),
      (id) => catalog.insertIntoTable({ id, data: numbered(1) }),
    ]
    for (const [i, ask] of asked.entries()) {
      const id = [`t${i}`]
      await catalog.createTable({ id, data: numbered(1), properties: { format: 'lance' } })
      await catalog.insertIntoTable({ id, data: numbered(1) })
      before = () => catalog.batchDeleteTableVersions({ id, ranges: [{ start_version: 1, end_version: 2 }] })
      const told = await refusalOf(ask(id))
      // A change needs the latest version alone.
      if (i === 3) expect(await countOf(catalog, id)).toBe(3)
      else
        expect(told).toEqual([
          'TableVersionNotFound',
          expect.stringContaining('has no version 1; its latest is 2'),
        ])
    }
  })
})

async function refusal(catalog: LocalCatalog, name: string, filter = 'n >= 0'): Promise<[string, string]> {
  return refusalOf(rowsOf(catalog, [name], { filter }).then((rows) => `${rows.length} rows`))
}

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    (answer): [string, string] => ['none', String(answer)],
    ({ code, message }: CatalogError): [string, string] => [code, message],
  )
