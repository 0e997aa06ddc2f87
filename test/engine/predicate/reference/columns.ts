import {
  binary,
  type DataType,
  dateDay,
  dateMillisecond,
  decimal,
  duration,
  field,
  fixedSizeBinary,
  float16,
  float32,
  int64,
  largeBinary,
  largeUtf8,
  list,
  TimeUnit,
  timeMicrosecond,
  timeMillisecond,
  timeNanosecond,
  timeSecond,
  timestamp,
  uint8,
  utf8,
} from '@uwdata/flechette'
import { roundToHalf } from '../../../../src/engine/arrow/half.ts'
import type { Scalar } from '../../../../src/engine/predicate/plan/plan.ts'

/*
 * Columns of the types that few tables have, beside those of `rows.ts`: with them there is one of every type.
 */

const bytes = ['', 'a', 'apple', '2024-01-01', '1', '\u0000', 'é'].map((text) =>
  new TextEncoder().encode(text),
)

/** Moments in seconds, some of them beside a day's or a year's turn, and where clocks of zones are moved. */
const moments = [
  0n,
  -1n,
  5n,
  1_704_067_199n,
  1_704_067_200n,
  1_709_208_000n,
  1_711_846_799n,
  1_711_846_800n,
  1_729_990_800n,
  -86_400n,
  -2_208_988_800n,
]

/** Moments in a unit, every third of them with a fraction. */
function momentsIn(unit: 0 | 1 | 2 | 3): bigint[] {
  const size = 1_000n ** BigInt(unit)
  return moments.map((at, i) => at * size + (i % 3 === 2 && unit > 0 ? size / 2n + 1n : 0n))
}

const inDay = (unit: number) => [0, 1, 3_600, 45_296, 86_399].map((at) => at * 1_000 ** unit)
const days = [0, -1, 1, 5, 19_723, 19_782, 22_279, -25_567]

type Column = readonly [type: DataType, values: readonly Scalar[]]

const units = { s: TimeUnit.SECOND, m: TimeUnit.MILLISECOND, u: TimeUnit.MICROSECOND, n: TimeUnit.NANOSECOND }

const timestamps = Object.fromEntries(
  Object.entries(units).flatMap(([name, unit]): [string, Column][] => [
    [`at_${name}`, [timestamp(unit), momentsIn(unit)]],
    [`utc_${name}`, [timestamp(unit, 'UTC'), momentsIn(unit)]],
    [`berlin_${name}`, [timestamp(unit, 'Europe/Berlin'), momentsIn(unit)]],
    [`last_${name}`, [duration(unit), momentsIn(unit)]],
  ]),
)

/** Columns by name: their type, and what their values are drawn from. The reference can hold all of them. */
export const typedColumns: Readonly<Record<string, Column>> = {
  ...timestamps,
  half: [float16(), [0, 1, -1.5, 0.1, 5, 65_504, NaN, Infinity].map(roundToHalf)],
  single: [float32(), [0, 1, -1.5, 5, 5.4, 1e10, NaN, -Infinity].map(Math.fround)],
  small: [uint8(), [0, 1, 5, 127, 128, 255]],
  wide: [int64(), [0n, 1n, 5n, -1n, 300n, 19_723n, 1_704_067_200n, 1_704_067_200_000_000n]],
  day: [dateDay(), days],
  day64: [dateMillisecond(), [...days.map((day) => BigInt(day) * 86_400_000n), 1n, 45_296_000n, -1n]],
  time_s: [timeSecond(), inDay(0)],
  time_m: [timeMillisecond(), inDay(1)],
  time_u: [timeMicrosecond(), inDay(2).map(BigInt)],
  time_n: [timeNanosecond(), inDay(3).map(BigInt)],
  cents: [decimal(10, 2, 128), [0n, 1n, -1n, 500n, 531n, -150n, 1_972_300n, 9_999_999_999n]],
  whole: [decimal(20, 0, 128), [0n, 1n, -1n, 5n, 300n, 19_723n, 1_704_067_200n, 10n ** 20n - 1n]],
  fine: [
    decimal(38, 10, 128),
    [0n, 5n * 10n ** 10n, -(15n * 10n ** 9n), 10n ** 38n - 1n, 1n, 53n * 10n ** 9n],
  ],
  huge: [decimal(50, 3, 256), [0n, 5_000n, 5_310n, -1_500n, 1_000n, 127_000n]],
  raw: [binary(), bytes],
  written: [
    utf8(),
    ['0', '1', '5', '-1', '5.4', '19723', '2024-01-01', '2024-01-01 00:00:00.5', '1970-01-01', 'x'],
  ],
  list_d: [list(field('item', dateDay())), [[], [0], [19_723, null], [5, -1]]],
  list_f: [list(field('item', float32())), [[], [0.5], [1, null], [-1.5, 5]]],
}

/** The same of types that the reference cannot hold, or does not bring together with others. */
export const ownColumns: Readonly<Record<string, Column>> = {
  four: [fixedSizeBinary(4), ['abcd', '2024', '    '].map((text) => new TextEncoder().encode(text))],
  raw64: [largeBinary(), bytes],
  long: [largeUtf8(), ['', 'a', '5', '5.4', '2024-01-01', '2024-02-29T12:00:00', 'true', '-1']],
  narrow: [decimal(9, 2, 32), [0n, 500n, 531n, -150n, 999_999_999n]],
  middle: [decimal(18, 4, 64), [0n, 50_000n, 53_100n, -15_000n, 10n ** 18n - 1n]],
}
