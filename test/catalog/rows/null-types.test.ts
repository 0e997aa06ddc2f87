import { type DataType, int32, nullType, tableFromArrays, tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CatalogError } from '../../../src/base/errors.ts'
import { memoryContent } from '../../../src/contents/memory/index.ts'
import { type Snapshot, tableEngine, toArrowTable } from '../../../src/engine/table/index.ts'
import type { LocalCatalog } from '../../../src/tabularium/index.ts'
import { eachCatalog, eachLocalCatalog } from '../../support/catalogs.ts'
import { rowsOf } from '../../support/rows.ts'

/*
 * A column without a value has the type null, and takes the type of its first value: columns, fields of structs and
 * items of lists. Every version keeps the types and the rows that it had.
 */

type Kind = 'double' | 'string' | 'bool'
type Scalar = number | string | boolean | null

type Row = {
  readonly k: number
  readonly a: Scalar
  readonly s: { readonly p: Scalar; readonly q: readonly Scalar[] | null } | null
  readonly l: readonly Scalar[] | null
}

/** The places that begin without a type. */
const places = ['a', 's.p', 's.q.item', 'l.item'] as const
type Types = Partial<Record<(typeof places)[number], Kind>>

const kindOf = (value: Exclude<Scalar, null>): Kind =>
  typeof value === 'number' ? 'double' : typeof value === 'string' ? 'string' : 'bool'

const valuesAt: Readonly<Record<(typeof places)[number], (row: Row) => readonly Scalar[]>> = {
  a: ({ a }) => [a],
  's.p': ({ s }) => [s?.p ?? null],
  's.q.item': ({ s }) => s?.q ?? [],
  'l.item': ({ l }) => l ?? [],
}

/** The types after rows are inserted. Undefined if some values have another type. */
function typesWith(before: Types, rows: readonly Row[]): Types | undefined {
  const types: Types = { ...before }
  for (const place of places) {
    for (const value of rows.flatMap(valuesAt[place])) {
      if (value === null) continue
      types[place] ??= kindOf(value)
      if (types[place] !== kindOf(value)) return undefined
    }
  }
  return types
}

const scalar = (kind: Kind) =>
  ({
    double: fc.constantFrom<Scalar>(1.5, -2, null, null),
    string: fc.constantFrom<Scalar>('x', '', null, null),
    bool: fc.constantFrom<Scalar>(true, false, null, null),
  })[kind]

/** Rows whose values have one type at each place, more often than not those of other rows. */
const insertedRows = fc
  .tuple(...places.map(() => fc.constantFrom<Kind>('string', 'string', 'double', 'bool')))
  .chain(([a, p, q, l]) =>
    fc.array(
      fc.record({
        a: scalar(a!),
        s: fc.option(fc.record({ p: scalar(p!), q: fc.option(fc.array(scalar(q!), { maxLength: 2 })) })),
        l: fc.option(fc.array(scalar(l!), { maxLength: 3 })),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constantFrom('insert', 'stream', 'transaction', 'merge'),
      rows: insertedRows,
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('restore'), version: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('alter'),
      place: fc.constantFrom(...places),
      kind: fc.constantFrom<Kind>('string', 'double'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('optimize') }) },
)

const id = ['t']
const failed = (error: unknown) => error as CatalogError

async function insert(catalog: LocalCatalog, does: string, data: Row[]): Promise<unknown> {
  if (does === 'stream') {
    async function* each() {
      yield* data
    }
    return catalog.insertIntoTable({ id, data: each() })
  }
  if (does === 'merge') {
    return catalog.mergeInsertIntoTable({ id, data, on: 'k', when_not_matched_insert_all: true })
  }
  if (does === 'insert') return catalog.insertIntoTable({ id, data })
  return catalog.transaction(async (tx) => {
    await tx.insertIntoTable({ id, data: data.slice(0, 1) })
    await tx.insertIntoTable({ id, data: data.slice(1) })
  })
}

/** The types of the places, as a description tells them. */
async function typesOf(catalog: LocalCatalog, version: number): Promise<Types> {
  const { schema } = await catalog.describeTable({ id, version, load_detailed_metadata: true })
  const at = (path: string) => {
    const names = path.split('.')
    let fields = schema!.fields
    let type = ''
    for (const name of names) {
      const found = fields.find((field) => field.name === name)!
      fields = found.type.fields ?? []
      type = found.type.type
    }
    return type
  }
  const known = places.map((place) => [place, at(place)] as const)
  return Object.fromEntries(known.filter(([, type]) => type !== 'null'))
}

const none: Row = { k: 0, a: null, s: { p: null, q: [] }, l: [] }

eachCatalog((open) => {
  it('columns take the types of their first values, and versions keep theirs', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 7 }), async (steps) => {
      const catalog = await open()
      await catalog.createTable({ id, data: [none] })
      const versions: { rows: readonly Row[]; types: Types }[] = [{ rows: [none], types: {} }]
      let next = 1
      for (const one of steps) {
        const { rows, types } = versions.at(-1)!
        if ('rows' in one) {
          const data = one.rows.map((row) => ({ k: next++, ...row }))
          const after = typesWith(types, data)
          const error = await insert(catalog, one.does, data).then(() => undefined, failed)
          expect(error?.code, String(error)).toEqual(
            after === undefined
              ? expect.stringMatching(/^(TableSchemaValidationError|InvalidInput)$/)
              : undefined,
          )
          if (after === undefined) continue
          const { version } = await catalog.describeTable({ id, load_detailed_metadata: true })
          // Two inserts of a transaction may be two versions.
          if (versions.length + 1 < version!) {
            const [first] = data
            versions.push({ rows: [...rows, first!], types: typesWith(types, [first!])! })
          }
          versions.push({ rows: [...rows, ...data], types: after })
        } else if ('version' in one) {
          const version = (one.version % versions.length) + 1
          await catalog.restoreTable({ id, version })
          versions.push(versions[version - 1]!)
        } else if ('kind' in one) {
          const { place, kind } = one
          if (types[place] !== undefined) continue
          await catalog.alterTableAlterColumns({
            id,
            alterations: [{ path: place, data_type: { type: kind } }],
          })
          versions.push({ rows, types: { ...types, [place]: kind } })
        } else {
          await catalog.optimizeTable({ id })
          const { version } = await catalog.describeTable({ id, load_detailed_metadata: true })
          while (versions.length < version!) versions.push({ rows, types })
        }
      }
      for (const [i, { rows, types }] of versions.entries()) {
        const found: unknown[] = []
        for await (const row of catalog.rows({ id, version: i + 1 })) found.push(row)
        expect(found.sort((a, b) => (a as Row).k - (b as Row).k)).toEqual(rows)
        expect(await typesOf(catalog, i + 1)).toEqual(types)
      }
      const { ok } = open.remote ? { ok: true } : await catalog.verify({})
      expect(ok).toBe(true)
    })
    await fc.assert(property, { numRuns: open.kind === 'memory' && !open.remote ? 30 : 8 })
  })
})

eachLocalCatalog((open) => {
  describe('beside others', () => {
    it('two first values at once: the second is inserted if it has the type of the first', async () => {
      const catalog = await open()
      for (const [others, count] of [
        [['x', 'y', 'z'], 4],
        [['x', 'y', 2], 3],
      ] as const) {
        await catalog.createTable({ id, mode: 'Overwrite', data: [none] })
        const results = await Promise.allSettled(
          others.map((a, i) => catalog.insertIntoTable({ id, data: [{ ...none, k: i + 1, a }] })),
        )
        const refused = results.filter(({ status }) => status === 'rejected')
        expect((await catalog.countTableRows({ id })).count).toBe(4 - refused.length)
        expect([count, count === 3 ? 2 : 4]).toContain(4 - refused.length)
        for (const one of refused)
          expect((one as PromiseRejectedResult).reason.code).toBe('TableSchemaValidationError')
      }
    })

    it('a transaction whose column got another type meanwhile is refused, and one of the same type is not', async () => {
      const catalog = await open()
      for (const [a, isRefused] of [
        ['text', false],
        [1, true],
      ] as const) {
        await catalog.createTable({ id, mode: 'Overwrite', data: [none] })
        let runs = 0
        const error = await catalog
          .transaction(async (tx) => {
            await tx.insertIntoTable({ id, data: [{ ...none, k: 1, a }] })
            if (runs++ === 0) await catalog.insertIntoTable({ id, data: [{ ...none, k: 2, a: 'first' }] })
          })
          .then(() => undefined, failed)
        expect(error?.code).toBe(isRefused ? 'TableSchemaValidationError' : undefined)
        const found = await rowsOf(catalog, id, { columns: ['k', 'a'], order_by: ['k'] })
        const others = isRefused ? [] : [{ k: 1, a: 'text' }]
        expect(found).toEqual([{ k: 0, a: null }, ...others, { k: 2, a: 'first' }])
      }
    })

    it('branches take types of their own', async () => {
      const catalog = await open()
      await catalog.createTable({ id, data: [none] })
      await catalog.createTableBranch({ id, name: 'dev' })
      await catalog.insertIntoTable({ id, branch: 'dev', data: [{ ...none, k: 1, a: true }] })
      await catalog.insertIntoTable({ id, data: [{ ...none, k: 1, a: 'main' }] })
      const of = (branch?: string) => rowsOf(catalog, id, { columns: ['a'], ...(branch && { branch }) })
      expect([await of(), await of('dev')]).toEqual([
        [{ a: null }, { a: 'main' }],
        [{ a: null }, { a: true }],
      ])
    })
  })

  it('a column of Arrow data gives its own type, also without a value', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ k: 1, a: null }] })
    for (const [k, type] of [nullType(), int32()].entries()) {
      const data = tableFromArrays({ k: [k], a: [null] }, { types: { k: int32(), a: type as DataType } })
      await catalog.insertIntoTable({ id, data })
    }
    await catalog.insertIntoTable({ id, data: [{ k: 3, a: 7 }] })
    expect(await rowsOf(catalog, id, { columns: ['a'] })).toEqual([
      { a: null },
      { a: null },
      { a: null },
      { a: 7 },
    ])
    await expect(catalog.insertIntoTable({ id, data: [{ k: 4, a: 1.5 }] })).rejects.toThrow('"a"')
  })

  it('differences tell the rows with values only', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ k: 1, a: null }] })
    await catalog.insertIntoTable({ id, data: [{ k: 2, a: 'x' }] })
    const { data } = await catalog.tableChanges({ id, from: 1, on: 'k' })
    expect(tableFromIPC(data).toArray()).toEqual([{ k: 2, a: 'x', _change_type: 'insert' }])
  })

  it('an update of such a column is refused, and says how the column gets a type', async () => {
    const catalog = await open()
    await catalog.createTable({ id, data: [{ k: 1, a: null }] })
    const update = () => catalog.updateTable({ id, updates: [['a', "'x'"]] })
    await expect(update()).rejects.toThrow('Give the column a type first, by alterTableAlterColumns')
    await catalog.alterTableAlterColumns({ id, alterations: [{ path: 'a', data_type: { type: 'string' } }] })
    await update()
    expect(await rowsOf(catalog, id)).toEqual([{ k: 1, a: 'x' }])
  })
})

it('manifests tell earlier releases what they cannot read', async () => {
  const content = memoryContent()
  const engine = tableEngine({ content })
  const formatOf = async ({ prefix, manifest }: Snapshot) => {
    const text = Buffer.from((await content.get(prefix + manifest.path))!).toString()
    return Number(/"format":(\d+)/.exec(text)![1])
  }
  const formatsOf = async (row: Record<string, unknown>) => {
    const base = await engine.create('t', await toArrowTable([{ k: 1, a: null, l: [null, null] }]))
    const rows = await toArrowTable([row])
    const typed = (await (await engine.insertRows(base, rows)).apply(base)).snapshot
    const dropped = (await engine.dropColumns(['k']).apply(typed)).snapshot
    return Promise.all([base, typed, dropped].map(formatOf))
  }
  expect(await formatsOf({ k: 2, a: 'x' })).toEqual([1, 2, 2])
  expect(await formatsOf({ k: 2, l: ['x'] })).toEqual([1, 4, 4])
})
