import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { ByteWriter, parquetWriteBuffer } from 'hyparquet-writer'
import { describe, expect, it } from 'vitest'
import { CatalogError } from '../../../src/base/errors.ts'
import { readParquet, writeParquet } from '../../../src/engine/parquet/index.ts'
import { decodeHybrid } from '../../../src/engine/parquet/read/hybrid.ts'
import { Draw } from '../../support/draw.ts'
import { damages } from './damage/damaged.ts'
import { columns, leafTypes, tableOf, tables } from './random-tables.ts'

async function fileOf(tables: Iterable<Table>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of writeParquet(tables, { groupRows: 20 })) pieces.push(piece)
  return new Uint8Array(Buffer.concat(pieces))
}

const maxBytes = 1 << 24

/** How many rows a file has; or the refusal. Any other error fails the test. */
async function read(file: Uint8Array): Promise<number | CatalogError> {
  let rows = 0
  try {
    for await (const { numRows } of readParquet(file, { maxBytes })) rows += numRows
    return rows
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error
    expect(['InvalidInput', 'Unsupported', 'TableSchemaValidationError']).toContain(error.code)
    return error
  }
}

/** A file with this footer, and some bytes of data. */
function fileWith(footer: Uint8Array, data = new Uint8Array(100), end = 'PAR1'): Uint8Array {
  const length = new Uint8Array(4)
  new DataView(length.buffer).setUint32(0, footer.length, true)
  return new Uint8Array(Buffer.concat([Buffer.from('PAR1'), data, footer, length, Buffer.from(end)]))
}

describe('a damaged Parquet file', () => {
  it('is refused wherever it is cut off', async () => {
    const [given] = fc.sample(tables(columns(leafTypes, 2), 30), { numRuns: 1, seed: 7 })
    const whole = await fileOf([await tableOf(given!)])
    expect(await read(whole)).toBe(given!.rows.length)
    for (let length = 0; length < whole.length; length += 1 + Math.floor(whole.length / 200))
      expect(await read(whole.subarray(0, length))).toBeInstanceOf(CatalogError)
  })

  it('is refused or read as another one, whichever bytes changed', async () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      byte: fc.nat(255),
    })
    let refused = 0
    await fc.assert(
      fc.asyncProperty(
        tables(columns(leafTypes, 2), 30),
        fc.array(change, { minLength: 1, maxLength: 8 }),
        async (given, changes) => {
          const file = await fileOf([await tableOf(given)])
          for (const { at, byte } of changes) file[Math.floor(at * file.length)] = byte
          if ((await read(file)) instanceof CatalogError) refused++
        },
      ),
      { numRuns: 80 },
    )
    expect(refused).toBeGreaterThan(20)
  })

  it.each(Object.keys(damages))('is refused or read as another one, with damage of %s', async (kind) => {
    const draw = new Draw(Number(process.env.FC_SEED ?? 20_261_120))
    const filled = tables(columns(leafTypes, 2), 30).filter(({ rows }) => rows.length > 0)
    let refused = 0
    for (const given of fc.sample(filled, { numRuns: 6, seed: 20_261_120 })) {
      const sound = await fileOf([await tableOf(given)])
      for (let i = 0; i < 6; i++)
        if ((await read(damages[kind]!(sound, draw).file)) instanceof CatalogError) refused++
    }
    expect(refused).toBeGreaterThan(6)
  })

  it('of random bytes is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        expect(await read(bytes)).toBeInstanceOf(CatalogError)
        expect(await read(fileWith(bytes))).toBeInstanceOf(CatalogError)
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    [
      'a list of two thousand million items',
      [0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07],
      /footer that is cut off/,
    ],
    ['a number without end', Array(1 << 20).fill(0xff), /unknown kind|more than 64 bits/],
    ['structs in structs without end', Array(1 << 20).fill(0x1c), /deeper than/],
    [
      'millions of empty structs',
      [0x29, 0xfc, 0x80, 0x80, 0x80, 0x04, ...Array(1 << 23).fill(0)],
      /more than 4,000,000 values/,
    ],
  ])('with a footer of %s is refused', async (_, footer, message) => {
    const refusal = await read(fileWith(Uint8Array.from(footer as number[])))
    expect((refusal as CatalogError).message).toMatch(message as RegExp)
  })

  it('with a huge footer is refused before it is read', async () => {
    const size = 2 ** 40
    const asked: number[] = []
    const source = {
      byteLength: size,
      slice(start: number, end: number) {
        asked.push(end - start)
        const bytes = new Uint8Array(end - start)
        bytes.set(Buffer.from('PAR1'), start === 0 ? 0 : 4)
        if (start > 0) new DataView(bytes.buffer).setUint32(0, 2 ** 31, true)
        return bytes
      },
    }
    await expect(readParquet(source).next()).rejects.toThrow(/has a footer of 2,147,483,648 bytes/)
    expect(asked).toEqual([4, 8])
  })
})

describe('a Parquet file that is larger than it looks', () => {
  it('comes in tables that are bounded, if a few bytes stand for many', async () => {
    const long = 'x'.repeat(1 << 20)
    const buffer = parquetWriteBuffer({
      columnData: [{ name: 's', data: Array(2_000).fill(long), type: 'STRING', encoding: 'RLE_DICTIONARY' }],
      rowGroupSize: 2_000,
    })
    expect(buffer.byteLength).toBeLessThan(1 << 20)
    let rows = 0
    for await (const given of readParquet(buffer)) {
      const [column] = (given as Table).children
      expect((column!.data[0]!.values as Uint8Array).byteLength).toBeLessThan(64 << 20)
      rows += given.numRows
      // Each table has some of two thousand MiB.
      if (rows > 200) break
    }
    expect(rows).toBeGreaterThan(200)
  })

  it('is refused if one row needs more than the budget', async () => {
    const elements = Array.from({ length: 64 }, () => 'x'.repeat(1 << 19))
    const pieces: Uint8Array[] = []
    for await (const piece of writeParquet([[{ list: elements }]])) pieces.push(piece)
    const refusal = await read(new Uint8Array(Buffer.concat(pieces)))
    expect((refusal as CatalogError).message).toMatch(/needs more than 16,777,216 bytes of memory at once/)
  })

  it('never decodes more numbers than there is room for', () => {
    const writer = new ByteWriter()
    writer.appendVarInt(2 ** 30 - 2)
    writer.appendUint8(1)
    const levels = new Uint8Array(10)
    decodeHybrid(writer.getBytes(), 0, writer.offset, 1, levels)
    expect([...levels]).toEqual(Array(10).fill(1))
  })
})

describe('a Parquet file that cannot be read', () => {
  it('says so if it is encrypted', async () => {
    await expect(read(fileWith(new Uint8Array(10), undefined, 'PARE'))).resolves.toMatchObject({
      code: 'Unsupported',
      message:
        'The Parquet file is encrypted. Decrypt it with the program that wrote it, and give the result.',
    })
  })

  it('says so if it is compressed with an unknown codec', async () => {
    const buffer = parquetWriteBuffer({
      columnData: [{ name: 'a', data: [1, 2] }],
      codec: 'LZO',
      compressors: { LZO: (bytes) => bytes },
    })
    await expect(read(new Uint8Array(buffer))).resolves.toMatchObject({
      code: 'Unsupported',
      message: expect.stringContaining(
        'compresses column "a" with LZO. Write it with one of UNCOMPRESSED, SNAPPY',
      ),
    })
  })

  it('says so if two columns have one name', async () => {
    const buffer = parquetWriteBuffer({
      columnData: [
        { name: 'a', data: [1] },
        { name: 'a', data: [2] },
      ],
    })
    await expect(read(new Uint8Array(buffer))).resolves.toMatchObject({
      code: 'TableSchemaValidationError',
      message: 'The Parquet file has two columns named "a". Give each column a name of its own.',
    })
  })

  it.each([
    [undefined, /file is missing/],
    ['/nowhere/x.parquet', /cannot be read: ENOENT/],
    ['/', /is no regular file/],
  ])('says so if it is %s', async (source, message) => {
    await expect(readParquet(source as string).next()).rejects.toThrow(message)
  })
})
