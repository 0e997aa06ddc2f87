import { join } from 'node:path'
import { type Field, Table, tableFromArrays, utf8 } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { openCatalog } from '../../../src/tabularium/index.ts'
import { closedAfterwards, freshFolder } from '../../support/catalogs.ts'
import { howLanceRuns, lanceIt } from '../../support/lance-package.ts'
import { countOf, rowsOf } from '../../support/rows.ts'
import { limitEach } from '../../support/time-limit.ts'

limitEach(120)

/* Columns that Lance keeps in another form than rows have them. */

const id = ['notes']

/** Rows whose column `j` is JSON, as clients of Lance mark it. */
function marked(rows: readonly { readonly n: number; readonly j: string | null }[]): Table {
  const arrays = { n: rows.map(({ n }) => n), j: rows.map(({ j }) => j) }
  const plain = tableFromArrays(arrays, { types: { j: utf8() } })
  const [n, j] = plain.schema.fields as [Field, Field]
  const metadata = new Map([['ARROW:extension:name', 'arrow.json']])
  return new Table({ ...plain.schema, fields: [n, { ...j, metadata }] }, plain.children)
}

async function opened() {
  const catalog = closedAfterwards(
    await openCatalog(join(await freshFolder(), 'c'), { format: 'lance', ...howLanceRuns }),
  )
  await catalog.createTable({ id, data: marked([{ n: 0, j: '{"k":0}' }]) as never })
  return catalog
}

type Catalog = Awaited<ReturnType<typeof opened>>

/** What the column says, by number. */
async function said(catalog: Catalog): Promise<ReadonlyMap<number, unknown>> {
  const rows = (await rowsOf(catalog, id)) as unknown as { n: number; j: string | null }[]
  return new Map(rows.map(({ n, j }) => [n, j === null ? null : JSON.parse(j)]))
}

describe('columns of JSON in tables of Lance', () => {
  lanceIt('what is inserted and merged is JSON afterwards, marked as such or not', async () => {
    const catalog = await opened()
    const model = new Map<number, unknown>([[0, { k: 0 }]])
    const value = fc.jsonValue({ maxDepth: 2 }).map((found) => JSON.parse(JSON.stringify(found)))
    const wanted = fc.record({ how: fc.constantFrom('plain', 'marked', 'merged'), value, n: fc.nat(20) })
    for (const { how, value, n } of fc.sample(wanted, { numRuns: 24, seed: 7 })) {
      const document = { k: n, value }
      const there = model.has(n) ? [...model.keys()].reduce((a, b) => Math.max(a, b)) + 1 : n
      const at = how === 'merged' ? n : there
      const row = { n: at, j: JSON.stringify(document) }
      if (how === 'plain') await catalog.insertIntoTable({ id, data: [row] as never })
      if (how === 'marked') await catalog.insertIntoTable({ id, data: marked([row]) as never })
      if (how === 'merged')
        await catalog.mergeInsertIntoTable({
          id,
          on: 'n',
          when_matched_update_all: true,
          when_not_matched_insert_all: true,
          data: marked([row]) as never,
        })
      model.set(at, document)
    }
    expect(await said(catalog)).toEqual(model)
    for (const k of new Set([...model.values()].map((one) => (one as { k: number }).k))) {
      const count = [...model.values()].filter((one) => (one as { k: number }).k === k).length
      expect(await countOf(catalog, id, { predicate: `json_extract(j, '$.k') = '${k}'` })).toBe(count)
    }
  })

  lanceIt('nulls are kept, and what is no text of JSON is refused and changes nothing', async () => {
    const catalog = await opened()
    await catalog.insertIntoTable({ id, data: [{ n: 1, j: null }] as never })
    for (const j of ['{"k":', 'nul'])
      await expect(catalog.insertIntoTable({ id, data: [{ n: 2, j }] as never })).rejects.toMatchObject({
        code: 'InvalidInput',
        message: expect.stringMatching(/json/i),
      })
    await expect(
      catalog.insertIntoTable({ id, data: [{ n: 2, j: Uint8Array.of(123, 125) }] as never }),
    ).rejects.toMatchObject({ code: 'TableSchemaValidationError' })
    expect(await said(catalog)).toEqual(
      new Map<number, unknown>([
        [0, { k: 0 }],
        [1, null],
      ]),
    )
  })
})

describe('bytes that are marked as blobs in the old way', () => {
  const mark = { 'lance-encoding:blob': 'true', unit: 'png' }
  const schema = {
    fields: [
      { name: 'n', nullable: true, type: { type: 'int64' } },
      { name: 'blob', nullable: true, type: { type: 'large_binary' }, metadata: mark },
      {
        name: 's',
        nullable: true,
        type: {
          type: 'struct',
          fields: [{ name: 'blob', nullable: true, type: { type: 'large_binary' }, metadata: mark }],
        },
      },
    ],
  }
  const bytes = (n: number) => Uint8Array.of(n, 1, 2)
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => {
      const n = from + i
      return { n, blob: n % 3 === 0 ? null : bytes(n), s: { blob: bytes(n + 1) } }
    })

  lanceIt('are bytes in new tables of Lance, as in our own', async () => {
    const catalog = closedAfterwards(await openCatalog(join(await freshFolder(), 'c')))
    for (const format of ['arrow', 'lance']) {
      const id = [format]
      await catalog.createTable({ id, data: rows(0, 4) as never, schema, properties: { format } })
      await catalog.insertIntoTable({ id, data: rows(4, 3) as never })
      const later = [{ ...schema.fields[1]!, name: 'later' }]
      await catalog.alterTableAddColumns({ id, schema: { fields: later } as never })
      expect(await countOf(catalog, id, { predicate: 'later IS NULL' })).toBe(7)
      const found = await rowsOf(catalog, id, { columns: ['n', 'blob', 's'], order_by: ['n'] })
      expect(found.map(({ n, ...row }) => ({ n: Number(n), ...row }))).toEqual(rows(0, 7))
      await catalog.insertIntoTable({ id, data: rows(9, 1) as never, schema, mode: 'Overwrite' })
      expect(await countOf(catalog, id, { predicate: 'blob IS NULL' })).toBe(1)
    }
  })
})

/** Names of any characters, and those that mean something to one of the parsers on their way. */
const names = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'B', 'é', '`', '"', "'", '.', '*', ' ', '\\', '[', '0', '\n'),
    minLength: 1,
    maxLength: 4,
  }),
  fc.constantFrom(
    '',
    '*',
    '`',
    'select',
    '__proto__',
    '_rowid',
    '_rowaddr',
    '_ROWID',
    '_distance',
    '𐐷',
    '日本',
  ),
)

/** The ways in which a column gets its name. */
const ways = ['create', 'overwrite', 'rename', 'expression', 'nulls'] as const

describe('names of columns in tables of Lance', () => {
  lanceIt('one is refused and changes nothing, or the table is read and changed by it', async () => {
    const catalog = closedAfterwards(
      await openCatalog(await freshFolder(), { format: 'lance', ...howLanceRuns }),
    )
    let number = 0
    let refusals = 0
    const examples = ['`', 'a`b', '', '*', '_rowid'].flatMap((name) =>
      ways.map((way) => [name, way] as [string, typeof way]),
    )
    await fc.assert(
      fc.asyncProperty(names, fc.constantFrom(...ways), async (name, way) => {
        fc.pre(name !== 'k' && name !== 'K')
        const id = [`t${number++}`]
        const row = (n: number) => ({ k: n, [name]: n })
        const make = async () => {
          switch (way) {
            case 'create':
              return catalog.createTable({ id, data: [row(1)] })
            case 'overwrite':
              return catalog.insertIntoTable({ id, data: [row(1)], mode: 'overwrite' })
            case 'rename':
              return catalog.alterTableAlterColumns({ id, alterations: [{ path: 'other', rename: name }] })
            case 'expression':
              return catalog.alterTableAddColumns({ id, new_columns: [{ name, expression: 'k' }] })
            case 'nulls':
              return catalog.alterTableAddColumns({
                id,
                new_columns: [{ name, data_type: { type: 'int32' } }],
              } as never)
          }
        }
        if (way !== 'create') await catalog.createTable({ id, data: [{ k: 1, other: 1 }] })
        const error = await make().then(
          () => undefined,
          (reason: { code: string }) => reason,
        )
        if (error !== undefined) {
          refusals++
          expect(error.code).toMatch(/^(?:InvalidInput|Unsupported)$/)
          if (way !== 'create') expect(await rowsOf(catalog, id)).toEqual([{ k: 1, other: 1 }])
          return
        }
        const [there] = await rowsOf(catalog, id)
        await catalog.insertIntoTable({ id, data: [{ ...there, k: 2, [name]: 2 }] })
        const quoted = `\`${name.replaceAll('`', '``')}\``
        expect(await countOf(catalog, id, { predicate: `${quoted} = 2` })).toBe(1)
        const data = [{ ...there, k: 2, [name]: 3 }]
        await catalog.mergeInsertIntoTable({ id, on: 'k', data, when_matched_update_all: true })
        await catalog.deleteFromTable({ id, predicate: `${quoted} = 3` })
        expect(await rowsOf(catalog, id)).toEqual([there])
        await catalog.tableChanges({ id, from: way === 'create' ? 1 : 2 })
      }),
      { numRuns: examples.length + 10 * Number(process.env.HISTORY_RUNS ?? 1), examples },
    )
    expect(refusals).toBeGreaterThanOrEqual(25)
  })
})
