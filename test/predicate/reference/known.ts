/** What a side answers: rows, values, or an error. */
type Answer =
  | { readonly ids: readonly number[] }
  | { readonly values: readonly unknown[]; readonly type: string }
  | { readonly error: string }

/** A difference that is known and meant: each is as narrow as its reason. */
interface Known {
  /** What is asked. */
  readonly text?: RegExp
  /** The error of the reference. Without it, the reference answers. */
  readonly theirs?: RegExp
  /** Our error. Without it, we answer. */
  readonly ours?: RegExp
}

const failures: readonly Known[] = [
  // The reference does not hold times beyond its calendar. Here they are compared.
  { theirs: /timezone to different timezone|Cannot convert arrow_array::types::Timestamp|Failed to convert/ },
  // Some functions do not bring together there what comparisons do, and do not take all types by their names.
  {
    text: /\b(?:coalesce|nullif|nvl2?|greatest|least)\(/,
    theirs: /user-defined coercion failed|For function 'nullif' .* is not comparable/,
  },
  { text: /\w\(.*(?:AS |::)BINARY/, theirs: /Unsupported SQL type BINARY/ },
  {
    text: /\b(?:DATE|TIMESTAMP|coalesce|nullif|nvl2?|greatest|least)\b/,
    theirs: /Cannot automatically convert/,
  },
  // What is compared with NULL has the type of a comparison there, and here that of NULL.
  { text: /[=<>] NULL|NULL [=<>]/, theirs: /Cannot automatically convert Boolean/ },
  // What is only tested for NULL is converted there, too.
  { text: /nvl2/, theirs: /Cast error|Parser error/ },
  // Words of a dictionary are not joined to values of other types there, nor do decimals meet long literals.
  { text: /\bdict \|\|/, theirs: /Cannot infer common string type .* Dictionary/ },
  { text: /\bwhole\b/, theirs: /Received literal UInt64.* could not convert to literal of type 'Decimal128/ },
  // Lists and NULL do not meet there in some functions.
  { text: /has_all\(.*NULL|array_to_string\(NULL/, theirs: /does not support type|array_to_string/ },
  // TRY_CAST gives no NULL there for days that a timestamp has no place for.
  {
    text: /TRY_CAST\(.*(?:AS |::)DATE\b/,
    theirs: /Cannot cast Date(?:32|64) value .* exceeds the representable/,
  },
  // Parts that are NULL are not counted there.
  { text: /concat_ws\(.*NULL/, theirs: /concat_ws was called with 1 arguments/ },
  // Nor do decimals of 256 bits meet those of a list there, if they have other digits.
  { text: /\bhuge\b.* IN \(/, theirs: /Can not find compatible types to compare Decimal256/ },
  // A decimal of more digits than any type has meets no other one there, nor does a date of one kind that of another.
  { text: /\b(?:huge|day64)\b/, theirs: /Cannot infer common argument type/ },
  // Some casts are there beside some literals only.
  { text: /CAST\(|::/, theirs: /Unsupported (?:TRY_)?CAST/ },
  // A bound that settles a row spares the other one, and NULL spares the value.
  {
    text: /(?:CAST\(|::).*BETWEEN|BETWEEN (?:NULL AND|.* AND NULL)/,
    theirs: /Cast error|Parser error|Invalid argument/,
  },
  // Of several casts beside a literal all are taken away here, and so cannot fail.
  { text: /(?:CAST\(.*){2}|CAST\(.*::|::.*::/, theirs: /Cast error/ },
  // A decimal that is rounded has another scale there than it announces.
  {
    text: /\bround\(/,
    theirs: /Invalid comparison operation: Decimal128|too large to store in a Decimal128/,
  },
  { text: /\bround\(\w+(?:, -?\d)?\) (?:NOT )?IN \(/, ours: /decimal.* cannot be cast/ },
  // The days between dates of 64 bits are announced there as a duration, which meets no number.
  { text: /day64/, theirs: /Cannot coerce arithmetic expression Duration/ },
  // Of a dictionary, words that no row has are cast there, too.
  { text: /CAST\(.*\bdict\b/, theirs: /Cannot cast string|Error parsing timestamp/ },
  // The opposite of the least integer is taken there to compare a column, and not its opposite.
  { text: /(?<![\w)] ?)-[a-z]/i, theirs: /Overflow happened on: - -/ },
  // A pattern that is none fails here before any row asks for it.
  { text: /regexp_\w+\(|~/, ours: /which is no regular expression/ },
  // A decimal has no more digits than its type says. There it may fill all its bits.
  { ours: /more than \d+ digits/ },
  // Durations of different units become intervals there, which there are none of here.
  { ours: /between duration:\w+ and duration/ },
  // What cannot be null is not evaluated there to learn that it is not.
  { text: /(?=.*IS (?:NOT )?NULL)(?=.*(?:coalesce|nvl))/, ours: /failed on|cannot be cast/ },
  // A choice after what cannot be null is taken away there, and then a cast beside a literal, even one there is not.
  { text: /coalesce\(\w*CAST\(coalesce\(/, ours: /cannot be cast/ },
  // Nor is what is compared with NULL, even if it could not be.
  {
    text: /[=<>] NULL|NULL [=<>!]|IN \(NULL(?:, NULL)*\)|BETWEEN NULL AND NULL/,
    ours: /cannot be cast|failed on|It takes/,
  },
]

/**
 * Whether it is known, and meant, that the reference answers otherwise.
 */
export function isKnown(text: string, expected: Answer, found: Answer): boolean {
  const theirs = errorOf(expected)
  const ours = errorOf(found)
  if (theirs === undefined && ours === undefined)
    return (
      isNegativeZero(text) || isUnknownThere(text, expected, found) || isAlmostEqual(text, expected, found)
    )
  return failures.some(
    (one) => (one.text?.test(text) ?? true) && isError(one.theirs, theirs) && isError(one.ours, ours),
  )
}

function errorOf(answer: Answer): string | undefined {
  return 'error' in answer ? answer.error : undefined
}

function isError(wanted: RegExp | undefined, error: string | undefined): boolean {
  return wanted === undefined ? error === undefined : error !== undefined && wanted.test(error)
}

/**
 * A comparison with a literal that has no place in the unit of what is cast, or taken apart, is NULL there. So the
 * reference may differ by NULL instead of an answer, and by what a test for NULL makes of that.
 */
function isUnknownThere(text: string, expected: Answer, found: Answer): boolean {
  if (!hasYearBeyond(text) && !hasCountBeyond(text)) return false
  const testsNull = /\bIS (?:NOT )?(?:NULL|TRUE|FALSE)|coalesce|nvl|nullif|concat/.test(text)
  if ('ids' in expected && 'ids' in found) {
    const isWithin = (ids: readonly number[], others: readonly number[]) =>
      ids.every((id) => others.includes(id))
    return isWithin(expected.ids, found.ids) || (testsNull && isWithin(found.ids, expected.ids))
  }
  if (!('values' in expected && 'values' in found)) return false
  const { values } = expected
  if (testsNull && values.every((value) => value === values[0])) return true
  return values.every((value, row) => value === null || value === found.values[row])
}

/** Whether a negative number may be rounded to a zero that is less than zero there, as it keeps its sign. */
function isNegativeZero(text: string): boolean {
  return /\bround\(\w+, -\d\) *[<>=]|[<>=] *round\(\w+, -\d\)/.test(text)
}

/** Whether the year of a time in nanoseconds is compared with one that such times do not have whole. */
function hasYearBeyond(text: string): boolean {
  if (!/date_?part\('(?:years?|yr?|yrs)', (?:\w+_n\b|to_timestamp\(|.*TIMESTAMP\b(?!\([036]\)))/i.test(text))
    return false
  const numbers = text.replace(/'[^']*'|TIMESTAMP\(\d\)/g, '').match(/(?<![\w.])-?\d+\b/g) ?? []
  return numbers.some((number) => Number(number) < 1678 || Number(number) > 2260)
}

/** Whether a cast to a timestamp is compared with a count that times of other units have no place for. */
function hasCountBeyond(text: string): boolean {
  return /(?:CAST\(|::).*TIMESTAMP/.test(text) && /\b922337203685477580[67]\b/.test(text)
}

/** How much of a float its last digits are, by its type. */
const lastDigits: Readonly<Record<string, number>> = { double: 2 ** -50, float: 2 ** -22, halffloat: 2 ** -9 }

/** Whether both differ by the last digits of functions that each platform computes for itself. */
function isAlmostEqual(text: string, expected: Answer, found: Answer): boolean {
  if (!/\b(?:exp|ln|log\d*|pow(?:er)?|cbrt|cot|a?(?:sin|cos|tan)h?2?)\(/.test(text)) return false
  if (!('values' in expected && 'values' in found) || expected.type !== found.type) return false
  const most = lastDigits[found.type] ?? 0
  return expected.values.every((value, row) => {
    const other = found.values[row]
    if (typeof value !== 'number' || typeof other !== 'number') return value === other
    return Object.is(value, other) || Math.abs(value - other) <= Math.abs(value) * most
  })
}
