import {
  binary,
  bool,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  dictionary,
  duration,
  field,
  fixedSizeBinary,
  fixedSizeList,
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  largeBinary,
  largeList,
  largeUtf8,
  list,
  listView,
  nullType,
  runEndEncoded,
  TimeUnit,
  Type,
  timeNanosecond,
  timeSecond,
  timestamp,
  uint8,
  uint16,
  uint32,
  uint64,
  utf8,
} from '@uwdata/flechette'
import fc from 'fast-check'
import { CatalogError } from '../../../../src/base/errors.ts'
import type { ColumnPlan, Plan, Scalar, ScalarFunction } from '../../../../src/engine/predicate/plan/plan.ts'
import type { ColumnStatistics } from '../../../../src/engine/predicate/prune/statistics.ts'

const utf8View: DataType = { typeId: Type.Utf8View }
const binaryView: DataType = { typeId: Type.BinaryView }

const numbers = (low: number, high: number) =>
  fc.oneof(
    fc.integer({ min: low < 0 ? -3 : 0, max: 3 }),
    fc.constantFrom(low, high),
    fc.integer({ min: low, max: high }),
  )
const longs = (low: bigint, high: bigint) =>
  fc.oneof(
    fc.bigInt({ min: low < 0n ? -3n : 0n, max: 3n }),
    fc.constantFrom(low, high, low + 1n, high - 1n, 2n ** 32n, 2n ** 31n, 2n ** 53n + 1n),
    fc.bigInt({ min: low, max: high }),
  )
const floats = (width: (value: number) => number) =>
  fc.oneof(
    fc.constantFrom(0, -0, 1, -1, 0.5, 2, Number.NaN, Infinity, -Infinity),
    fc.double({ min: -100, max: 100, noNaN: true }).map(width),
  )
const halfs = fc.constantFrom(0, -0, 1, -1.5, 0.25, 65504, 2 ** -24, Number.NaN, Infinity, -Infinity)

const words = fc.constantFrom(
  ...[
    '',
    'a',
    'b',
    'ab',
    'apple',
    'apple pie',
    'user_1',
    'user_99',
    'user_995',
    'user_9',
    'Straße',
    'é',
    'É',
  ],
  ...[
    'aé',
    'éa',
    '𝒳y',
    'x𝒳',
    '\uffff',
    'ſ',
    'K',
    'k',
    'Σ',
    'ς',
    'İ',
    'a\nb',
    '100%',
    'a_b',
    'longer than twelve bytes',
  ],
  ...['longer than twelve bytez', 'aaaaab', 'aabaab', 'aaaa'],
)
const texts = fc.oneof(
  words,
  fc.string({ unit: fc.constantFrom('a', 'b', 'é', 'A', '𝒳', '\ufeff'), maxLength: 12 }),
)
const blobs = texts.map((text) => new TextEncoder().encode(text))
const lists = fc.array(fc.option(words), { maxLength: 3 })

/** Every type a predicate can look into, as it lies in a batch, with values for it. */
export const types: readonly (readonly [name: string, type: DataType, values: fc.Arbitrary<Scalar>])[] = [
  ['bool', bool(), fc.boolean()],
  ['int8', int8(), numbers(-128, 127)],
  ['uint8', uint8(), numbers(0, 255)],
  ['int16', int16(), numbers(-32768, 32767)],
  ['uint16', uint16(), numbers(0, 65535)],
  ['int32', int32(), numbers(-(2 ** 31), 2 ** 31 - 1)],
  ['uint32', uint32(), numbers(0, 2 ** 32 - 1)],
  ['int64', int64(), longs(-(2n ** 63n), 2n ** 63n - 1n)],
  ['uint64', uint64(), longs(0n, 2n ** 64n - 1n)],
  ['float16', float16(), halfs],
  ['float32', float32(), floats(Math.fround)],
  ['float64', float64(), floats((value) => value)],
  [
    'decimal32',
    decimal(9, 2, 32),
    longs(-(10n ** 9n) + 1n, 10n ** 9n - 1n).map((value) => value % 10n ** 9n),
  ],
  [
    'decimal64',
    decimal(18, 2, 64),
    longs(-(10n ** 18n) + 1n, 10n ** 18n - 1n).map((value) => value % 10n ** 18n),
  ],
  ['decimal128', decimal(38, 2, 128), longs(-(10n ** 38n) + 1n, 10n ** 38n - 1n)],
  ['decimal256', decimal(76, 2, 256), longs(-(10n ** 76n) + 1n, 10n ** 76n - 1n)],
  ['date32', dateDay(), numbers(-10_000, 30_000)],
  ['date64', dateMillisecond(), longs(-(2n ** 40n), 2n ** 40n)],
  ['time32', timeSecond(), numbers(0, 86_399)],
  ['time64', timeNanosecond(), longs(0n, 86_399_999_999_999n).map((value) => value % 86_400_000_000_000n)],
  ['timestamp', timestamp(TimeUnit.MICROSECOND), longs(-(2n ** 62n), 2n ** 62n)],
  ['duration', duration(TimeUnit.SECOND), longs(-(2n ** 62n), 2n ** 62n)],
  ['utf8', utf8(), texts],
  ['largeUtf8', largeUtf8(), texts],
  ['utf8View', utf8View, texts],
  ['binary', binary(), blobs],
  ['largeBinary', largeBinary(), blobs],
  ['binaryView', binaryView, blobs],
  [
    'fixedSizeBinary',
    fixedSizeBinary(2),
    fc.constantFrom('ab', 'aa', 'zz').map((text) => new TextEncoder().encode(text)),
  ],
  ['dictionary of utf8', dictionary(utf8(), int8()), words],
  ['dictionary of utf8View by int64', dictionary(utf8View, int64()), words],
  ['dictionary of int32', dictionary(int32(), int16()), numbers(-(2 ** 31), 2 ** 31 - 1)],
  ['dictionary of float64', dictionary(float64(), int32()), fc.constantFrom(0, 1.5, Number.NaN, -Infinity)],
  ['dictionary of int64', dictionary(int64(), int32()), longs(-(2n ** 63n), 2n ** 63n - 1n)],
  ['dictionary of bool', dictionary(bool(), int32()), fc.boolean()],
  ['runs of int32', runEndEncoded(field('ends', int32()), field('values', int32())), numbers(-2, 2)],
  ['runs of utf8', runEndEncoded(field('ends', int64()), field('values', utf8())), words],
  ['list', list(field('item', utf8())), lists],
  ['largeList', largeList(field('item', utf8())), lists],
  ['listView', listView(field('item', utf8())), lists],
  [
    'fixedSizeList',
    fixedSizeList(field('item', utf8()), 2),
    fc.tuple(words, fc.option(words)).map((pair): Scalar => pair),
  ],
  ['null', nullType(), fc.constant(null)],
]

/** What plans call a type: one for all layouts. */
export function logical(type: DataType): DataType {
  switch (type.typeId) {
    case Type.Dictionary:
      return logical(type.dictionary)
    case Type.RunEndEncoded:
      return logical(type.children[1].type)
    case Type.LargeUtf8:
    case Type.Utf8View:
      return utf8()
    case Type.LargeBinary:
    case Type.BinaryView:
    case Type.FixedSizeBinary:
      return binary()
    case Type.LargeList:
    case Type.ListView:
    case Type.FixedSizeList:
      return list(field('item', utf8()))
    default:
      return type
  }
}

export interface Leaf {
  readonly column: ColumnPlan
  readonly values: fc.Arbitrary<Scalar>
}

const boolean = bool()
const operators = fc.constantFrom('=', '<>', '<', '<=', '>', '>=')

/** Random plans over the given columns, of the shapes a binder makes. */
export function plans(leaves: readonly Leaf[]): fc.Arbitrary<Plan> {
  const leafTests = leaves.map(testsOf)
  const { test } = fc.letrec<{ test: Plan }>((tie) => ({
    test: fc.oneof(
      { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
      fc.oneof(...leafTests),
      fc.record({
        kind: fc.constantFrom('and' as const, 'or' as const),
        type: fc.constant(boolean),
        args: fc.array(tie('test'), { minLength: 2, maxLength: 4 }),
      }),
      tie('test').map((arg): Plan => ({ kind: 'not', type: boolean, arg })),
      fc
        .tuple(tie('test'), fc.boolean())
        .map(([arg, negated]): Plan => ({ kind: 'isNull', type: boolean, arg, negated })),
      fc
        .tuple(tie('test'), fc.boolean(), fc.boolean())
        .map(([arg, value, negated]): Plan => ({ kind: 'isBool', type: boolean, arg, value, negated })),
      fc
        .tuple(tie('test'), tie('test'), operators)
        .map(([left, right, operator]): Plan => ({ kind: 'compare', type: boolean, operator, left, right })),
      fc.constantFrom(true, false, null).map((value): Plan => ({ kind: 'literal', type: boolean, value })),
    ),
  }))
  return test
}

function testsOf({ column, values }: Leaf): fc.Arbitrary<Plan> {
  const { type } = column
  const isNull = fc
    .boolean()
    .map((negated): Plan => ({ kind: 'isNull', type: boolean, arg: column, negated }))
  const isList = type.typeId === Type.List
  const calls = fc.oneof(
    callOf('isEven', column, boolean, true, (value) => String(value).length % 2 === 0),
    callOf('known', column, boolean, false, (value) => value !== null),
    callOf('unknown', column, boolean, true, (value) => (String(value).length > 2 ? null : true)),
    callOf('fails', column, boolean, true, (value) => {
      if (String(value).length > 3) throw new CatalogError('InvalidInput', 'too long')
      return true
    }),
  )
  if (type.typeId === Type.Null || isList) return fc.oneof(isNull, calls)
  const literals = fc.oneof({ arbitrary: values, weight: 9 }, { arbitrary: fc.constant(null), weight: 1 })
  const literal = (value: Scalar): Plan => ({ kind: 'literal', type, value })
  const numeric = type.typeId === Type.Int || type.typeId === Type.Float
  const expression = numeric ? arithmetic(column, values) : fc.constant<Plan>(column)
  const shapes: fc.Arbitrary<Plan>[] = [
    isNull,
    calls,
    fc.tuple(expression, literals, operators, fc.boolean()).map(
      ([arg, value, operator, swapped]): Plan => ({
        kind: 'compare',
        type: boolean,
        operator,
        left: swapped ? literal(value) : arg,
        right: swapped ? arg : literal(value),
      }),
    ),
    fc
      .tuple(expression, expression, operators)
      .map(([left, right, operator]): Plan => ({ kind: 'compare', type: boolean, operator, left, right })),
    fc
      .tuple(
        expression,
        fc.oneof(fc.array(values, { maxLength: 4 }), fc.array(values, { minLength: 9, maxLength: 80 })),
        fc.boolean(),
        fc.boolean(),
      )
      .map(
        ([arg, list, hasNull, negated]): Plan => ({
          kind: 'in',
          type: boolean,
          arg,
          values: list.filter((value) => value !== null),
          hasNull,
          negated,
        }),
      ),
  ]
  // What is joined to one IN.
  shapes.push(
    fc.tuple(fc.array(literals, { minLength: 2, maxLength: 6 }), fc.boolean(), fc.boolean()).map(
      ([list, isOr, swapped]): Plan => ({
        kind: isOr ? 'or' : 'and',
        type: boolean,
        args: list.map(
          (value): Plan => ({
            kind: 'compare',
            type: boolean,
            operator: isOr ? '=' : '<>',
            left: swapped ? literal(value) : column,
            right: swapped ? column : literal(value),
          }),
        ),
      }),
    ),
  )
  if (type.typeId === Type.Bool) shapes.push(fc.constant(column))
  if (type.typeId === Type.Utf8) {
    const arg = fc.oneof(
      fc.constant<Plan>(column),
      callOf('reversed', column, type, true, (value) =>
        Array.from(value as string)
          .reverse()
          .join(''),
      ),
      callOf('orEmpty', column, type, false, (value) => value ?? ''),
    )
    shapes.push(
      fc.tuple(arg, patterns, fc.boolean(), fc.boolean()).map(
        ([arg, pattern, insensitive, negated]): Plan => ({
          kind: 'like',
          type: boolean,
          arg,
          pattern,
          insensitive,
          negated,
        }),
      ),
      fc.tuple(arg, words, operators).map(
        ([left, value, operator]): Plan => ({
          kind: 'compare',
          type: boolean,
          operator,
          left,
          right: literal(value),
        }),
      ),
    )
  }
  return fc.oneof(...shapes)
}

const patterns = fc.oneof(
  fc.array(
    fc.oneof(
      words,
      fc.constantFrom('a', 'user', '99'),
      fc.constantFrom({ any: 'one' as const }, { any: 'many' as const }),
    ),
    {
      maxLength: 5,
    },
  ),
  fc.constant(null),
)

function arithmetic(column: ColumnPlan, values: fc.Arbitrary<Scalar>): fc.Arbitrary<Plan> {
  const { type } = column
  const { side } = fc.letrec<{ side: Plan }>((tie) => ({
    side: fc.oneof(
      { maxDepth: 2, depthSize: 'small' },
      fc.constant<Plan>(column),
      fc
        .oneof({ arbitrary: values, weight: 5 }, { arbitrary: fc.constant(null), weight: 1 })
        .map((value): Plan => ({ kind: 'literal', type, value })),
      fc
        .tuple(tie('side'), tie('side'), fc.constantFrom('+', '-', '*', '/', '%'))
        .map(([left, right, operator]): Plan => ({ kind: 'arithmetic', type, operator, left, right, at: 0 })),
      tie('side').map((arg): Plan => ({ kind: 'negate', type, arg, at: 0 })),
    ),
  }))
  // Half floats round after every step, which the interpreter leaves out.
  return type.typeId === Type.Float && type.precision === 0 ? fc.constant(column) : side
}

function callOf(
  name: string,
  arg: Plan,
  type: DataType,
  strict: boolean,
  evaluate: ScalarFunction['evaluate'],
): fc.Arbitrary<Plan> {
  return fc.constant<Plan>({ kind: 'call', type, args: [arg], at: 0, function: { name, strict, evaluate } })
}

/** What an honest writer says of a column's values; bounds of strings may be cut, and any column left out. */
export function statisticsOf(
  plan: Plan,
  index: number,
  values: readonly Scalar[],
  { known, cut }: { readonly known: boolean; readonly cut: boolean },
): ColumnStatistics | undefined {
  const type = typeOfColumn(plan, index)
  if (!known || type === undefined) return undefined
  const nullCount = values.filter((value) => value === null).length
  const present = values.filter((value) => value !== null && !Number.isNaN(value))
  const hasNaN = type.typeId === Type.Float ? { hasNaN: values.some((value) => Number.isNaN(value)) } : {}
  if (present.length === 0 || type.typeId === Type.List) return { nullCount, ...hasNaN }
  const [min, max] = [
    present.reduce((a, b) => (isLess(b, a) ? b : a)),
    present.reduce((a, b) => (isLess(a, b) ? b : a)),
  ]
  if (!cut || typeof min !== 'string') return { nullCount, min, max, ...hasNaN }
  return { nullCount, min: Array.from(min)[0] ?? '', max: `${max}b`, minExact: false, maxExact: false }
}

function isLess(a: Scalar, b: Scalar): boolean {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string)) < 0
  return a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) < 0 : a! < b!
}

function typeOfColumn(plan: unknown, index: number): DataType | undefined {
  if (typeof plan !== 'object' || plan === null) return undefined
  if ('kind' in plan && plan.kind === 'column' && (plan as ColumnPlan).path[0] === index)
    return (plan as ColumnPlan).type
  for (const part of Object.values(plan)) {
    const found = typeOfColumn(part, index)
    if (found) return found
  }
  return undefined
}
