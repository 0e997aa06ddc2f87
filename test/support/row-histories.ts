import fc from 'fast-check'

/* Random histories of the rows and columns of one table, as data, and how their rows are compared as texts. */

export type HistoryRow = Record<string, unknown>

const field = (name: string, type: string) => ({ name, type: { type }, nullable: true })

/** The columns that a history begins with. */
export const historyColumns = [field('k', 'int32'), field('x', 'double'), field('s', 'string')]

const historyRow = fc.record({
  k: fc.nat(12),
  x: fc.constantFrom(null, 0, -0, Number.NaN, 1.5, 2),
  s: fc.constantFrom(null, '', 'a', 'bc'),
})
export const historyRows = fc.array(historyRow, { minLength: 1, maxLength: 8 })

export type RowStep =
  | { readonly kind: 'insert' | 'merge' | 'overwrite'; readonly rows: readonly HistoryRow[] }
  | { readonly kind: 'delete'; readonly predicate: string }
  | { readonly kind: 'update'; readonly column: string; readonly value: string }
  | { readonly kind: 'restore'; readonly which: number }
  | { readonly kind: 'optimize' }
  /** Adds a column, or drops it if it is there. */
  | { readonly kind: 'extra'; readonly expression: string | undefined }
  | { readonly kind: 'rename'; readonly column: string }
  | { readonly kind: 'cast'; readonly column: string; readonly type: string }

const insert = historyRows.map((rows): RowStep => ({ kind: 'insert', rows }))

export const rowSteps: fc.Arbitrary<RowStep> = fc.oneof(
  { arbitrary: insert, weight: 4 },
  fc
    .constantFrom('k < 4', 'x > 1', 'k = 7', 'k % 2 = 0', "s = 'a'", 'true')
    .map((predicate): RowStep => ({ kind: 'delete', predicate })),
  fc
    .constantFrom<[string, string]>(['x', '2'], ['s', "'new'"], ['k', 'k + 1'])
    .map(([column, value]): RowStep => ({ kind: 'update', column, value })),
  fc
    .uniqueArray(historyRow, { minLength: 1, maxLength: 6, selector: ({ k }) => k })
    .map((rows): RowStep => ({ kind: 'merge', rows })),
  historyRows.map((rows): RowStep => ({ kind: 'overwrite', rows })),
  fc.constant<RowStep>({ kind: 'optimize' }),
  fc.nat(20).map((which): RowStep => ({ kind: 'restore', which })),
  fc.constantFrom('k * 2', undefined).map((expression): RowStep => ({ kind: 'extra', expression })),
  fc.constantFrom('s', 'x').map((column): RowStep => ({ kind: 'rename', column })),
  fc.constantFrom('float', 'double').map((type): RowStep => ({ kind: 'cast', column: 'x', type })),
)

/** Whether a table has the column that a step needs. */
export function fits(step: RowStep, columns: readonly string[]): boolean {
  const needed = step.kind === 'delete' ? /[kxs]/.exec(step.predicate)?.[0] : undefined
  return [needed, 'column' in step ? step.column : undefined].every(
    (name) => name === undefined || columns.includes(name),
  )
}

/** Rows with a value, perhaps null, in each of the columns. */
export function fullRows(rows: readonly HistoryRow[], columns: readonly string[]): HistoryRow[] {
  return rows.map((one) => Object.fromEntries(columns.map((name) => [name, one[name] ?? null])))
}

/** A row as text. Columns are in order, and NaN and -0 are told apart. */
export function textOf(one: HistoryRow, columns: readonly string[]): string {
  const write = (value: unknown) =>
    typeof value === 'number' && (Number.isNaN(value) || Object.is(value, -0))
      ? Object.is(value, -0)
        ? '-0'
        : 'NaN'
      : JSON.stringify(value ?? null, (_, part) => (typeof part === 'bigint' ? `${part}` : part))
  return columns.map((name) => write(one[name])).join(' ')
}

/** The texts of `from` that are not in `to`, as often as they are not. */
export function missing(from: readonly string[], to: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const text of to) left.set(text, (left.get(text) ?? 0) + 1)
  return from
    .filter((text) => {
      const count = left.get(text) ?? 0
      left.set(text, count - 1)
      return count <= 0
    })
    .sort()
}

export type ChangedRow = HistoryRow & { readonly _change_type: string }

export const isBefore = ({ _change_type }: ChangedRow) =>
  _change_type === 'delete' || _change_type === 'update_preimage'

/** What the differences of two versions are to be, by the rows of both: throws where `found` is something else. */
export function checkDifferences(
  found: readonly ChangedRow[],
  rows: { readonly from: readonly HistoryRow[]; readonly to: readonly HistoryRow[] },
  columns: readonly string[],
  equal: (found: unknown, expected: unknown) => void,
): void {
  const was = rows.from.map((one) => textOf(one, columns))
  const is = rows.to.map((one) => textOf(one, columns))
  const texts = (wanted: boolean) =>
    found.filter((one) => isBefore(one) === wanted).map((one) => textOf(one, columns))
  equal(texts(true).sort(), missing(was, is))
  equal(texts(false).sort(), missing(is, was))
  // Rows of the earlier version come first, so that they can be applied one after the other.
  const kinds = found.map(isBefore)
  equal(kinds, [...kinds.filter((one) => one), ...kinds.filter((one) => !one)])
  equal([...missing(was, texts(true)), ...texts(false)].sort(), [...is].sort())
}

/**
 * With the key `k`, the same rows are told, and those with the same key are updates. `plain` has the differences without
 * a key, and `keyed` reads those with one. Answers with the ways in which rows changed.
 */
export async function checkKeyed(
  plain: readonly ChangedRow[],
  columns: readonly string[],
  keyed: () => Promise<readonly ChangedRow[]>,
  equal: (found: unknown, expected: unknown) => void,
): Promise<Iterable<string>> {
  const keysOf = (wanted: boolean) => plain.filter((one) => isBefore(one) === wanted).map(({ k }) => k)
  const isUnique = [keysOf(true), keysOf(false)].every((keys) => new Set(keys).size === keys.length)
  if (!isUnique) {
    const told = await keyed().then(String, String)
    equal(/have the same values in "k"/.exec(told)?.[0] ?? told, 'have the same values in "k"')
    return ['refused']
  }
  const found = await keyed()
  const texts = (rows: readonly ChangedRow[], wanted: boolean) =>
    rows
      .filter((one) => isBefore(one) === wanted)
      .map((one) => textOf(one, columns))
      .sort()
  for (const wanted of [true, false]) {
    equal(texts(found, wanted), texts(plain, wanted))
    const others = new Set(keysOf(!wanted))
    for (const one of found.filter((each) => isBefore(each) === wanted))
      equal(one._change_type.startsWith('update'), others.has(one.k))
  }
  return found.map(({ _change_type }) => _change_type)
}
