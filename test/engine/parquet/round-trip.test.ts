import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'
import { plainRows, toJsonSchema } from '../../../src/engine/arrow/index.ts'
import { readParquet, writeParquet } from '../../../src/engine/parquet/index.ts'
import { plain } from '../arrow/fixtures.ts'
import { columns, leafTypes, plainTypes, tableOf, tables } from './random-tables.ts'

async function fileOf(
  tables: Iterable<Table>,
  options?: Parameters<typeof writeParquet>[1],
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of writeParquet(tables, options)) pieces.push(piece)
  return new Uint8Array(Buffer.concat(pieces))
}

/** The rows and the schemas that a file has. */
async function contentOf(file: Uint8Array, batchRows?: number) {
  const rows: unknown[] = []
  const schemas: unknown[] = []
  for await (const given of readParquet(file, { batchRows })) {
    const table = given as Table
    rows.push(...plainRows(table))
    schemas.push(toJsonSchema(table.schema))
  }
  return { rows, schemas }
}

const few = fc.nat(5).map((count) => count + 1)

describe('a Parquet file', () => {
  it('gives back the rows and the types that it was written from', async () => {
    await fc.assert(
      fc.asyncProperty(tables(columns(leafTypes, 3), 12), few, few, async (given, groupRows, batchRows) => {
        const table = await tableOf(given)
        const file = await fileOf([table], {
          groupRows,
          compression: groupRows % 2 === 0 ? 'gzip' : 'snappy',
        })
        const { rows, schemas } = await contentOf(file, batchRows)
        expect(rows).toEqual([...plainRows(table)])
        for (const schema of schemas) expect(schema).toEqual(toJsonSchema(table.schema))
      }),
      { numRuns: 50 },
    )
  })

  it('has for another reader the values that it was written from', async () => {
    await fc.assert(
      fc.asyncProperty(tables(columns(plainTypes, 0), 30), few, async (given, groupRows) => {
        const table = await tableOf(given)
        const file = await fileOf([table], { groupRows: groupRows * 5 })
        const read = await parquetReadObjects({ file: file.buffer as ArrayBuffer })
        // The other reader creates objects in which `__proto__` is no member.
        if (given.schema.fields.some(({ name }) => name === '__proto__')) return
        expect(read.map((row) => ({ ...row }))).toEqual([...plainRows(table)])
      }),
      { numRuns: 50 },
    )
  })

  it('is read as another writer wrote it, in each encoding', async () => {
    const encodings = {
      INT32: ['PLAIN', 'RLE_DICTIONARY', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'],
      INT64: ['PLAIN', 'RLE_DICTIONARY', 'DELTA_BINARY_PACKED', 'BYTE_STREAM_SPLIT'],
      DOUBLE: ['PLAIN', 'BYTE_STREAM_SPLIT'],
      BOOLEAN: ['PLAIN', 'RLE'],
      STRING: ['PLAIN', 'RLE_DICTIONARY', 'DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY'],
    } as const
    const values = {
      INT32: fc.integer(),
      INT64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      DOUBLE: fc.double({ noNaN: true }),
      BOOLEAN: fc.boolean(),
      STRING: fc.string({ maxLength: 12 }),
    }
    const cases = Object.entries(encodings).flatMap(([type, names]) =>
      names.map((encoding) => ({ type: type as keyof typeof values, encoding })),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...cases).chain(({ type, encoding }) =>
          fc.record({
            type: fc.constant(type),
            encoding: fc.constant(encoding),
            data: fc.array(fc.option(values[type] as fc.Arbitrary<unknown>, { freq: 5 }), {
              minLength: 1,
              maxLength: 300,
            }),
          }),
        ),
        async ({ type, encoding, data }) => {
          const buffer = parquetWriteBuffer({
            columnData: [{ name: 'x', data, type, encoding, nullable: true }],
            pageSize: 200,
            rowGroupSize: 100,
          })
          const { rows } = await contentOf(new Uint8Array(buffer))
          expect(rows).toEqual(data.map((x) => ({ x })))
        },
      ),
      { numRuns: 50 },
    )
  })

  it('keeps metadata of the schema and of columns', async () => {
    const table = await tableOf({
      schema: { fields: [{ name: 'a', type: { type: 'int32' }, nullable: true, metadata: { unit: 'km' } }] },
      rows: [{ a: 1 }],
    })
    const schema = { ...table.schema, metadata: new Map([['owner', 'ops']]) }
    const { schemas } = await contentOf(await fileOf([Object.assign(table, { schema })]))
    expect(schemas[0]).toMatchObject({ metadata: { owner: 'ops' }, fields: [{ metadata: { unit: 'km' } }] })
  })

  it('has statistics of each column in each row group', async () => {
    const table = await tableOf({
      schema: {
        fields: [
          { name: 'n', type: { type: 'int64' }, nullable: true },
          { name: 's', type: { type: 'string' }, nullable: false },
        ],
      },
      rows: Array.from({ length: 10 }, (_, i) => ({ n: i % 4 === 3 ? null : BigInt(i), s: `s${i}` })),
    })
    const file = await fileOf([table], { groupRows: 4 })
    const groups = parquetMetadata(file.buffer as ArrayBuffer).row_groups
    expect(groups.map(({ num_rows }) => num_rows)).toEqual([4n, 4n, 2n])
    expect(
      groups.map(({ columns }) => columns.map(({ meta_data }) => plain(meta_data!.statistics))),
    ).toMatchObject([
      [
        { min_value: 0n, max_value: 2n, null_count: 1n },
        { min_value: 's0', max_value: 's3', null_count: 0n },
      ],
      [
        { min_value: 4n, max_value: 6n, null_count: 1n },
        { min_value: 's4', max_value: 's7' },
      ],
      [
        { min_value: 8n, max_value: 9n, null_count: 0n },
        { min_value: 's8', max_value: 's9' },
      ],
    ])
  })

  it('of no rows has its columns', async () => {
    const schema = {
      fields: [
        {
          name: 'a',
          type: { type: 'list', fields: [{ name: 'item', type: { type: 'int8' }, nullable: true }] },
          nullable: true,
        },
      ],
    }
    const { rows, schemas } = await contentOf(await fileOf([await tableOf({ schema, rows: [] })]))
    expect({ rows, schemas }).toEqual({ rows: [], schemas: [schema] })
  })

  it('is written from row objects and Arrow bytes as from tables, and refuses tables of other columns', async () => {
    const rows = async (given: Parameters<typeof writeParquet>[0]) => {
      const pieces: Uint8Array[] = []
      for await (const piece of writeParquet(given)) pieces.push(piece)
      return (await contentOf(new Uint8Array(Buffer.concat(pieces)))).rows
    }
    expect(await rows([[{ a: 1 }], [{ a: 2 }]])).toEqual([{ a: 1 }, { a: 2 }])
    await expect(rows([[{ a: 1 }], [{ b: 1 }]])).rejects.toThrow(/same columns, and column "a" is missing/)
    await expect(rows([])).rejects.toThrow(/no Arrow table to write/)
  })

  it.each([
    [
      { type: 'dense_union', fields: [{ name: 'a', type: { type: 'int8' }, nullable: true }] },
      /no type for dense_union/,
    ],
    [{ type: 'struct', fields: [] }, /no type for struct/],
    [{ type: 'decimal:128:5:-2' }, /no decimals of 5 digits with -2 after the point/],
  ])('refuses %j, which Parquet does not have', async (type, message) => {
    const table = await tableOf({ schema: { fields: [{ name: 'x', type, nullable: true }] }, rows: [] })
    await expect(fileOf([table])).rejects.toThrow(message)
  })
})
