import type { Draw } from './draw.ts'
import type { World } from './valid-requests.ts'

type Columns = World['columns']

/** Most bytes of a predicate or an expression. */
const mostBytes = 65_536

/** As many terms as fit, joined. */
function joined(term: (i: number) => string, separator: string, draw: Draw): string {
  const terms: string[] = []
  const most = draw.oneOf([10, 100, 1_000, 10_000])
  let bytes = 0
  for (let i = 0; i < most; i++) {
    const next = term(i)
    bytes += Buffer.byteLength(next) + separator.length
    if (bytes > mostBytes - 1_000) break
    terms.push(next)
  }
  return terms.join(separator)
}

/** A text expression: from values of rows, from functions with long results, or of many parts. */
function textAt({ texts, numbers }: Columns, draw: Draw): string {
  const s = draw.oneOf(texts)
  const x = draw.oneOf(numbers)
  const many = draw.oneOf([1, 100, 10_000, 30_000, 1_000_000])
  return draw.oneOf([
    () => s,
    () => `repeat(${s}, ${many})`,
    () => `repeat('x', ${many})`,
    () => `lpad(${s}, ${many}, 'xy')`,
    () => `rpad(${s}, ${many})`,
    () => `upper(repeat(${s}, ${Math.min(many, 10_000)}))`,
    () => `replace(repeat(${s}, ${Math.min(many, 1_000)}), 'a', 'bbb')`,
    () => `left(repeat(${s}, ${many}), 20)`,
    () => `concat(${joined(() => `repeat(${s}, 50)`, ', ', draw)})`,
    () => `coalesce(${joined(() => `${s} || 'a'`, ', ', draw)})`,
    () => `CASE ${joined((i) => `WHEN ${x} = ${i} THEN repeat(${s}, 100)`, ' ', draw)} ELSE ${s} END`,
    () => `regexp_replace(repeat(${s}, 100), '[a-z]', '$0$0', 'g')`,
    () => `cast(${x} as string)`,
  ])()
}

function numberAt(columns: Columns, draw: Draw): string {
  const x = draw.oneOf(columns.numbers)
  const deep = draw.oneOf([1, 50, 190])
  return draw.oneOf([
    () => x,
    () => `${x} + ${draw.below(1e6)}`,
    () => joined(() => x, ' + ', draw),
    () => `${'('.repeat(deep)}${x}${')'.repeat(deep)}`,
    () => `length(${textAt(columns, draw)})`,
    () => `levenshtein(repeat(${draw.oneOf(columns.texts)}, 100), repeat(${draw.oneOf(columns.texts)}, 99))`,
    () => `abs(${x}) % 7`,
  ])()
}

/** An expression for values, sometimes at the limits of the language. */
export function expressionAt(columns: Columns, draw: Draw, kind: 'any' | 'text' = 'any'): string {
  return kind === 'text' || draw.chance(0.5) ? textAt(columns, draw) : numberAt(columns, draw)
}

/** A predicate, sometimes at the limits of the language. */
export function predicateAt(columns: Columns, draw: Draw): string {
  const s = draw.oneOf(columns.texts)
  const x = draw.oneOf(columns.numbers)
  const deep = draw.oneOf([1, 50, 100])
  return draw.oneOf([
    () => `${numberAt(columns, draw)} > ${draw.below(1_000)}`,
    () => `${textAt(columns, draw)} > 'a'`,
    () => `${textAt(columns, draw)} LIKE '%x%y_%z%'`,
    () => joined((i) => `${x} = ${i}`, ' OR ', draw),
    () => joined((i) => `length(${s}) <> ${i}`, ' AND ', draw),
    () => `${s} IN (${joined((i) => `'${i}'`, ', ', draw)})`,
    () => `${x} IN (${joined((i) => String(i), ', ', draw)})`,
    () => `${'NOT ('.repeat(deep)}${x} > 1${')'.repeat(deep)}`,
    () => `regexp_like(repeat(${s}, 500), '(a|b|c|_)*[0-9]+(x+)+y')`,
  ])()
}

/** Names and expressions of the columns of a result, up to the maximum. */
export function aliasesAt(columns: Columns, draw: Draw): Record<string, string> {
  const count = draw.oneOf([1, 10, 1_000, 10_000])
  const one = expressionAt(columns, draw)
  const isShort = one.length < 100
  // A wide table has other columns for each.
  const isWide = columns.numbers.length > 100 && draw.chance(0.5)
  const next = () =>
    isWide ? `${draw.oneOf(columns.numbers)} + 1` : isShort ? `coalesce(NULL, ${one})` : one
  return Object.fromEntries(
    Array.from({ length: isShort || isWide ? count : Math.min(count, 20) }, (_, i) => [
      `a${i}`,
      draw.chance(0.2) ? draw.oneOf(columns.texts) : next(),
    ]),
  )
}

/** Sort keys, up to the maximum. */
export function orderAt({ numbers, texts }: Columns, draw: Draw): readonly unknown[] {
  const all = [...numbers, ...texts]
  return Array.from({ length: draw.oneOf([1, 3, 64, 400, 10_000]) }, () => ({
    column_name: draw.oneOf(all),
    ascending: draw.chance(0.5),
    nulls_first: draw.chance(0.5),
  }))
}
