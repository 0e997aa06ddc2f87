import { createRequire } from 'node:module'
import {
  type DataType,
  dictionary,
  field,
  int32,
  largeUtf8,
  list,
  runEndEncoded,
  struct,
  Table,
  Type,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CatalogError } from '../../../../src/base/errors.ts'
import { type AnyBatch, type BatchParts, makeBatch, makeColumn } from '../../../../src/engine/arrow/batch.ts'
import { encodeArrow, joinParts } from '../../../../src/engine/arrow/ipc/encode.ts'
import { toArrowTable } from '../../../../src/engine/table/index.ts'

/*
 * Statistics, keys and predicates have texts as strings, so a text that is not UTF-8 would be another one there. No such
 * text comes in, wherever it lies and however it is sent. The reference decodes each value by itself.
 */

const utf8View = { typeId: Type.Utf8View } as DataType
const A = createRequire(import.meta.url)('apache-arrow') as typeof import('apache-arrow')

/** A value's bytes. Those of a null may be anything. */
interface Value {
  readonly bytes: Uint8Array
  readonly isNull: boolean
}

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

function nullsOf(values: readonly Value[]): Pick<BatchParts, 'nullCount' | 'validity'> {
  const nullCount = values.filter(({ isNull }) => isNull).length
  const validity = new Uint8Array(Math.ceil(values.length / 8))
  for (const [i, { isNull }] of values.entries()) if (!isNull) validity[i >> 3]! |= 1 << (i & 7)
  return nullCount === 0 ? {} : { nullCount, validity }
}

/** A batch whose bytes lie one after the other, behind some that no value has. */
function plainBatch(type: DataType, values: readonly Value[], before: Uint8Array): AnyBatch {
  const ends = values.map((_, i) => values.slice(0, i + 1).reduce((sum, { bytes }) => sum + bytes.length, 0))
  const offsets = [0, ...ends].map((end) => before.length + end)
  return makeBatch(type, {
    length: values.length,
    ...nullsOf(values),
    offsets: type.typeId === Type.LargeUtf8 ? BigInt64Array.from(offsets, BigInt) : Int32Array.from(offsets),
    values: Buffer.concat([before, ...values.map(({ bytes }) => bytes)]),
  })
}

function viewBatch(values: readonly Value[]): AnyBatch {
  const views = new DataView(new ArrayBuffer(values.length * 16))
  const data: Uint8Array[] = []
  for (const [i, { bytes }] of values.entries()) {
    views.setInt32(i * 16, bytes.length, true)
    const own = new Uint8Array(views.buffer, i * 16 + 4, 12)
    own.set(bytes.subarray(0, bytes.length > 12 ? 4 : 12))
    if (bytes.length > 12) views.setInt32(i * 16 + 8, data.push(bytes) - 1, true)
  }
  const parts = { length: values.length, ...nullsOf(values), values: new Uint8Array(views.buffer), data }
  return makeBatch(utf8View, parts)
}

/** Where a text may lie. Returns the batch, and what the column of the text is called. */
const places: Readonly<Record<string, (texts: AnyBatch) => readonly [batch: AnyBatch, name: string]>> = {
  'a column': (texts) => [texts, 'a'],
  'a struct': (texts) => {
    const { length, type } = texts
    return [makeBatch(struct([field('of', type)]), { length, children: [texts] }), 'a.of']
  },
  'a list': (texts) => {
    const offsets = Int32Array.of(0, texts.length)
    const type = list(field('item', texts.type))
    return [makeBatch(type, { length: 1, offsets, children: [texts] }), 'a.item']
  },
  'a dictionary': (texts) => {
    const values = Int32Array.from({ length: texts.length }, (_, i) => i)
    const entries = makeColumn(texts.type, [texts])
    const type = dictionary(texts.type, int32(), false, 0)
    return [makeBatch(type, { length: values.length, values, dictionary: entries }), 'a']
  },
  'a list of structs': (texts) => {
    const [structs] = places['a struct']!(texts)
    const [lists] = places['a list']!(structs)
    return [lists, 'a.item.of']
  },
  runs: (texts) => {
    const values = Int32Array.from({ length: texts.length }, (_, i) => i + 1)
    const ends = makeBatch(int32(), { length: values.length, values })
    const type = runEndEncoded(field('run_ends', int32(), false), field('values', texts.type))
    return [makeBatch(type, { length: values.length, children: [ends, texts] }), 'a.values']
  },
}

/** How rows may be sent. */
const doors: Readonly<Record<string, (table: Table, batch: AnyBatch) => unknown>> = {
  'a table of flechette': (table) => table,
  'an IPC stream': ({ schema }, batch) => joinParts(encodeArrow(schema, [[batch]], 'stream')),
  'an IPC file': ({ schema }, batch) => joinParts(encodeArrow(schema, [[batch]], 'file')),
  'a table of apache-arrow': ({ schema }, batch) =>
    A.tableFromIPC(joinParts(encodeArrow(schema, [[batch]], 'stream'))),
}

const bytes = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('a', 'é', '€', '😀', 'long enough to lie elsewhere') },
      { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 3 }) },
      // A half of a character, whose other half may come next, in the same value or in another one.
      {
        weight: 1,
        arbitrary: fc.constantFrom([0xc3], [0xa9], [0xf0, 0x9f], [0x98, 0x80], [0xed, 0xa0, 0x80]),
      },
    ),
    { maxLength: 4 },
  )
  .map((parts) =>
    Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part))),
    ),
  )
const value = fc.record({
  bytes,
  isNull: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.boolean()),
})

/** A text, and values that are its parts: they are UTF-8 together, and a cut may go through a character. */
const parts = fc
  .tuple(fc.constantFrom('éé', '€ 1', 'a😀', 'one text'), fc.array(fc.nat(8), { maxLength: 3 }))
  .map(([text, cuts]): Value[] => {
    const whole = Buffer.from(text)
    const ends = [...cuts, whole.length].sort((a, b) => a - b)
    return ends.map((end, i) => ({ bytes: whole.subarray(ends[i - 1] ?? 0, end), isNull: false }))
  })
const manyValues = fc.oneof(fc.array(value, { minLength: 1, maxLength: 6 }), parts)

for (const [door, send] of Object.entries(doors)) {
  // It has neither runs nor views.
  const isApache = door.includes('apache')
  test.each(Object.keys(places).filter((place) => !(isApache && place === 'runs')))(
    `text that is not UTF-8 does not come in by ${door}, in %s`,
    async (place) => {
      const counts = { taken: 0, refused: 0 }
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(utf8(), largeUtf8(), utf8View),
          manyValues,
          fc.oneof(fc.constant(new Uint8Array(0)), bytes),
          async (type, values, before) => {
            const isView = type.typeId === Type.Utf8View
            // The other libraries do not know views everywhere.
            if (isView && door.includes('apache')) return
            const [batch, name] = places[place]!(
              isView ? viewBatch(values) : plainBatch(type, values, before),
            )
            const fields = [field('a', batch.type)]
            const table = new Table({ version: 4, endianness: 0, fields, metadata: null } as never, [
              makeColumn(batch.type, [batch]),
            ])
            const first = values.findIndex((one) => !one.isNull && !isText(one.bytes))
            const result = await Promise.resolve()
              .then(() => toArrowTable(send(table, batch) as never))
              .catch((error: unknown) => error)
            if (first === -1) {
              expect(result).toBeInstanceOf(Table)
              counts.taken++
              return
            }
            expect(result).toBeInstanceOf(CatalogError)
            const { code, message } = result as CatalogError
            expect(code).toBe('InvalidInput')
            expect(message).toContain(`column "${name}" holds text that is not UTF-8 in row ${first} `)
            counts.refused++
          },
        ),
        { numRuns: 60 },
      )
      expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(5)
    },
  )
}

test('no name of a column, or of a field in it, has half of a surrogate pair', async () => {
  const half = 'a\ud800'
  const numbers = makeBatch(int32(), { length: 1, values: Int32Array.of(1) })
  const inner = struct([field(half, int32())])
  const nested = makeBatch(inner, { length: 1, children: [numbers] })
  const entries = makeColumn(inner, [nested])
  const coded = dictionary(inner as never, int32(), false, 0)
  const codes = makeBatch(coded, { length: 1, values: Int32Array.of(0), dictionary: entries })
  const tableOf = (name: string, batch: AnyBatch) =>
    new Table({ version: 4, endianness: 0, fields: [field(name, batch.type)], metadata: null } as never, [
      makeColumn(batch.type, [batch]),
    ])
  const double = { type: 'double' } as const
  const sent: readonly (readonly [data: unknown, schema?: unknown])[] = [
    // Both would become one name.
    [[{ 'a\ud800': 1, 'a\ud801': 2 }]],
    [[{ of: [{ [half]: 1 }] }]],
    [[], { fields: [{ name: half, nullable: true, type: double }] }],
    [[], { fields: [field('of', inner)] }],
    [tableOf(half, numbers)],
    [tableOf('of', nested)],
    [tableOf('of', codes)],
    [new A.Table({ [half]: A.vectorFromArray([1]) })],
  ]
  for (const [data, schema] of sent) {
    await expect(toArrowTable(data as never, { schema: schema as never })).rejects.toMatchObject({
      code: 'InvalidInput',
      message: expect.stringContaining('half of a surrogate pair'),
    })
  }
})
