import { type Table, Type, tableFromIPC } from '@uwdata/flechette'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { extraction, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { decodeArrow } from '../../../../src/engine/arrow/ipc/decode.ts'
import { StreamDecoder } from '../../../../src/engine/arrow/ipc/decode-stream.ts'
import { encodeArrow, joinParts } from '../../../../src/engine/arrow/ipc/encode.ts'
import { toJsonSchema } from '../../../../src/engine/table/index.ts'
import { fixture } from '../fixtures.ts'

const names = ['types.arrows', 'types-lz4.arrows', 'types-zstd.arrows', 'types.arrow', 'dictionaries.arrows']

function values(table: Table): unknown[] {
  return table.children.map((column) => {
    // Flechette has no value for a date64, or for the nanoseconds of an interval, that is no safe integer.
    const { type } = column
    const raw =
      (type.typeId === Type.Date && type.unit === 1) || (type.typeId === Type.Interval && type.unit === 2)
    return raw
      ? column.data.map((batch) => Array.from(batch.values as ArrayLike<unknown>))
      : Array.from(column)
  })
}

async function refusal(bytes: Uint8Array): Promise<CatalogError> {
  const error = await decodeArrow(bytes).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(CatalogError)
  return error as CatalogError
}

describe('decodeArrow', () => {
  test.each(['types.arrows', 'types.arrow', 'dictionaries.arrows', 'schema-only.arrows'])(
    'reads what flechette reads in %s',
    async (name) => {
      const bytes = fixture(name)
      const table = await decodeArrow(bytes)
      expect(values(table)).toEqual(values(tableFromIPC(bytes, extraction)))
    },
  )

  test.each(['types-lz4.arrows', 'types-zstd.arrows'])('reads the compressed buffers of %s', async (name) => {
    expect(values(await decodeArrow(fixture(name)))).toEqual(
      values(await decodeArrow(fixture('types.arrows'))),
    )
  })

  test('keeps dictionaries apart that are extended and replaced', async () => {
    const [column] = (await decodeArrow(fixture('dictionaries.arrows'))).children
    expect(Array.from(column!)).toEqual(['a', 'b', null, 'a', 'a', 'b', 'c', 'c', 'z', 'y', 'a', 'z'])
  })

  test('reads bytes at any alignment', async () => {
    const bytes = fixture('types.arrows')
    const expected = values(await decodeArrow(bytes))
    for (let shift = 1; shift < 8; shift++) {
      const moved = new Uint8Array(bytes.length + shift).subarray(shift)
      moved.set(bytes)
      expect(values(await decodeArrow(moved))).toEqual(expected)
    }
  })

  test('reads a stream with a schema alone', async () => {
    const table = await decodeArrow(fixture('schema-only.arrows'))
    expect(table.numRows).toBe(0)
    expect(toJsonSchema(table.schema).fields).toEqual(
      toJsonSchema((await decodeArrow(fixture('types.arrows'))).schema).fields,
    )
  })

  test.each([
    ['CSV', 'a,b\n1,2\n', 'they begin with "a,b\\n1,2\\n"'],
    ['JSON', '[{"a":1}]', 'they begin with "[{\\"a\\":1}]"'],
    ['Parquet', 'PAR1\x15\x04\x15\x20PAR1', 'readParquet'],
  ])('says of bytes of %s that they are no Arrow bytes, whole or in pieces', async (_, text, says) => {
    const bytes = new TextEncoder().encode(text)
    await expect(decodeArrow(bytes)).rejects.toThrow('no Arrow bytes')
    await expect(decodeArrow(bytes)).rejects.toThrow(says)
    await expect(new StreamDecoder({}).add(bytes).next()).rejects.toThrow('no Arrow bytes')
  })

  test('refuses bytes cut off anywhere', async () => {
    for (const name of ['dictionaries.arrows', 'types.arrow', 'types-lz4.arrows']) {
      const bytes = fixture(name)
      const step = name === 'dictionaries.arrows' ? 1 : 97
      for (let length = 0; length < bytes.length - 8; length += step) {
        expect((await refusal(bytes.subarray(0, length))).code).toBe('InvalidInput')
      }
    }
  })

  test('says which column is damaged', async () => {
    const bytes = fixture('dictionaries.arrows').slice()
    const table = await decodeArrow(bytes)
    const indices = table.children[0]!.data[0]!.values as Int8Array
    indices[0] = 9
    expect((await refusal(bytes)).message).toBe(
      'The Arrow data is damaged: column "w" has index 9 into a dictionary of 2 values. Write and send it again.',
    )
  })

  test('any damage gives a table that can be used, or a clear error', async () => {
    const files = names.map(fixture)
    await fc.assert(
      fc.asyncProperty(
        fc.nat(files.length - 1),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (which, changes) => {
          const bytes = files[which]!.slice()
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte
          let table: Table
          try {
            table = await decodeArrow(bytes)
          } catch (error) {
            expect(error).toBeInstanceOf(CatalogError)
            expect((error as CatalogError).code).toMatch(/^(InvalidInput|TableSchemaValidationError)$/)
            return
          }
          // Every value can be read, and what is written again is valid.
          values(table)
          const columns = table.children.map((column) => [...column.data])
          const again = await decodeArrow(joinParts(encodeArrow(table.schema, columns)))
          expect(again.numRows).toBe(table.numRows)
        },
      ),
      { numRuns: 350 },
    )
  })

  test('a schema needs columns, each with a name of its own', async () => {
    const table = await decodeArrow(fixture('dictionaries.arrows'))
    const [field] = table.schema.fields
    const [column] = table.children
    const twice = encodeArrow({ fields: [field!, field!] }, [[...column!.data], [...column!.data]], 'stream')
    const error = await refusal(joinParts(twice))
    expect(error.code).toBe('TableSchemaValidationError')
    expect(error.message).toContain('"w"')
    const none = await refusal(joinParts(encodeArrow({ fields: [] }, [], 'stream')))
    expect(none.code).toBe('TableSchemaValidationError')
  })

  test('rows that cost no bytes are bounded', async () => {
    const type = { typeId: Type.Null } as const
    const field = { name: 'n', type, nullable: true, metadata: new Map() }
    const { makeBatch } = await import('../../../../src/engine/arrow/batch.ts')
    const huge = makeBatch(type, { length: 2 ** 31 - 1, nullCount: 2 ** 31 - 1 })
    const bytes = joinParts(encodeArrow({ fields: [field] }, [[...makeColumn(type, [huge]).data]]))
    expect((await refusal(bytes)).message).toContain('2147483647 rows in 0 bytes')
  })
})
