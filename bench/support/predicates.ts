/**
 * The predicates that counting and deleting are measured with, and the rows they are asked of. Each stands for
 * a kind of work; one that runs by an index, by statistics alone or on few rows would say nothing about scans.
 */
import {
  type DataType,
  dateDay,
  dictionary,
  type Field,
  field,
  float64,
  int8,
  int32,
  int64,
  list,
  type Schema,
  struct,
  Table,
  TimeUnit,
  timestamp,
  utf8,
} from '@uwdata/flechette'
import { type AnyBatch, makeBatch, makeColumn } from '../../src/engine/arrow/batch.ts'

export interface MeasuredPredicate {
  /** What it stands for. */
  readonly name: string
  readonly predicate: string
  /** The same in DuckDB's and LanceDB's words, where they differ. */
  readonly duckdb?: string
  readonly lancedb?: string
}

export const predicates: readonly MeasuredPredicate[] = [
  { name: 'number', predicate: 'a > 500' },
  { name: 'number and text', predicate: "a > 500 AND category = 'c3'" },
  { name: 'text that begins', predicate: "name LIKE 'user_99%'" },
  { name: 'null or float', predicate: 'n IS NULL OR x < 0.25' },
  { name: 'list of texts', predicate: "category IN ('c1', 'c7', 'c12')" },
  { name: 'one in 10,000', predicate: 'key = 4711' },
  { name: 'arithmetic', predicate: 'abs(x - 0.5) * 2 < 0.01' },
  { name: 'text without case', predicate: "name ILIKE '%R_99%'" },
  { name: 'lower', predicate: "lower(city) = 'oslo'" },
  { name: 'starts_with', predicate: "starts_with(name, 'user_12')" },
  { name: 'length', predicate: 'length(name) < 12' },
  { name: 'list', predicate: 'array_has(tags, 7)', duckdb: 'list_contains(tags, 7)' },
  { name: 'nested field', predicate: "place.city = 'c5' AND place.height > 900.5" },
  { name: 'date_part', predicate: "date_part('month', time) = 12" },
  {
    name: 'mixed',
    predicate: "(day >= DATE '2024-06-01' OR a < 100) AND NOT (category = 'c3' OR x > 0.5)",
  },
]

/** More of the kinds that are common: dictionaries, 64-bit integers, dates cut to a unit. */
export const further: readonly MeasuredPredicate[] = [
  { name: '64-bit integer', predicate: 'wide > 500' },
  { name: 'dictionary', predicate: "encoded IN ('c1', 'c7', 'c12')" },
  {
    name: 'date_trunc',
    predicate: "date_trunc('month', time) = TIMESTAMP '2024-02-01 00:00:00'",
  },
  { name: 'text within', predicate: "name LIKE '%r_99%'" },
  { name: 'integers', predicate: '(a + n) % 7 = 3' },
]

const cities = ['Oslo', 'OSLO', 'oslo', 'Bergen', 'Lagos', 'Lima', 'Quito', 'Sucre'] as const

/** The types of the columns, in their order. */
const types: Readonly<Record<string, DataType>> = {
  a: int32(),
  wide: int64(),
  category: utf8(),
  encoded: dictionary(utf8(), int8()),
  name: utf8(),
  n: int32(),
  x: float64(),
  key: int32(),
  city: utf8(),
  tags: list(field('item', int32())),
  place: struct([field('city', utf8()), field('height', float64())]),
  day: dateDay(),
  time: timestamp(TimeUnit.MICROSECOND),
}

const schema: Schema = {
  fields: Object.entries(types).map(([name, type]) => field(name, type)) as Field[],
  metadata: null,
}

/** The numbers that all columns are made of, the same in every run. */
export interface Seeds {
  readonly a: Int32Array
  readonly n: Int32Array
  /** Null where it is 0. */
  readonly present: Uint8Array
  readonly x: Float64Array
  readonly code: Int8Array
  readonly key: Int32Array
  /** Seconds since 1970. */
  readonly at: Int32Array
}

export function seedsOf(length: number): Seeds {
  let state = 1
  // Numbers of 32 bits. Source: Marsaglia, "Xorshift RNGs", 2003.
  const random = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  const seeds = {
    a: new Int32Array(length),
    n: new Int32Array(length),
    present: new Uint8Array(length),
    x: new Float64Array(length),
    code: new Int8Array(length),
    key: new Int32Array(length),
    at: new Int32Array(length),
  }
  for (let i = 0; i < length; i++) {
    seeds.a[i] = random() % 1000
    seeds.n[i] = random() % 1000
    seeds.present[i] = random() % 10 === 0 ? 0 : 1
    seeds.x[i] = random() / 2 ** 32
    seeds.code[i] = random() % 16
    seeds.key[i] = random() % 10_000
    seeds.at[i] = 1_577_836_800 + (random() % (6 * 365 * 86_400))
  }
  return seeds
}

const firstDay = 19_000

/** How many tags a row has, and which. */
const tagCount = (key: number) => key % 5
const tagOf = (key: number, i: number) => (key + i * 37) % 100

/** Rows `start` to `end` as an Arrow table. */
export function tableOf(seeds: Seeds, start: number, end: number): Table {
  const length = end - start
  const { a, n, present, x, code, key, at } = seeds
  const validity = new Uint8Array(Math.ceil(length / 8))
  let nullCount = length
  for (let i = 0; i < length; i++) {
    if (present[start + i] === 0) continue
    validity[i >> 3]! |= 1 << (i & 7)
    nullCount--
  }
  const each = <T extends Int32Array | BigInt64Array | Float64Array>(
    values: T,
    value: (row: number) => T[number],
  ): T => {
    for (let i = 0; i < length; i++) values[i] = value(start + i)
    return values
  }
  const category = texts(length, (i) => `c${code[start + i]}`)
  const offsets = new Int32Array(length + 1)
  for (let i = 0; i < length; i++) offsets[i + 1] = offsets[i]! + tagCount(key[start + i]!)
  const items = new Int32Array(offsets[length]!)
  for (let i = 0; i < length; i++) {
    for (let j = offsets[i]!; j < offsets[i + 1]!; j++) items[j] = tagOf(key[start + i]!, j - offsets[i]!)
  }
  const height = each(new Float64Array(length), (row) => x[row]! * 2000)
  const batches: Record<string, AnyBatch> = {
    a: makeBatch(types.a!, { length, values: a.slice(start, end) }),
    wide: makeBatch(types.wide!, {
      length,
      values: each(new BigInt64Array(length), (row) => BigInt(a[row]!)),
    }),
    category,
    encoded: makeBatch(types.encoded!, {
      length,
      values: code.slice(start, end),
      dictionary: makeColumn(utf8(), [texts(16, (i) => `c${i}`)]),
    }),
    name: texts(length, (i) => `user_${start + i}`),
    n: makeBatch(types.n!, { length, values: n.slice(start, end), validity, nullCount }),
    x: makeBatch(types.x!, { length, values: x.slice(start, end) }),
    key: makeBatch(types.key!, { length, values: key.slice(start, end) }),
    city: texts(length, (i) => cities[code[start + i]! >> 1]!),
    tags: makeBatch(types.tags!, {
      length,
      offsets,
      children: [makeBatch(int32(), { length: items.length, values: items })],
    }),
    place: makeBatch(types.place!, {
      length,
      children: [category, makeBatch(float64(), { length, values: height })],
    }),
    day: makeBatch(types.day!, {
      length,
      values: each(new Int32Array(length), (row) => firstDay + (key[row]! % 1500)),
    }),
    time: makeBatch(types.time!, {
      length,
      values: each(new BigInt64Array(length), (row) => BigInt(at[row]!) * 1_000_000n),
    }),
  }
  return new Table(
    schema,
    schema.fields.map(({ name, type }) => makeColumn(type, [batches[name]!])),
  )
}

function texts(length: number, textOf: (row: number) => string): AnyBatch {
  const offsets = new Int32Array(length + 1)
  let bytes = new Uint8Array(1024)
  let at = 0
  for (let i = 0; i < length; i++) {
    const text = textOf(i)
    if (at + text.length > bytes.length) {
      const grown = new Uint8Array(bytes.length * 2)
      grown.set(bytes)
      bytes = grown
    }
    for (let j = 0; j < text.length; j++) bytes[at++] = text.charCodeAt(j)
    offsets[i + 1] = at
  }
  return makeBatch(utf8(), { length, offsets, values: bytes.slice(0, at) })
}

/** How DuckDB makes the same rows of a table `seeds (i, a, n, x, code, key, moment)`. */
export const duckdbRows = `SELECT a, a::BIGINT AS wide, 'c' || code AS category,
  ('c' || code)::ENUM (${Array.from({ length: 16 }, (_, i) => `'c${i}'`).join(', ')}) AS encoded,
  'user_' || i AS name, n, x, key,
  [${cities.map((city) => `'${city}'`).join(', ')}][(code >> 1) + 1] AS city,
  list_transform(range(key % 5), lambda j: ((key + j * 37) % 100)::INTEGER) AS tags,
  {'city': 'c' || code, 'height': x * 2000} AS place,
  DATE '1970-01-01' + (${firstDay} + key % 1500)::INTEGER AS day,
  make_timestamp(moment::BIGINT * 1000000) AS time
  FROM seeds ORDER BY i`
