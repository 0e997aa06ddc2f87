import { damagedFile } from '../damage.ts'
import { natural, type Struct } from './thrift.ts'

/** The fields of the union `LogicalType`, and of ours for what only the older annotations have. */
export const annotations = {
  string: 'field_1',
  map: 'field_2',
  list: 'field_3',
  enum: 'field_4',
  decimal: 'field_5',
  date: 'field_6',
  time: 'field_7',
  timestamp: 'field_8',
  integer: 'field_10',
  unknown: 'field_11',
  json: 'field_12',
  bson: 'field_13',
  uuid: 'field_14',
  float16: 'field_15',
  variant: 'field_16',
  interval: 'interval',
} as const

const time32 = (unit: 1 | 2) => ({ field_1: true, field_2: { [`field_${unit}`]: {} } })
const integer = (bits: number, signed: boolean) => ({ field_10: { field_1: bits, field_2: signed } })

/** The logical types that the older annotations stand for, by their numbers, but for decimals. */
const converted: readonly Readonly<Record<string, unknown>>[] = [
  { field_1: {} },
  { field_2: {} },
  { field_2: {} },
  { field_3: {} },
  { field_4: {} },
  {},
  { field_6: {} },
  { field_7: time32(1) },
  { field_7: time32(2) },
  { field_8: time32(1) },
  { field_8: time32(2) },
  ...[8, 16, 32, 64].map((bits) => integer(bits, false)),
  ...[8, 16, 32, 64].map((bits) => integer(bits, true)),
  { field_12: {} },
  { field_13: {} },
  { interval: {} },
]

function olderType(number: number, digits: Struct): Struct | undefined {
  return number === 5 ? { field_5: digits } : (converted[number] as Struct | undefined)
}

/** The logical type of a schema element. Writers add the older annotation for older readers: it counts alone only. */
export function logicalOf({ field_6, field_7, field_8, field_10 }: Struct, label: string): Struct {
  if (field_10 === undefined && field_6 === undefined) return {}
  const digits = { field_1: field_7 ?? 0, field_2: field_8 }
  const logical = (field_10 ?? olderType(natural(field_6), digits)) as Struct | undefined
  if (logical === undefined || Object.keys(logical).length !== 1)
    throw damagedFile(`has column ${label} with an annotation that is none`)
  return logical
}
