import type { DataType } from '@uwdata/flechette'
import type { Rows } from './rows.ts'

export type ChangeKind = 'inserted' | 'deleted' | 'updated'

type Row = readonly unknown[]

/** A row that differs between two versions. A row that was updated may have one of its sides beyond what was read. */
export interface RowChange {
  readonly kind: ChangeKind
  readonly before?: Row | undefined
  readonly after?: Row | undefined
  /** Whether a column has another value; for rows with both sides. */
  readonly changed: readonly boolean[]
}

export interface RowChanges {
  readonly columns: readonly string[]
  readonly types: readonly DataType[]
  readonly changes: readonly RowChange[]
  /** Whether there are more than were read. */
  readonly isCut: boolean
}

const changeColumn = '_change_type'

/**
 * The changes of rows in an answer of `tableChanges` that was asked for `limit + 1` rows. Such an answer has the rows of
 * the earlier version first, so `other` is the answer the other way round, if this one was cut.
 */
export function rowChangesOf(
  answer: Rows,
  other: Rows | undefined,
  keys: readonly string[],
  limit: number,
): RowChanges {
  const kinds = answer.columns.lastIndexOf(changeColumn)
  const columns = answer.columns.filter((_, index) => index !== kinds)
  const types = answer.types.filter((_, index) => index !== kinds)
  const sides = sidesOf(answer, columns, false, limit)
  if (other) {
    const reverse = sidesOf(other, columns, true, limit)
    sides.after = reverse.after
    sides.before = sides.before.slice(0, limit)
  }
  return { columns, types, changes: pairsOf(sides, columns, keys), isCut: other !== undefined }
}

interface Side {
  readonly row: Row
  readonly isUpdate: boolean
}

/** The rows of both versions, by the names of the columns. */
function sidesOf(answer: Rows, columns: readonly string[], isReverse: boolean, limit: number) {
  const kinds = answer.columns.lastIndexOf(changeColumn)
  const places = columns.map((name) => answer.columns.indexOf(name))
  const sides: { before: Side[]; after: Side[] } = { before: [], after: [] }
  for (const row of answer.rows.slice(0, limit)) {
    const kind = String(row[kinds])
    const isBefore = kind === 'delete' || kind === 'update_preimage'
    const side = {
      row: places.map((place) => (place < 0 ? null : row[place])),
      isUpdate: kind.startsWith('update'),
    }
    sides[isBefore === isReverse ? 'after' : 'before'].push(side)
  }
  return sides
}

/** Brings both sides of updated rows together, by the columns that tell rows apart. */
function pairsOf(
  { before, after }: { readonly before: readonly Side[]; readonly after: readonly Side[] },
  columns: readonly string[],
  keys: readonly string[],
): RowChange[] {
  const places = keys.map((key) => columns.indexOf(key))
  const keyOf = (row: Row) => JSON.stringify(places.map((place) => plain(row[place])))
  const updated = new Map(before.filter(({ isUpdate }) => isUpdate).map(({ row }) => [keyOf(row), row]))
  const changes: RowChange[] = []
  for (const { row } of after.filter(({ isUpdate }) => isUpdate)) {
    const key = keyOf(row)
    const earlier = updated.get(key)
    updated.delete(key)
    const changed = row.map((value, index) => earlier !== undefined && !isSame(earlier[index], value))
    changes.push({ kind: 'updated', before: earlier, after: row, changed })
  }
  const none: readonly boolean[] = []
  for (const row of updated.values()) changes.push({ kind: 'updated', before: row, changed: none })
  for (const { row } of after.filter(({ isUpdate }) => !isUpdate))
    changes.push({ kind: 'inserted', after: row, changed: none })
  for (const { row } of before.filter(({ isUpdate }) => !isUpdate))
    changes.push({ kind: 'deleted', before: row, changed: none })
  return changes
}

function isSame(one: unknown, other: unknown): boolean {
  return Object.is(one, other) || JSON.stringify(plain(one)) === JSON.stringify(plain(other))
}

/** A value as JSON can tell it from others: numbers of 64 bits and bytes, too. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return [`${value}n`]
  if (typeof value === 'number') return [Object.is(value, -0) ? '-0' : String(value)]
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array, plain)
  if (Array.isArray(value)) return value.map(plain)
  return Object.entries(value).map(([name, member]) => [name, plain(member)])
}

/** How many changes of each kind there are. */
export function countsOf({ changes }: RowChanges): Readonly<Record<ChangeKind, number>> {
  const counts = { inserted: 0, deleted: 0, updated: 0 }
  for (const { kind } of changes) counts[kind]++
  return counts
}
