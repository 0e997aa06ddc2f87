import { allNearest } from '../../base/model/nearest.ts'

/** Types with their names in SQL, Arrow, NumPy, pandas and languages of programming. An `int` has 32 bits in some, and 64 in others. */
export const otherNames: Readonly<Record<string, string>> = {
  bool: 'boolean bit logical',
  int8: 'tinyint byte i8',
  int16: 'smallint short int2 i16',
  int32: 'int integer int4 mediumint i32',
  int64: 'bigint long int integer i64',
  uint8: 'u8 ubyte',
  uint16: 'u16 ushort',
  uint32: 'u32 uint',
  uint64: 'u64 uint ulong',
  halffloat: 'half float16 f16',
  float: 'float32 real single float4 f32',
  double: 'float64 double_precision float8 number f64',
  string: 'utf8 str text varchar char character character_varying nvarchar clob object json uuid',
  large_string: 'large_utf8',
  string_view: 'utf8_view utf8view',
  binary: 'bytes blob bytea varbinary',
  binary_view: 'binaryview',
  'date32:day': 'date date32 day',
  'date64:ms': 'date64',
  'time64:us': 'time time64',
  'time32:ms': 'time32',
  'timestamp:us:-': 'timestamp datetime datetime64',
  'timestamp:us:UTC': 'timestamp timestamptz timestamp_with_time_zone',
  'duration:us': 'duration timedelta timedelta64',
  'decimal:128:38:10': 'decimal numeric decimal128',
  'interval:month_day_nano': 'interval',
  dictionary: 'category categorical enum',
  list: 'array',
  struct: 'record row',
}

/** The types that an unknown name stands for elsewhere, or is a typo of, with the parts that it has in brackets. */
export function typesMeant(given: string, known: readonly string[]): readonly string[] {
  const [, name, brackets] = /^([^([<]*)(.*)/s.exec(given)!
  const word = name!.trim().toLowerCase().replaceAll(' ', '_')
  const same = Object.keys(otherNames).filter((type) => otherNames[type]!.split(' ').includes(word))
  if (same.length === 0) return allNearest(word, [...new Set([...known, ...Object.keys(otherNames)])])
  const [, unit] = /^\[(s|ms|us|ns)\b/.exec(brackets!) ?? []
  const [, digits, scale = '0'] = /^\((\d{1,2})(?:, ?(\d{1,2}))?\)$/.exec(brackets!) ?? []
  return same.map((type) => {
    if (unit && /^(?:time|duration)/.test(type)) return type.replace(/:[mu]s/, `:${unit}`)
    return digits ? type.replace('38:10', `${digits}:${scale}`) : type
  })
}
