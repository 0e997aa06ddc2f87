import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { tableFromIPC } from '@uwdata/flechette'
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { openCatalog } from '../../src/tabularium/index.ts'
import { freshFolder } from '../support/catalogs.ts'
import { run } from './run.ts'

let folder: string
let files = 0

beforeEach(async () => {
  folder = await freshFolder()
})

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, `${++files}-${name}`)
  await writeFile(path, text)
  return path
}

function fresh(): string {
  return join(folder, `catalog-${++files}`)
}

async function create(name: string, text: string, ...more: string[]) {
  const location = fresh()
  const ran = await run(['create', location, 't', '--data', await file(name, text), ...more])
  return { location, ran }
}

/** The columns of a table `t`, as `name type`, and its rows with no value rounded. */
async function read(location: string) {
  await using catalog = await openCatalog(location)
  const { schema } = await catalog.describeTable({ id: ['t'], load_detailed_metadata: true })
  const { data } = await catalog.queryTable({ id: ['t'], k: 1000, vector: {} })
  const table = tableFromIPC(data, { useBigInt: true, useBigIntTimestamp: true, useDecimalInt: true })
  const types = ((schema as { fields: unknown }).fields as { name: string; type: { type: string } }[]).map(
    ({ name, type }) => `${name} ${type.type}`,
  )
  return { types, rows: table.toArray() }
}

async function created(name: string, text: string, ...more: string[]) {
  const { location, ran } = await create(name, text, ...more)
  expect(ran.err).toBe('')
  return read(location)
}

describe('the types of columns', () => {
  it('of CSV follow from all rows', async () => {
    const header = 'whole,big,real,yes,day,time,instant,nanos,zip,mixed,none'
    const { types, rows } = await created(
      'a.csv',
      `${header}
1,9007199254740993,1,true,2024-02-29,2024-01-31T12:00:00,2024-01-31T12:00:00.000001Z,2024-01-31T12:00:00.000000001Z,00501,1,
-2,-9223372036854775808,2.5,false,1969-12-31,2024-01-31 12:00,2024-01-31T14:00:00+02:00,2024-01-31T12:00:00Z,94110,x,
,9223372036854775807,1e3,,0001-01-01,,,,1,2024-01-01,
`,
    )
    expect(types).toEqual([
      'whole int64',
      'big int64',
      'real double',
      'yes bool',
      'day date32:day',
      'time timestamp:us:-',
      'instant timestamp:us:UTC',
      'nanos timestamp:ns:UTC',
      'zip string',
      'mixed string',
      'none null',
    ])
    const noon = 1706702400n
    expect(rows[0]).toEqual({
      whole: 1n,
      big: 9007199254740993n,
      real: 1,
      yes: true,
      day: Date.UTC(2024, 1, 29),
      time: noon * 1_000_000n,
      instant: noon * 1_000_000n + 1n,
      nanos: noon * 1_000_000_000n + 1n,
      zip: '00501',
      mixed: '1',
      none: null,
    })
    expect(rows[1]).toMatchObject({
      big: -(2n ** 63n),
      real: 2.5,
      day: -86_400_000,
      instant: noon * 1_000_000n,
    })
    expect(rows[2]).toMatchObject({ big: 2n ** 63n - 1n, real: 1000, zip: '1', mixed: '2024-01-01' })
  })

  it('of JSON lines do too, inside lists and objects as well', async () => {
    const { types, rows } = await created(
      'a.jsonl',
      `{"big":9007199254740993,"real":1.0,"list":[1,9007199254740993],"at":{"day":"2024-02-29"},"zip":"501"}
{"big":-1,"real":3,"list":[],"at":{"day":"1970-01-02"},"zip":"x","__proto__":true}
`,
    )
    expect(types).toEqual([
      'big int64',
      'real double',
      'list list',
      'at struct',
      'zip string',
      '__proto__ bool',
    ])
    expect(rows[0]).toMatchObject({ big: 9007199254740993n, real: 1, zip: '501' })
    expect(Array.from(rows[0]!.list as BigInt64Array)).toEqual([1n, 9007199254740993n])
    expect(rows[0]!.at).toEqual({ day: Date.UTC(2024, 1, 29) })
    expect(rows[1]!.big).toBe(-1n)
  })

  it('of a JSON array in place, of one object over many lines, and of a file are the same', async () => {
    for (const text of [
      '[{"a":9007199254740993}]',
      '{\n "a":\n 9007199254740993\n}',
      '{"a":9007199254740993}\n',
    ]) {
      expect((await created('a.json', text)).rows).toEqual([{ a: 9007199254740993n }])
    }
    const location = fresh()
    expect((await run(['create', location, 't', '--data', '[{"a":9007199254740993}]'])).err).toBe('')
    expect((await read(location)).rows).toEqual([{ a: 9007199254740993n }])
  })

  it('are text where not all values are of one kind, or no such day exists', async () => {
    const { location, ran } = await create(
      'a.csv',
      'a,b,c,d,e\n1,2024-02-30,2024-01-01,2024-01-01T25:00:00,2024-01-01T00:00:00Z\nx,2024-01-01,2024-01-01T00:00:00,2024-01-01T00:00:00,2024-01-01T00:00:00\n',
    )
    const { types } = await read(location)
    expect(types).toEqual(['a string', 'b string', 'c string', 'd string', 'e string'])
    const named = [...ran.err.matchAll(/note: column "(.)" is text/g)].map(([, name]) => name)
    // The others begin with text.
    expect(named).toEqual(['c', 'e'])
  })
})

describe('what cannot be exact is refused by line and column', () => {
  it.each([
    [
      'a.csv',
      'a,n\n1,1\n1,9223372036854775808\n',
      /line 3 of .*a\.csv: column "n" holds 9223372036854775808.* int64/,
    ],
    [
      'a.csv',
      'a,n\n"x\ny",1.5\nz,9007199254740993\n',
      /line 4 of .*: column "n" holds 9007199254740993.* double/,
    ],
    ['a.csv', 'n\n1e400\n', /line 2 of .*: column "n" holds 1e400/],
    [
      'a.jsonl',
      '{"n":1}\n\n{"n":9223372036854775808}\n',
      /line 3 of .*: column "n" holds 9223372036854775808/,
    ],
    [
      'a.jsonl',
      '{"n":[0.5]}\n{"n":[1,9007199254740993]}\n',
      /line 2 of .*: column "n.item" holds 9007199254740993/,
    ],
    ['a.json', '[{"n":1},{"n":"x"}]', /row 2 of .*: column "n" holds text, and row 1 a whole number/],
    ['a.jsonl', '{"n":1}\n7\n', /line 2 of .* is a whole number, and each row must be an object/],
    ['a.jsonl', '{"n":1}\n{"n":1,"n":2}\n', /line 2 of .* is not JSON: .*[Dd]uplicate/],
    ['a.csv', 'a,a\n1,2\n', /names column "a" twice/],
  ])('%s %j', async (name, text, message) => {
    const { ran } = await create(name, text)
    expect(ran.err).toMatch(message)
    expect(ran.code).toBe(2)
  })

  it('with a schema as without', async () => {
    const schema = (type: string) =>
      JSON.stringify({ fields: [{ name: 'n', type: { type }, nullable: true }] })
    const refused = async (type: string, value: string, message: RegExp) => {
      const { ran } = await create('a.csv', `n\n${value}\n`, '--schema', schema(type))
      expect(ran.err, `${value} as ${type}`).toMatch(message)
    }
    await refused(
      'int8',
      '128',
      /line 2 of .*: column "n" holds 128, and int8 takes whole numbers from -128 to 127/,
    )
    await refused('int32', '1.5', /int32 takes whole numbers/)
    await refused('uint64', '-1', /uint64 takes whole numbers from 0/)
    await refused('float', '16777217', /float takes/)
    await refused('bool', 'yes', /bool takes true or false/)
    await refused('decimal:128:5:2', '1.005', /at most 2 digits after the point/)
    await refused('decimal:128:5:2', '1000', /line 2/)
    await refused('date32:day', '2023-02-29', /an ISO date/)
    await refused('timestamp:ms:-', '2024-01-01T00:00:00.0001', /timestamp:ms:- takes/)
    await refused('timestamp:us:UTC', '2024-01-01T00:00:00', /with a zone/)
    await refused('timestamp:us:-', '2024-01-01T00:00:00Z', /without a zone/)
    await refused('timestamp:ns:-', '2500-01-01T00:00:00', /timestamp:ns:- takes/)
    await refused('binary', '!!', /base64/)
    await refused('string', '"x",3', /record 2 has 2 fields/)
    const { ran } = await create('a.csv', 'n,m\n1,2\n', '--schema', schema('int8'))
    expect(ran.err).toMatch(/line 1 of .*: Column "m" is not in the table, which has "n"\./)
    const bare = await create('a.csv', 'n\n1\n', '--schema', '{"fields":[{"name":"n"}]}')
    expect(bare.ran.err).toMatch(/fields\[0\] is no field\. Give each as /)
  })

  it('when rows are inserted into a table, whose types they take', async () => {
    const location = fresh()
    const schema = JSON.stringify({
      fields: [
        { name: 'n', type: { type: 'int16' }, nullable: true },
        { name: 'd', type: { type: 'decimal:128:20:2' }, nullable: true },
        { name: 's', type: { type: 'string' }, nullable: true },
      ],
    })
    expect(
      (await run(['create', location, 't', '--data', '[{"n":1,"d":1.10,"s":"x"}]', '--schema', schema])).err,
    ).toBe('')
    const insert = async (text: string) =>
      (await run(['insert', location, 't', '--data', await file('b.csv', text)])).err
    expect(await insert('n,d,s\n2,123456789012345678.25,007\n')).toBe('')
    expect(await insert('s,n\n,-3\n')).toBe('')
    expect(await insert('n\n40000\n')).toMatch(/line 2 of .*: column "n" holds 40000, and int16/)
    const { rows } = await read(location)
    expect(rows).toEqual([
      { n: 1, d: 110n, s: 'x' },
      { n: 2, d: 12345678901234567825n, s: '007' },
      { n: -3, d: null, s: null },
    ])
  })

  it('a record without an end is refused before it is all in memory', async () => {
    const path = join(folder, 'large.csv')
    await writeFile(path, '')
    await truncate(path, 2 ** 32)
    const { err, code } = await run(['create', fresh(), 't', '--data', path])
    expect(err).toMatch(/a record has more than 16,777,216 characters/)
    expect(code).toBe(2)
  })
})

interface Sample {
  readonly type: string
  readonly values: fc.Arbitrary<unknown>
  /** Whether the type can be inferred from the values, without a schema. */
  readonly inferred?: boolean
  readonly fields?: readonly unknown[]
  readonly length?: number
}

const digits = (most: number) =>
  fc.bigInt({ min: -(10n ** BigInt(most)) + 1n, max: 10n ** BigInt(most) - 1n })
const instants = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n })
const item = (type: string) => [{ name: 'item', type: { type }, nullable: true }]

const samples: readonly Sample[] = [
  { type: 'int64', values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), inferred: true },
  { type: 'uint64', values: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
  { type: 'int8', values: fc.integer({ min: -128, max: 127 }) },
  {
    type: 'double',
    values: fc.double({ noDefaultInfinity: true, noNaN: true }).map((n) => (Number.isInteger(n) ? 0.5 : n)),
    inferred: true,
  },
  { type: 'double', values: fc.double() },
  { type: 'float', values: fc.float() },
  { type: 'bool', values: fc.boolean(), inferred: true },
  { type: 'string', values: fc.string({ unit: 'grapheme' }) },
  { type: 'string', values: fc.string().map((text) => `_${text}`), inferred: true },
  { type: 'dict:string:int8:false', values: fc.constantFrom('a', '1', '') },
  { type: 'decimal:128:38:10', values: digits(38) },
  { type: 'decimal:256:50:0', values: digits(50) },
  { type: 'decimal:32:5:2', values: digits(5) },
  { type: 'date32:day', values: fc.integer({ min: -719_162, max: 2_932_896 }), inferred: true },
  { type: 'date64:ms', values: fc.integer({ min: -719_162, max: 2_932_896 }).map((day) => day * 86_400_000) },
  { type: 'timestamp:us:UTC', values: instants, inferred: true },
  { type: 'timestamp:us:-', values: instants, inferred: true },
  { type: 'timestamp:ns:Europe/Berlin', values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) },
  { type: 'timestamp:s:-', values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) },
  { type: 'time64:us', values: fc.bigInt({ min: 0n, max: 86_399_999_999n }) },
  { type: 'duration:ns', values: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }) },
  { type: 'binary', values: fc.uint8Array() },
  { type: 'fixed_size_binary', values: fc.uint8Array({ minLength: 3, maxLength: 3 }), length: 3 },
  {
    type: 'list',
    values: fc.array(fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }))),
    fields: item('int64'),
  },
  { type: 'list', values: fc.array(fc.option(instants)), fields: item('timestamp:us:UTC') },
  { type: 'fixed_size_list', values: fc.tuple(fc.float(), fc.float()), fields: item('float'), length: 2 },
  {
    type: 'struct',
    values: fc.record({ d: fc.option(digits(20)) }),
    fields: [...item('decimal:128:20:3')].map((field) => ({ ...field, name: 'd' })),
  },
  {
    type: 'map',
    values: fc
      .uniqueArray(fc.tuple(fc.string(), fc.option(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }))), {
        selector: ([key]) => key,
      })
      .map((pairs) => new Map(pairs)),
    fields: [
      {
        name: 'entries',
        nullable: false,
        type: {
          type: 'struct',
          fields: [
            { name: 'key', type: { type: 'string' }, nullable: false },
            { name: 'value', type: { type: 'int64' }, nullable: true },
          ],
        },
      },
    ],
  },
]

function plainValue(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as Iterable<unknown>)
  return Array.isArray(value) ? value.map(plainValue) : value
}

describe('what a query writes is read back the same', () => {
  async function reads(format: string, columns: readonly Sample[], rows: unknown[][], typed: boolean) {
    const schema = {
      fields: columns.map(({ type, fields, length }, index) => ({
        name: `c${index}`,
        type: { type, ...(fields ? { fields } : {}), ...(length === undefined ? {} : { length }) },
        nullable: true,
      })),
    }
    const location = fresh()
    const output = join(folder, `${++files}.${format}`)
    const data = rows.map((row) => Object.fromEntries(row.map((value, index) => [`c${index}`, value])))
    {
      await using catalog = await openCatalog(location)
      await catalog.createTable({ id: ['t'], data, schema: schema as never })
    }
    const before = await read(location)
    expect((await run(['query', location, 't', '--output', output])).err).toBe('')
    const copy = fresh()
    const args = ['create', copy, 't', '--data', output]
    expect((await run(typed ? [...args, '--schema', JSON.stringify(schema)] : args)).err).toBe('')
    const after = await read(copy)
    expect(after.types).toEqual(before.types)
    for (const [index, row] of after.rows.entries()) {
      for (const [name, value] of Object.entries(row)) {
        const was = before.rows[index]![name]
        expect(plainValue(value), `${name}, ${before.types[Number(name.slice(1))]}`).toEqual(plainValue(was))
      }
    }
    expect(after.rows.length).toBe(before.rows.length)
  }

  it.each(['csv', 'jsonl'])('as %s, with a schema', async (format) => {
    const row = fc.tuple(...samples.map(({ values }) => fc.option(values, { freq: 4 })))
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 60 }), (rows) =>
        reads(format, samples, rows, true),
      ),
      { numRuns: 3, endOnFailure: true },
    )
  })

  it.each(['csv', 'jsonl'])('as %s, without a schema where the type follows', async (format) => {
    // Many JSON parsers round large integers, so these are written as strings there.
    const known = samples.filter(
      ({ type, inferred }) => inferred && !(format === 'jsonl' && type === 'int64'),
    )
    const first = fc.tuple(...known.map(({ values }) => values))
    const row = fc.tuple(...known.map(({ values }) => fc.option(values, { freq: 4 })))
    await fc.assert(
      fc.asyncProperty(first, fc.array(row, { maxLength: 60 }), (begin, rows) =>
        reads(format, known, [begin, ...rows], false),
      ),
      { numRuns: 3, endOnFailure: true },
    )
  })
})
