import type { Table } from '@uwdata/flechette'
import fc from 'fast-check'
import { toArrowTable } from '../../../src/engine/arrow/index.ts'
import type { JsonArrowField, JsonArrowType } from '../../../src/engine/arrow/types.ts'

/** A type of Arrow, and values of it as row objects have them. */
export interface Typed {
  readonly type: JsonArrowType
  readonly values: fc.Arbitrary<unknown>
}

const integer = (bits: number, signed: boolean): Typed => {
  const [min, max] = signed
    ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n]
    : [0n, 2n ** BigInt(bits) - 1n]
  const values = fc.bigInt({ min, max })
  return {
    type: { type: `${signed ? '' : 'u'}int${bits}` },
    values: bits === 64 ? values : values.map(Number),
  }
}

const text = fc.string({ unit: 'grapheme', maxLength: 30 })
const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength })
const whole = (min: bigint, max: bigint) => fc.bigInt({ min, max })
const named = (type: string, values: fc.Arbitrary<unknown>): Typed => ({ type: { type }, values })

const decimal = (bits: number, precision: number, scale: number): Typed =>
  named(
    `decimal:${bits}:${precision}:${scale}`,
    whole(-(10n ** BigInt(precision)) + 1n, 10n ** BigInt(precision) - 1n).map((unscaled) => {
      const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0')
      const point = scale === 0 ? '' : `.${digits.slice(-scale)}`
      return `${unscaled < 0n ? '-' : ''}${scale === 0 ? digits : digits.slice(0, -scale)}${point}`
    }),
  )

const year = 31_557_600n
const seconds = whole(-200n * year, 200n * year)
const dayNanos = 86_400_000_000_000n

/** Types whose values any reader of Parquet gives alike. */
export const plainTypes: readonly Typed[] = [
  ...[8, 16, 32, 64].flatMap((bits) => [integer(bits, true), integer(bits, false)]),
  named('bool', fc.boolean()),
  named('float', fc.float({ noNaN: true })),
  named('double', fc.double({ noNaN: true })),
  named('string', text),
]

/** All types that files may hold, but those with fields. */
export const leafTypes: readonly Typed[] = [
  ...plainTypes,
  named('halffloat', fc.constantFrom(0, -0, 1.5, -65_504, Number.POSITIVE_INFINITY)),
  named('double', fc.double()),
  ...['large_string', 'string_view', 'dict:string:int16:false', 'dict:large_string:uint8:true'].map((type) =>
    named(type, text),
  ),
  ...['binary', 'large_binary', 'binary_view', 'dict:binary:int32:false'].map((type) =>
    named(type, bytes(0, 20)),
  ),
  { type: { type: 'fixed_size_binary', length: 5 }, values: bytes(5, 5) },
  named(
    'date32:day',
    fc
      .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
      .map((date) => new Date(Math.floor(date.getTime() / 864e5) * 864e5)),
  ),
  ...(
    [
      ['s', 1_000_000_000n],
      ['ms', 1_000_000n],
      ['us', 1_000n],
      ['ns', 1n],
    ] as const
  ).flatMap(([unit, nanos]) => [
    named(`timestamp:${unit}:-`, timesOf(unit, nanos)),
    named(`timestamp:${unit}:UTC`, timesOf(unit, nanos)),
    named(`timestamp:${unit}:Europe/Berlin`, timesOf(unit, nanos)),
    named(`duration:${unit}`, whole(-(2n ** 63n), 2n ** 63n - 1n)),
    named(
      `time${nanos > 1_000n ? 32 : 64}:${unit}`,
      whole(0n, dayNanos / nanos - 1n).map((value) => (nanos > 1_000n ? Number(value) : value)),
    ),
  ]),
  decimal(32, 9, 3),
  decimal(64, 18, 0),
  decimal(128, 5, 5),
  decimal(128, 18, 2),
  decimal(128, 38, 10),
  decimal(256, 76, 20),
  named('dict:int64:int8:false', whole(-3n, 3n)),
]

function timesOf(unit: string, nanos: bigint): fc.Arbitrary<unknown> {
  const values = seconds.chain((second) =>
    whole(0n, 1_000_000_000n / nanos - 1n).map((rest) => (second * 1_000_000_000n) / nanos + rest),
  )
  return unit === 's' || unit === 'ms'
    ? values.map((value) => new Date(Number(value * (nanos / 1_000_000n))))
    : values
}

/** A field of some type, and values of it: null too, where it may be. */
interface Column {
  readonly field: JsonArrowField
  readonly values: fc.Arbitrary<unknown>
}

/** Columns of the given types and of lists, structs and maps of them. */
export function columns(leaves: readonly Typed[], depth: number, isNested = true): fc.Arbitrary<Column[]> {
  return fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c', 'key', 'element', '__proto__', 'naïve name'), {
      minLength: 1,
      maxLength: 4,
    })
    .chain((names) => fc.tuple(...names.map((name) => column(name, leaves, isNested ? depth : 0))))
}

function column(name: string, leaves: readonly Typed[], depth: number): fc.Arbitrary<Column> {
  return fc.tuple(typed(leaves, depth), fc.boolean()).map(([{ type, values }, nullable]) => ({
    field: { name, type, nullable },
    values: nullable ? fc.option(values, { freq: 4 }) : values,
  }))
}

function typed(leaves: readonly Typed[], depth: number): fc.Arbitrary<Typed> {
  const leaf = fc.constantFrom(...leaves)
  if (depth === 0) return leaf
  const inner = column('item', leaves, depth - 1)
  const list = (type: string, fixed?: number) =>
    inner.map(({ field, values }) => ({
      type: { type, fields: [field], ...(fixed && { length: fixed }) },
      values: fc.array(values, fixed ? { minLength: fixed, maxLength: fixed } : { maxLength: 4 }),
    }))
  const struct = columns(leaves, depth - 1).map((fields) => ({
    type: { type: 'struct', fields: fields.map(({ field }) => field) },
    values: fc.tuple(...fields.map(({ values }) => values)).map((items) =>
      // A member `__proto__` stays one.
      Object.fromEntries(fields.map(({ field }, i) => [field.name, items[i]])),
    ),
  }))
  return fc.oneof(
    { weight: 4, arbitrary: leaf },
    { weight: 2, arbitrary: list('list') },
    list('large_list'),
    list('list_view'),
    list('fixed_size_list', 3),
    { weight: 2, arbitrary: struct },
    column('value', leaves, depth - 1).map(({ field, values }) => ({
      type: {
        type: 'map',
        fields: [
          {
            name: 'entries',
            nullable: false,
            type: {
              type: 'struct',
              fields: [{ name: 'key', type: { type: 'string' }, nullable: false }, field],
            },
          },
        ],
      },
      values: fc
        .uniqueArray(fc.tuple(text, values), { maxLength: 3, selector: ([key]) => key })
        .map((entries) => new Map(entries)),
    })),
  )
}

/** Tables of random columns, with their schema and the row objects that they were made of. */
export function tables(columnsOf: fc.Arbitrary<Column[]>, maxRows: number) {
  return columnsOf
    .chain((fields) => {
      const row = fc.tuple(...fields.map(({ values }) => values))
      return fc.tuple(fc.constant(fields), fc.array(row, { maxLength: maxRows }))
    })
    .map(([fields, rows]) => ({
      schema: { fields: fields.map(({ field }) => field) },
      rows: rows.map((values) => Object.fromEntries(fields.map(({ field }, i) => [field.name, values[i]]))),
    }))
}

export function tableOf({
  schema,
  rows,
}: {
  schema: { fields: JsonArrowField[] }
  rows: object[]
}): Promise<Table> {
  return toArrowTable(rows as Record<string, unknown>[], { schema })
}
