import type { Table } from '@uwdata/flechette'
import { type Answer, computedOtherwise } from './known-answers.ts'

/** A refusal of one side that is known and meant: each is as narrow as its reason. */
export interface Known {
  /** What is asked. */
  readonly text?: RegExp
  /** The error of the reference. Without it, the reference answers. */
  readonly theirs?: RegExp
  /** Our error. Without it, we answer. */
  readonly ours?: RegExp
  /** A predicate where the reference differs so. */
  readonly example: string
}

export const refusals: readonly Known[] = [
  // What the reference calls an error of its own is none of the language.
  {
    theirs: /Internal error: Assertion failed/,
    example: "CAST(day AS DATE) + i8 = DATE '1969-12-30'",
  },
  // The reference does not hold times beyond its calendar. Here they are compared and written.
  {
    theirs: /Cannot convert arrow_array::types::Timestamp/,
    example: "TRY_CAST(CAST(big AS TIMESTAMP(6)) AS DATE) >= DATE '9999-12-31'",
  },
  {
    theirs: /Failed to convert -?\d+ to (?:datetime|temporal) for/,
    example: "concat(CAST(i AS DATE), '') = 'x'",
  },
  // Nor does it add more days to a date than a count of nanoseconds has room for.
  {
    theirs: /Cannot cast to Interval\(MonthDayNano\)\. Overflowing/,
    example: 'CAST(day AS DATE) + 106752 IS NULL',
  },
  // Some functions do not bring together there what comparisons do: bytes, and dates with other dates or numbers.
  {
    text: /\b(?:coalesce|greatest|least)\(/,
    theirs: /user-defined coercion failed/,
    example: 'coalesce(raw, NULL) IS NULL',
  },
  {
    text: /\b(?:coalesce|greatest|least)\(/,
    theirs: /Failed to coerce arguments .* UserDefined failed/,
    example: 'coalesce(fine, huge, abs(half))',
  },
  // Within arguments, they do not know all types by their names.
  {
    text: /\w\(.*(?:AS |::)BINARY/,
    theirs: /Unsupported SQL type BINARY/,
    example: 'coalesce(CAST(i AS BINARY), NULL) IS NULL',
  },
  // What bounds of columns say of a comparison, they say there of numbers of 32 and 64 bits only.
  {
    text: /\b(?:DATE|current_date|today)\b/,
    theirs: /Cannot automatically convert U?Int\d+ to Date/,
    example: "DATE '1970-01-01' <> u8",
  },
  // What is only tested for NULL is converted there, too.
  {
    text: /nvl2\(/,
    theirs: /Cast error: Cannot cast string|Parser error/,
    example: 'nvl2(written, day, day) = day',
  },
  // Words of a dictionary are not joined to values of other types there, and those that no row has are cast.
  {
    text: /\bdict \|\|/,
    theirs: /Cannot infer common string type .* Dictionary/,
    example: 'dict || i IS NULL',
  },
  {
    text: /\bdict\b/,
    theirs: /Cast error: Cannot cast string|Error parsing timestamp/,
    example: 'nullif(dict, dict) <> i16',
  },
  // Decimals do not meet literals of 64 bits without a sign there.
  {
    text: /\bwhole\b/,
    theirs: /Received literal UInt64.* could not convert to literal of type 'Decimal128/,
    example: 'whole >= 18446744073709551615',
  },
  // Lists and NULL do not meet there in some functions.
  {
    text: /(?:(?:arrays?|list)_\w+|empty)\(.*NULL/,
    theirs: /array_\w+ does not support type:? '?Null/,
    example: 'array_has_all(list_d, NULL)',
  },
  {
    text: /(?:to_string|join)\(NULL/,
    theirs: /array_to_string expects list/,
    example: "array_to_string(NULL, ',') IS NULL",
  },
  // Items of a list of literals have one type there, and NULL is not one.
  {
    text: /\[.*\]/,
    theirs:
      /Array expressions must have a consistent datatype|not possible to concatenate arrays of different data/,
    example: 'li = [1, 1.5]',
  },
  {
    text: /\|\||concat\(.*NULL/,
    theirs: /array_concat does not support type/,
    example: 'array_concat(tags, NULL) = tags',
  },
  // Bytes and NULL make no list there, and what is only tested for NULL has to be like the others.
  {
    text: /make_array\((?:.*raw.*NULL|.*NULL.*raw)/,
    theirs: /make_array' user-defined coercion failed/,
    example: 'make_array(NULL, raw) IS NOT NULL',
  },
  {
    text: /nvl2\(/,
    theirs: /nvl2' user-defined coercion failed/,
    example: 'nvl2(li, u8, 0) > 1',
  },
  // TRY_CAST gives no NULL there for days that a timestamp has no place for.
  {
    text: /TRY_CAST\(/,
    theirs: /Cannot cast Date(?:32|64) value .* exceeds the representable/,
    example: 'TRY_CAST(TRY_CAST(i AS DATE) AS TIMESTAMP) IS NULL',
  },
  // Parts that are NULL are not counted there.
  {
    text: /concat_ws\(.*NULL/,
    theirs: /concat_ws was called with 1 arguments/,
    example: 'concat_ws(s, NULL) IS NULL',
  },
  // Nor do decimals of 256 bits meet others there that have more digits, or the days between dates numbers.
  {
    text: /\bhuge\b/,
    theirs:
      /Cannot infer common argument type .*Decimal256|Can not find compatible types to compare Decimal256/,
    example: 'dec * huge < fine',
  },
  {
    text: /\bday64\b/,
    theirs: /Cannot (?:infer common argument type|coerce arithmetic expression) .*Duration/,
    example: 'day64 - d > 1',
  },
  // Some casts are there beside some literals only.
  {
    text: /CAST\(|::/,
    theirs: /Unsupported (?:TRY_)?CAST/,
    example: 'CAST(greatest(last_n, last_m) AS BIGINT) <> 0',
  },
  // A bound of NULL settles whether a row is selected, and so spares the value.
  {
    text: /BETWEEN (?:NULL AND|.* AND NULL)/,
    theirs: /Cast error|Parser error|Invalid argument/,
    example: 'CAST(i AS INT UNSIGNED) BETWEEN NULL AND 4294967295',
  },
  // So does NULL as the only item of a list.
  {
    text: /CAST\(.* IN \(NULL(?:, NULL)*\)/,
    theirs: /Cast error: Can't cast value/,
    example: 'CAST(f32 AS TIMESTAMP(0)) IN (NULL)',
  },
  // A bound that settles a row spares the other one, beside which the cast may have to be made.
  {
    text: /(?:CAST\(|::).*BETWEEN (?!NULL AND|.* AND NULL)/,
    theirs: /Cast error: Can't cast value/,
    example: 'CAST(i8 AS TINYINT UNSIGNED) BETWEEN 0 AND 254',
  },
  {
    text: /\w BETWEEN (?!NULL AND|.* AND NULL)/,
    theirs: /Cast error: Cannot cast to Decimal|Invalid argument error: .* too large to store in a Decimal/,
    example: 'dec BETWEEN u64 AND f32',
  },
  // A decimal that is rounded has another scale there than it announces.
  {
    text: /\bround\(/,
    theirs: /Invalid comparison operation: Decimal128|too large to store in a Decimal128/,
    example: '5 < round(fine, 1)',
  },
  // The opposite of the least integer is taken there to compare a column, and not its opposite.
  {
    text: /(?<![\w)] ?)-[a-z]/i,
    theirs: /execute query stream: .*Overflow happened on: - -\d/,
    example: '-j = -2147483648',
  },
  // A pattern that is none fails here before any row asks for it.
  {
    text: /regexp_\w+\(/,
    ours: /which is no regular expression/,
    example: "regexp_like(NULL, '(?=a)') IS NULL",
  },
  // A decimal has no more digits than its type says. There it may fill all its bits.
  { ours: /decimal of more than \d+ digits/, example: 'fine + 2' },
  // Durations of different units and the time between times become intervals there, which there are none of here.
  {
    ours: /between (?:duration|time\d\d):\w+ and (?:duration|time\d\d):/,
    example: 'last_s - last_n IS NULL',
  },
  // What cannot be null is not evaluated there to learn that it is not.
  {
    text: /(?=.*IS (?:NOT )?NULL)(?=.*(?:coalesce|nvl))/,
    ours: /failed on|cannot be cast/,
    example: 'coalesce(dec / whole, 0) IS NULL',
  },
  // A choice after what cannot be null is taken away there, and then a cast beside a literal, even one there is not.
  {
    text: /coalesce\(\w*CAST\(coalesce\(/,
    ours: /cannot be cast/,
    example: "coalesce(CAST(coalesce(dec + dec, 0) AS DATE), NULL) IN (DATE '1969-12-31')",
  },
  // Nor is what is compared with NULL, even if it could not be.
  {
    text: /[=<>] NULL|NULL [=<>!]|IN \(NULL(?:, NULL)*\)|BETWEEN NULL AND NULL/,
    ours: /cannot be cast|failed on|It takes/,
    example: 'to_timestamp_seconds(day64) = NULL',
  },
]

/** Whether it is known, and meant, that the reference answers otherwise about the rows of a table. */
export function isKnown(text: string, expected: Answer, found: Answer, table: Table): boolean {
  const theirs = errorOf(expected)
  const ours = errorOf(found)
  if (theirs === undefined && ours === undefined) return computedOtherwise(text, expected, found, table)
  return refusals.some((one) => isRefusal(one, text, expected, found))
}

/** Whether the answers differ as one rule says. */
export function isRefusal(one: Known, text: string, expected: Answer, found: Answer): boolean {
  const isText = one.text?.test(text) ?? true
  return isText && isError(one.theirs, errorOf(expected)) && isError(one.ours, errorOf(found))
}

function errorOf(answer: Answer): string | undefined {
  return 'error' in answer ? answer.error : undefined
}

function isError(wanted: RegExp | undefined, error: string | undefined): boolean {
  return wanted === undefined ? error === undefined : error !== undefined && wanted.test(error)
}
