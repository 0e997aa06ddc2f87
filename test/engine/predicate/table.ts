import {
  binary,
  bool,
  columnFromArray,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  dictionary,
  field,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  list,
  struct,
  type Table,
  TimeUnit,
  tableFromColumns,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { rowsIn } from '../../../src/engine/arrow/bitmap.ts'
import { compilePredicate } from '../../../src/engine/predicate/index.ts'

/** Types by the short names used in these tests. */
export const types = {
  int8: int8(),
  int16: int16(),
  int32: int32(),
  int64: int64(),
  uint8: uint8(),
  uint16: uint16(),
  uint32: uint32(),
  uint64: uint64(),
  float32: float32(),
  float64: float64(),
  utf8: utf8(),
  bool: bool(),
  binary: binary(),
  date: dateDay(),
  date64: dateMillisecond(),
  seconds: timestamp(TimeUnit.SECOND),
  milliseconds: timestamp(TimeUnit.MILLISECOND),
  microseconds: timestamp(TimeUnit.MICROSECOND),
  utc: timestamp(TimeUnit.MICROSECOND, 'UTC'),
  decimal: decimal(10, 2, 128),
  dictionary: dictionary(utf8(), int32()),
  texts: list(field('item', utf8())),
  integers: list(field('item', int32())),
} satisfies Record<string, DataType>

export { field, struct }

/** A table of named, typed columns; values are as flechette takes them. */
export function makeTable(columns: Record<string, readonly [DataType, readonly unknown[]]>): Table {
  return tableFromColumns(
    Object.fromEntries(
      Object.entries(columns).map(([name, [type, values]]) => [
        name,
        columnFromArray([...values], type, { useBigInt: true }),
      ]),
    ),
  )
}

/** Indices of the rows a predicate holds for. */
export function select(table: Table, predicate: string): number[] {
  const compiled = compilePredicate(predicate, table.schema)
  const rows = { length: table.numRows, columns: table.children.map((column) => column.data[0]) }
  return [...rowsIn(compiled.select(rows, 0, table.numRows))]
}
