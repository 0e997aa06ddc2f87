import cases from './cases.json' with { type: 'json' }
import { field, makeTable, struct, types } from './table.ts'

/** Predicates that the reference was asked, with the ids of the rows it answered, or none where it refused. */
export const { predicates, rows } = cases

/** The rows that it was asked of. */
export const table = makeTable({
  id: [types.int64, rows.map(({ id }) => BigInt(id))],
  i: [types.int32, rows.map(({ i }) => i)],
  big: [types.int64, rows.map(({ big }) => BigInt(big))],
  u8: [types.uint8, rows.map(({ u8 }) => u8)],
  f: [types.float64, rows.map(({ f }) => (f === null ? null : Number(f)))],
  f32: [types.float32, rows.map(({ f32 }) => (f32 === null ? null : Number(f32)))],
  s: [types.utf8, rows.map(({ s }) => s)],
  Name: [types.utf8, rows.map(({ Name }) => Name)],
  b: [types.bool, rows.map(({ b }) => b)],
  d: [types.date, rows.map(({ d }) => (d === null ? null : new Date(d)))],
  ts: [types.microseconds, rows.map(({ ts }) => (ts === null ? null : Number(ts) / 1_000))],
  tz: [types.utc, rows.map(({ tz }) => (tz === null ? null : Number(tz) / 1_000))],
  tags: [types.texts, rows.map(({ tags }) => tags)],
  st: [
    struct([field('x', types.int32), field('y', struct([field('z', types.utf8)]))]),
    rows.map(({ st }) => st),
  ],
  'sp ace': [types.int32, rows.map((row) => row['sp ace'])],
  select: [types.int32, rows.map((row) => row.select)],
})
