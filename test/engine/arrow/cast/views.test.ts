import { type DataType, type Field, type Schema, Type } from '@uwdata/flechette'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AnyBatch, byteLength, makeBatch } from '../../../../src/engine/arrow/batch.ts'
import { canAssign, castBatch, differsInLayout } from '../../../../src/engine/arrow/cast/cast.ts'
import { castSize } from '../../../../src/engine/arrow/cast/cast-size.ts'
import { typeName } from '../../../../src/engine/arrow/type-name.ts'
import { fromJsonSchema, type JsonArrowType, toArrowTable } from '../../../../src/engine/table/index.ts'

/* Views of texts, bytes and lists hold the same values as texts, bytes and lists. */

/** A kind of values: its types, which differ in how values lie only, and values of them. */
interface Kind {
  readonly types: readonly JsonArrowType[]
  readonly value: fc.Arbitrary<unknown>
}

const text: Kind = {
  types: ['string', 'large_string', 'string_view'].map((type) => ({ type })),
  // Values of more than twelve bytes lie outside of their view.
  value: fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 30 }),
    fc.constant('exactly a 12'),
    fc.constant(''),
  ),
}
const bytes: Kind = {
  types: ['binary', 'large_binary', 'binary_view'].map((type) => ({ type })),
  value: fc.uint8Array({ maxLength: 30 }),
}

const lists = ({ types, value }: Kind): Kind => ({
  types: ['list', 'large_list', 'list_view', 'large_list_view'].flatMap((type) =>
    types.map((of) => ({ type, fields: [{ name: 'item', type: of, nullable: true }] })),
  ),
  value: fc.array(fc.option(value, { freq: 4 }), { maxLength: 4 }),
})

const structs = ({ types, value }: Kind): Kind => ({
  types: types.map((of) => ({ type: 'struct', fields: [{ name: 'f', type: of, nullable: true }] })),
  value: fc.record({ f: fc.option(value, { freq: 4 }) }),
})

const kinds = [text, bytes, lists(text), lists(bytes), lists(structs(text)), lists(lists(text))]

const drawn = fc.constantFrom(...kinds).chain(({ types, value }) =>
  fc.record({
    from: fc.constantFrom(...types),
    to: fc.constantFrom(...types),
    rows: fc.array(fc.option(value, { freq: 4 }), { maxLength: 12 }),
  }),
)

function schemaOf(type: JsonArrowType): Schema {
  return fromJsonSchema({ fields: [{ name: 'v', type, nullable: true }] })
}

async function batchesOf(type: JsonArrowType, rows: readonly unknown[]): Promise<readonly AnyBatch[]> {
  const table = await toArrowTable(
    rows.map((v) => ({ v })),
    { schema: schemaOf(type) },
  )
  return table.children[0]!.data as readonly AnyBatch[]
}

const plain = (batches: readonly AnyBatch[]) =>
  batches.flatMap((batch) => Array.from({ length: batch.length }, (_, i) => plainValue(batch.at(i))))

function plainValue(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
  if (Symbol.iterator in value) return [...(value as Iterable<unknown>)].map(plainValue)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainValue(member)]))
}

test('values stay the same, however they lie', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async ({ from, to, rows }) => {
      const wanted = schemaOf(to).fields[0]!.type
      const given = await batchesOf(from, rows)
      for (const batch of given) {
        // Of lists of one type, what they hold is matched field by field.
        if (batch.type.typeId !== wanted.typeId) expect(canAssign(batch.type, wanted)).toBe(true)
        expect(castSize(batch, wanted)).toBeGreaterThanOrEqual(
          byteLength(castBatch(batch, wanted)) - bitsAndEnds(wanted, batch.length),
        )
      }
      const cast = given.map((batch) => castBatch(batch, wanted))
      expect(cast.map(({ type }) => typeName(type))).toEqual(cast.map(() => typeName(wanted)))
      expect(plain(cast)).toEqual(plain(given))
    }),
    { numRuns: 300 },
  )
})

/** Validity and last offsets, which the estimate leaves out, and the buffers of views, which are not made. */
function bitsAndEnds(to: DataType, rows: number): number {
  return /view/.test(typeName(to)) ? Number.POSITIVE_INFINITY : 64 + 16 * rows
}

test('what views share counts as often as it is shown', () => {
  const shared = new Uint8Array(1_000_000).fill(120)
  const rows = 1_000
  const values = new Uint8Array(rows * 16)
  const view = new DataView(values.buffer)
  for (let i = 0; i < rows; i++) view.setInt32(i * 16, shared.length, true)
  const [texts, list] = [schemaOf({ type: 'string_view' }), schemaOf(lists(text).types[8]!)].map(
    ({ fields }: { fields: Field[] }) => fields[0]!.type,
  ) as [DataType, DataType]
  const batch = makeBatch(texts, { length: rows, values, data: [shared] })
  expect(castSize(batch, schemaOf({ type: 'string' }).fields[0]!.type)).toBeGreaterThan(1e9)
  expect(list.typeId).toBe(Type.ListView)
  const listed = makeBatch(list, {
    length: 10,
    offsets: new Int32Array(10),
    sizes: new Int32Array(10).fill(rows),
    children: [batch],
  })
  expect(castSize(listed, schemaOf(lists(text).types[0]!).fields[0]!.type)).toBeGreaterThan(1e10)
})

test('only the same values differ in how they lie', () => {
  const of = (type: string, more?: object) => schemaOf({ type, ...more }).fields[0]!.type
  const same = [
    ['string', 'string_view'],
    ['large_binary', 'binary_view'],
    ['decimal:32:5:2', 'decimal:128:5:2'],
    ['timestamp:us:UTC', 'timestamp:us:+0530'],
  ]
  for (const [a, b] of same) expect([a, b, differsInLayout(of(a!), of(b!))]).toEqual([a, b, true])
  const others = [
    ['string', 'binary'],
    ['int32', 'int64'],
    ['decimal:32:5:2', 'decimal:128:6:2'],
    ['timestamp:us:UTC', 'timestamp:us:-'],
    ['timestamp:us:UTC', 'timestamp:ms:UTC'],
  ]
  for (const [a, b] of others) expect([a, b, differsInLayout(of(a!), of(b!))]).toEqual([a, b, false])
})
