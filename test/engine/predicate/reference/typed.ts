import {
  binary,
  bool,
  type DataType,
  dateDay,
  decimal,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  TimeUnit,
  Type,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import { formatDecimal } from '../../../../src/engine/arrow/decimals.ts'
import { unitNanoseconds } from '../../../../src/engine/arrow/time/calendar.ts'
import { formatDate, formatTime, formatTimestamp } from '../../../../src/engine/predicate/cast/to-text.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'
import { integerRange, logicalType } from '../../../../src/engine/predicate/plan/types.ts'
import { ownColumns, typedColumns } from './columns.ts'
import type { Maker } from './maker.ts'
import { quote } from './values.ts'

/*
 * Terms over columns of every type, and literals of the type that they have: values that are in a column, that nearly
 * are, and the bounds of the type.
 */

/** Something with a value, and the type that literals beside it have. */
export interface Term {
  readonly text: string
  readonly type: DataType
  /**
   * What a comparison with a literal asks is the value itself. Otherwise the reference compares what is cast with what
   * the literal is in its type, which loses what the cast would have lost.
   */
  readonly isExact: boolean
  /** Whether it is a cast, or several. */
  readonly isCast?: boolean
}

/** What is compared, and the comparison of any text in its place. */
export interface Comparison {
  readonly term: Term
  readonly of: (term: string) => string
}

const small = {
  i8: int8(),
  i16: int16(),
  i: int32(),
  j: int32(),
  big: int64(),
  u8: uint8(),
  u16: uint16(),
  u32: uint32(),
  u64: uint64(),
  h: float64(),
  f32: float32(),
  s: utf8(),
  dict: utf8(),
  b: bool(),
  d: dateDay(),
  ts: timestamp(TimeUnit.MICROSECOND),
  tsm: timestamp(TimeUnit.MILLISECOND),
  tss: timestamp(TimeUnit.SECOND),
  tz: timestamp(TimeUnit.MICROSECOND, 'UTC'),
  dec: decimal(10, 2, 128),
  'st.x': int32(),
}

const columnTypes: Readonly<Record<string, DataType>> = {
  ...small,
  ...Object.fromEntries(Object.entries(typedColumns).map(([name, [type]]) => [name, logicalType(type)])),
}
const ownTypes = Object.fromEntries(
  Object.entries(ownColumns).map(([name, [type]]) => [name, logicalType(type)]),
)

/** The types that values can be cast to, by their names. */
const targets: Readonly<Record<string, DataType>> = {
  TINYINT: int8(),
  SMALLINT: int16(),
  INT: int32(),
  BIGINT: int64(),
  'TINYINT UNSIGNED': uint8(),
  'SMALLINT UNSIGNED': uint16(),
  'INT UNSIGNED': uint32(),
  'BIGINT UNSIGNED': uint64(),
  FLOAT: float32(),
  DOUBLE: float64(),
  'DECIMAL(5, 2)': decimal(5, 2, 128),
  'DECIMAL(10, 1)': decimal(10, 1, 128),
  'DECIMAL(20, 4)': decimal(20, 4, 128),
  'DECIMAL(38, 0)': decimal(38, 0, 128),
  BOOLEAN: bool(),
  STRING: utf8(),
  BINARY: binary(),
  DATE: dateDay(),
  TIMESTAMP: timestamp(TimeUnit.MICROSECOND),
  'TIMESTAMP(0)': timestamp(TimeUnit.SECOND),
  'TIMESTAMP(3)': timestamp(TimeUnit.MILLISECOND),
  'TIMESTAMP(6)': timestamp(TimeUnit.MICROSECOND),
  'TIMESTAMP(9)': timestamp(TimeUnit.NANOSECOND),
}
export const targetNames = Object.keys(targets)
/** Those that are drawn more often: what they give beside a literal is easily wrong. */
const times = ['DATE', 'TIMESTAMP', 'TIMESTAMP(0)', 'TIMESTAMP(3)', 'TIMESTAMP(9)']

const isTime = ({ typeId }: DataType) => typeId === Type.Timestamp || typeId === Type.Date
const isCount = (type: DataType) => type.typeId === Type.Int || type.typeId === Type.Decimal || isTime(type)

/** A column of any type, or of one of some types. */
export function columnTerm(m: Maker, wanted: (type: DataType) => boolean = () => true, own = false): Term {
  const types = own ? { ...columnTypes, ...ownTypes } : columnTypes
  const text = m.pick(...Object.keys(types).filter((name) => wanted(types[name]!)))
  // A half float is not compared with a literal in the reference.
  return { text: text === 'half' ? 'abs(half)' : text, type: types[text]!, isExact: true }
}

/** A term whose parts are as deep as `depth`; `own` columns are those that the reference cannot hold. */
export function term(m: Maker, depth: number, own = false): Term {
  if (depth === 0) return columnTerm(m, undefined, own)
  return m.one(
    () => columnTerm(m, undefined, own),
    () => castTerm(m, depth, own),
    () => castTerm(m, depth, own),
    () => castTerm(m, depth, own),
    () => castTerm(m, depth, own),
    () => sumTerm(m),
    () => shiftTerm(m),
    () => choiceTerm(m, depth),
    () => choiceTerm(m, depth),
    () => timeTerm(m, depth),
    () => timeTerm(m, depth),
    () => numberTerm(m),
    () => decimalTerm(m),
    () => differenceTerm(m),
    () => listTerm(m),
    () => nestedTerm(m, depth),
  )
}

function castTerm(m: Maker, depth: number, own: boolean): Term {
  const inner = m.chance(25)
    ? term(m, depth - 1, own)
    : columnTerm(m, m.chance(50) ? isCount : undefined, own)
  const name = m.chance(40) ? m.pick(...times) : m.pick(...targetNames)
  const type = targets[name]!
  if (inner.type.typeId === Type.Float && inner.type.precision === 0 && type.typeId === Type.Decimal)
    return inner
  // Decimals of 256 bits are cut to 64 there, whatever is lost.
  const isCut = type.typeId === Type.Timestamp || type.typeId === Type.Int
  if (/huge/.test(inner.text) && inner.text !== 'huge' && isCut) return inner
  const tries = m.chance(25)
  const text = tries
    ? `TRY_CAST(${inner.text} AS ${name})`
    : /^[\w.]+$/.test(inner.text) && m.chance(20)
      ? `${inner.text}::${name}`
      : `CAST(${inner.text} AS ${name})`
  return { text, type, isExact: isExactCast(inner, type, tries), isCast: true }
}

function isExactCast({ type: from, isExact, isCast }: Term, to: DataType, tries: boolean): boolean {
  if (isCast && !isExact) return false
  if (!isCount(from) || !isCount(to) || (isTime(from) && isTime(to) && from.typeId !== to.typeId)) return true
  if (tries) return false
  if (from.typeId === Type.Timestamp && to.typeId === Type.Timestamp) return false
  return from.typeId !== Type.Decimal
}

function exact(text: string, type: DataType): Term {
  return { text, type, isExact: true }
}

/** Arithmetic of a column and a literal: this one has the column's type where nothing else stands around it. */
function sum(text: string, type: DataType): Term {
  return { text, type, isExact: false }
}

function sumTerm(m: Maker): Term {
  const isNumber = ({ typeId }: DataType) =>
    typeId === Type.Int || typeId === Type.Float || typeId === Type.Decimal
  return m.one(
    () => {
      const { text, type } = columnTerm(m, isNumber)
      return sum(`${text} ${m.pick('+', '-', '*')} ${m.pick('1', '2', '5')}`, type)
    },
    () => exact(`${m.pick('j', 'u8', 'wide')} ${m.pick('+', '-', '*')} ${m.pick('i8', 'small')}`, int64()),
    () =>
      exact(
        `${m.pick('j', 'u8', 'wide', 'cents')} ${m.pick('+', '-', '*')} ${m.pick('cents', 'whole')}`,
        decimal(20, 2, 128),
      ),
    () =>
      exact(
        `CAST(${m.pick('day', 'd', 'day64', 'at_u', 'utc_s')} AS DATE) ${m.pick('+', '-')} ${m.pick('1', '30', '0', 'i8', 'j')}`,
        dateDay(),
      ),
    () => sum(`${m.pick('day', 'd')} - ${m.pick('day', 'd', "DATE '2024-01-01'")}`, int64()),
    () => {
      const unit = m.pick('s', 'm', 'u', 'n')
      return exact(
        `at_${unit} ${m.pick('+', '-')} last_${m.pick('s', 'm', 'u', 'n')}`,
        columnTypes[`at_${unit}`]!,
      )
    },
    () => {
      const number = m.pick('j', 'wide', 'cents', 'h')
      return sum(`-${number}`, columnTypes[number]!)
    },
  )
}

const decimals = ['cents', 'whole', 'fine', 'huge', 'dec']

function decimalTerm(m: Maker): Term {
  const one = m.pick(...decimals)
  const other = m.pick(
    ...decimals,
    'i8',
    'j',
    'u8',
    'wide',
    'u64',
    'h',
    '2',
    '1.5',
    "CAST('1.25' AS DECIMAL(5, 2))",
  )
  // Floats give a NaN that has a sign in the reference, and is its smallest number.
  const operator = /^h$|^1\.5$/.test(other) ? m.pick('+', '-', '*') : m.pick('+', '-', '*', '/', '%')
  const text = m.chance(30) ? `${other} ${operator} ${one}` : `${one} ${operator} ${other}`
  return sum(m.chance(20) ? `coalesce(${text}, ${m.pick('cents', '0', '1.5')})` : text, decimal(20, 4, 128))
}

function differenceTerm(m: Maker): Term {
  const time = () => columnTerm(m, isTime).text
  const length = () => `last_${m.pick('s', 'm', 'u', 'n')}`
  return m.one(
    () => sum(`${time()} - ${time()}`, int64()),
    () => sum(`${length()} ${m.pick('+', '-')} ${length()}`, int64()),
    () => sum(`CAST(${length()} AS BIGINT)`, int64()),
    () => sum(`${time()} ${m.pick('+', '-')} ${length()}`, timestamp(TimeUnit.MICROSECOND)),
  )
}

function listTerm(m: Maker): Term {
  return m.one<Term>(
    () => exact(`list_d[${m.pick('1', '2', '-1')}]`, dateDay()),
    () => exact(`list_f[${m.pick('1', '2', '-1', 'j')}]`, float32()),
    () => {
      const [name, type] = m.pick(['list_d', dateDay()], ['list_f', float32()], ['li', int32()])
      return exact(`${m.pick('array_max', 'array_min')}(${name})`, type)
    },
    () => exact(`array_length(${m.pick('list_d', 'list_f', 'tags')})`, int32()),
    () =>
      exact(`array_has(list_d, ${m.pick('day', 'd', "DATE '2024-01-01'", 'CAST(at_u AS DATE)')})`, bool()),
  )
}

/** A cast or a comparison within an argument, where types are read in another way. */
function nestedTerm(m: Maker, depth: number): Term {
  const { text, type } = m.chance(70) ? castTerm(m, depth, false) : columnTerm(m)
  return m.one(
    () =>
      exact(
        `coalesce(${text} ${m.pick(...operators)} ${literal(m, type)}, ${m.pick('true', 'false', 'NULL')})`,
        bool(),
      ),
    () => {
      const name = m.pick(...times)
      const given = m.pick('wide', 'j + 1', 'i', 'small', '5', text)
      return sum(`coalesce(CAST(${given} AS ${name}), NULL)`, targets[name]!)
    },
    () => exact(`nullif(${text}, ${literal(m, type)})`, type),
    () => exact(`coalesce(${text}, NULL)`, type),
    () => exact(`concat(${text}, '-', ${columnTerm(m).text})`, utf8()),
  )
}

function shiftTerm(m: Maker): Term {
  const integers = ['i8', 'i16', 'i', 'j', 'big', 'u8', 'u16', 'u32', 'small', 'wide', 'u64']
  const { text, type } = exact(m.pick(...integers), int64())
  return sum(`${text} ${m.pick('<<', '>>')} ${m.pick('1', '2', '3', '7', ...integers.slice(0, 8))}`, type)
}

function choiceTerm(m: Maker, depth: number): Term {
  const first = columnTerm(m)
  const same = ({ typeId }: DataType) => typeId === first.type.typeId
  // A text does not meet a time there in the reference.
  const isTimeOfDay = first.type.typeId === Type.Time
  const like = () => (isTimeOfDay || m.chance(50) ? columnTerm(m, same).text : literal(m, first.type))
  const inner = isTimeOfDay || m.chance(70) ? first.text : castTerm(m, depth, false).text
  const text = m.one(
    () => `coalesce(${inner}, ${like()})`,
    () => `coalesce(${inner}, ${like()}, ${like()})`,
    () => `nullif(${inner}, ${like()})`,
    () => `nullif(${inner}, ${like()})`,
    () => `${m.pick('greatest', 'least')}(${inner}, ${like()})`,
    () => `nvl(${inner}, ${like()})`,
    () =>
      `nvl2(${m.pick(first.text, columnTerm(m, same).text)}, ${first.text}, ${isTimeOfDay ? first.text : literal(m, first.type)})`,
  )
  // A cast has a type of its own, in which literals are compared.
  const isCast = inner !== first.text
  return { text, type: first.type, isExact: !isCast, isCast }
}

const parts = 'year quarter month week day doy dow isodow hour minute second millisecond microsecond epoch'
const cuts = 'year quarter month week day hour minute second millisecond microsecond'

function timeTerm(m: Maker, depth: number): Term {
  const given = m.chance(60) ? columnTerm(m, isTime) : timeCast(m, depth)
  const cut = given.type.typeId === Type.Date ? timestamp(TimeUnit.NANOSECOND) : given.type
  return m.one(
    () => exact(`date_part('${m.pick(...parts.split(' '))}', ${given.text})`, int32()),
    () => exact(`date_trunc('${m.pick(...cuts.split(' '))}', ${given.text})`, cut),
    () => exact(`date_trunc('${m.pick(...cuts.split(' '))}', ${given.text})`, cut),
    () => exact(`to_date(${given.text})`, dateDay()),
    () => exact(`to_unixtime(${given.text})`, int64()),
    () => exact(`to_timestamp(${m.pick(given.text, 'wide', 'j')})`, timestamp(TimeUnit.NANOSECOND)),
    () => exact(`to_timestamp_millis(${m.pick(given.text, 'wide', 'j')})`, timestamp(TimeUnit.MILLISECOND)),
    () => exact(`to_timestamp_seconds(${m.pick(given.text, 'j')})`, timestamp(TimeUnit.SECOND)),
    () => exact(`to_timestamp_micros(${m.pick(given.text, 'wide', 'j')})`, timestamp(TimeUnit.MICROSECOND)),
  )
}

function timeCast(m: Maker, depth: number): Term {
  const given = depth > 1 && m.chance(30) ? timeCast(m, depth - 1) : columnTerm(m, isTime)
  const name = m.pick(...times)
  return exact(`CAST(${given.text} AS ${name})`, targets[name]!)
}

function numberTerm(m: Maker): Term {
  const number = m.pick('i8', 'j', 'wide', 'h', 'cents', 'whole', 'small', 'fine')
  const type = columnTypes[number]!
  const rounded = type.typeId === Type.Decimal ? type : float64()
  return m.one(
    () => exact(`abs(${number})`, type),
    () => exact(`round(${number})`, rounded),
    () => exact(`round(${number}, ${m.pick('0', '1', '-1')})`, rounded),
    () => exact(`length(CAST(${columnTerm(m).text} AS STRING))`, int32()),
    () => exact(`signum(${number})`, float64()),
    () => sum(`${number} % ${m.pick('2', '3', '7')}`, type),
    () => sum(`${number} / ${m.pick('2', '3', '7')}`, type),
  )
}

/** A literal of a type. */
export function literal(m: Maker, type: DataType): string {
  if (m.chance(3)) return 'NULL'
  const value = m.chance(70) ? valueIn(m, type) : boundOf(m, type)
  return written(m, value, type)
}

/** A value that a column of the type has, or nearly. */
function valueIn(m: Maker, type: DataType): Scalar {
  const all = Object.values(typedColumns).filter(
    ([of]) => logicalType(of).typeId === type.typeId && unitOf(of) === unitOf(type),
  )
  const [of, values] = all.length > 0 ? m.pick(...all) : [type, [0, 1, 5, 127]]
  const value = m.pick(...values)
  if (typeof value === 'bigint') {
    const scaled =
      type.typeId === Type.Decimal && of.typeId === Type.Decimal
        ? (value * 10n ** BigInt(type.scale)) / 10n ** BigInt(of.scale)
        : value
    return m.chance(20) ? scaled + m.pick(1n, -1n) : scaled
  }
  return typeof value === 'number' && m.chance(20) ? value + m.pick(1, -1) : value
}

function unitOf(type: DataType): number {
  return type.typeId === Type.Timestamp || type.typeId === Type.Time || type.typeId === Type.Duration
    ? type.unit
    : -1
}

function boundOf(m: Maker, type: DataType): Scalar {
  switch (type.typeId) {
    case Type.Int: {
      const [low, high] = integerRange(type)
      // The smallest of 64 bits is no integer when it is written.
      return m.pick(type.bitWidth === 64 ? low + 1n : low, high, high - 1n)
    }
    case Type.Decimal:
      return m.pick(1n, -1n) * (10n ** BigInt(type.precision) - 1n)
    case Type.Float:
      return m.pick(3.4028234663852886e38, -1e300, 1e-45, 16_777_217)
    case Type.Date:
      return m.pick(-719_162, 2_932_896)
    case Type.Timestamp:
      return m.pick(-1n, 1n) * (9_000_000_000n * 1_000n ** BigInt(type.unit))
    default:
      return valueIn(m, type)
  }
}

/** How a value of a type is written; some numbers as those of another type. */
function written(m: Maker, value: Scalar, type: DataType): string {
  if (value === null) return 'NULL'
  switch (type.typeId) {
    case Type.Int:
      return String(value)
    case Type.Float: {
      const number = Number(value)
      if (!Number.isFinite(number))
        return `CAST('${number > 0 ? 'inf' : Number.isNaN(number) ? 'NaN' : '-inf'}' AS DOUBLE)`
      return m.chance(20)
        ? `CAST(${number} AS ${m.pick('FLOAT', 'DOUBLE')})`
        : /^-?\d+$/.test(String(number)) && m.chance(50)
          ? `${number}.0`
          : String(number)
    }
    case Type.Decimal: {
      const text = formatDecimal(BigInt(value as bigint), type.scale)
      if (m.chance(30)) return text.replace(/\.\d+$/, '')
      return `CAST('${text}' AS DECIMAL(${Math.min(type.precision, 38)}, ${Math.min(type.scale, 38)}))`
    }
    case Type.Bool:
      return m.pick('true', 'false')
    case Type.Binary:
      return `X'${Buffer.from(value as Uint8Array).toString('hex')}'`
    case Type.Date: {
      const days = type.unit === 0 ? Number(value) : Math.floor(Number(value) / 86_400_000)
      return m.chance(80) ? `DATE '${formatDate(days)}'` : `CAST('${formatDate(days)}' AS DATE)`
    }
    case Type.Time:
      return quote(formatTime(BigInt(value as number | bigint) * unitNanoseconds[type.unit]))
    case Type.Timestamp: {
      const text = formatTimestamp(BigInt(value as bigint) * unitNanoseconds[type.unit], null).replace(
        'T',
        ' ',
      )
      const digits = m.pick('', '', '', '(0)', '(3)', '(6)', '(9)', `(${type.unit * 3})`)
      return m.chance(85) ? `TIMESTAMP${digits} '${text}'` : `CAST('${text}' AS TIMESTAMP${digits})`
    }
    case Type.Utf8:
      return quote(String(value))
    case Type.List:
      if ((value as readonly Scalar[]).every((item) => item === null)) return 'NULL'
      return `make_array(${(value as readonly Scalar[]).map((item) => written(m, item, type.children[0]!.type)).join(', ')})`
    default:
      return 'NULL'
  }
}

const operators = ['=', '<>', '<', '<=', '>', '>=', '!=', '==']

/** A term beside literals of its type, in every form of comparison. */
export function comparison(m: Maker, own = false): Comparison {
  const given = term(m, 2, own)
  const other = m.chance(15) ? columnTerm(m).type : given.type
  const value = () => literal(m, m.chance(95) ? given.type : other)
  const not = m.pick('', '', 'NOT ')
  const operator = m.pick(...operators)
  const of = m.one<(text: string) => string>(
    () => simple(`$ ${operator} ${value()}`),
    () => simple(`$ ${operator} ${value()}`),
    () => simple(`${value()} ${operator} $`),
    () => simple(`$ ${not}IN (${m.many(1, 5, value)})`),
    () => simple(`$ ${not}BETWEEN ${value()} AND ${value()}`),
    () => simple(`NOT ($ ${operator} ${value()})`),
    () => simple(`($ ${operator} ${value()}) IS ${not}${m.pick('TRUE', 'FALSE', 'NULL')}`),
    () =>
      simple(
        `$ ${operator} ${mayBeMinusZero(given) ? value() : columnTerm(m, ({ typeId }) => typeId === given.type.typeId).text}`,
      ),
    () => simple(`$ IS ${not}NULL`),
  )
  return { term: given, of }
}

/** Zero of either sign is the same to us, while the reference tells them apart where no literal is. */
function mayBeMinusZero({ text, type }: Term): boolean {
  return type.typeId === Type.Float && /\bround\(|%/.test(text)
}

function simple(template: string): (text: string) => string {
  return (text) => template.replaceAll('$', () => text)
}
