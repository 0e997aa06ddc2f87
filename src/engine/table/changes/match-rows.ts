import { invalid } from '../../../base/errors.ts'
import { addRow, clearRange } from '../../arrow/bitmap.ts'
import { type ChangedFragment, type ChangedSide, columnsOf, type SideColumn } from './changed-side.ts'
import type { ComparedColumns } from './compared-columns.ts'
import { HashedRows, words } from './hashed-rows.ts'
import { type ComparedSide, type Comparison, namesOf, type RowHashes, rowHashes } from './row-hashes.ts'

/** Most rows whose hashes are in memory at once. The rows of the other version are read again for each so many. */
const maxRows = 1 << 21

/** Takes away the rows that both versions have, as often as both have them. */
export async function dropEqualRows(
  comparison: Comparison,
  from: ChangedSide,
  to: ChangedSide,
  { all }: ComparedColumns,
): Promise<void> {
  const pair = {
    from: { side: from, columns: columnsOf(all, 'from') },
    to: { side: to, columns: columnsOf(all, 'to') },
  }
  const [few, many] = byRows(pair.from, pair.to)
  for await (const part of inParts(rowHashes(comparison, few), rowsOf(few.side), comparison.memory)) {
    for await (const { fragment, rows, hashes } of rowHashes(comparison, many)) {
      for (let i = 0; i < rows.length; i++) {
        const found = part.hashed.take(hashes, i * words)
        if (found === undefined) continue
        drop(fragment, rows[i]!)
        drop(part.fragments[found]!, part.rows[found]!)
      }
    }
  }
}

/** Finds the rows of both versions that have the same key. Throws for keys that are null or not unique. */
export async function pairRows(
  comparison: Comparison,
  from: ChangedSide,
  to: ChangedSide,
  { all, keys }: ComparedColumns,
): Promise<void> {
  const own = keys.map((key) => all[key]!)
  const before = { side: from, columns: columnsOf(own, 'from') }
  const after = { side: to, columns: columnsOf(own, 'to') }
  const [few, many] = byRows(before, after)
  await eachPartOfKeys(comparison, many, async () => {})
  await eachPartOfKeys(comparison, few, async (part) => {
    for await (const { fragment, rows, hashes } of rowHashes(comparison, many, true)) {
      for (let i = 0; i < rows.length; i++) {
        const found = part.hashed.take(hashes, i * words)
        if (found === undefined) continue
        addRow(fragment.updated, rows[i]!)
        addRow(part.fragments[found]!.updated, part.rows[found]!)
      }
    }
  })
}

/** Calls `visit` with parts of the rows of a version. Throws if a key occurs twice, in different parts, too. */
async function eachPartOfKeys(
  comparison: Comparison,
  compared: ComparedSide,
  visit: (part: RowsPart) => Promise<void>,
): Promise<void> {
  let done = 0
  const total = rowsOf(compared.side)
  const hashesOf = () => rowHashes(comparison, compared, true)
  for await (const part of inParts(hashesOf(), total, comparison.memory)) {
    if (!part.areUnique) throw notUnique(compared.columns)
    done += part.hashed.rows
    let row = 0
    for await (const { rows, hashes } of done < total ? hashesOf() : []) {
      for (let i = 0; i < rows.length; i++) {
        if (row++ >= done && part.hashed.has(hashes, i * words)) throw notUnique(compared.columns)
      }
    }
    await visit(part)
  }
}

function notUnique(columns: readonly SideColumn[]) {
  return invalid(
    `Several changed rows of one version have the same values in ${namesOf(columns)}, so it is unclear which of them was updated. Name columns in on whose values are unique, or leave on out.`,
  )
}

function byRows(from: ComparedSide, to: ComparedSide): readonly [few: ComparedSide, many: ComparedSide] {
  return rowsOf(from.side) <= rowsOf(to.side) ? [from, to] : [to, from]
}

export function rowsOf({ fragments }: Pick<ChangedSide, 'fragments'>): number {
  return fragments.reduce((sum, { count }) => sum + count, 0)
}

function drop({ rows }: ChangedFragment, row: number): void {
  clearRange(rows, row, row + 1)
}

/** Some rows of a version, by their numbers in `hashed`. */
interface RowsPart {
  readonly hashed: HashedRows
  readonly fragments: ChangedFragment[]
  readonly rows: Uint32Array
  areUnique: boolean
}

/** Collects the hashes of rows, so many at a time as are in memory at once. */
async function* inParts(
  hashes: AsyncGenerator<RowHashes>,
  total: number,
  memory: Comparison['memory'],
): AsyncGenerator<RowsPart> {
  let left = total
  let part: RowsPart | undefined
  let held = 0
  let capacity = 0
  try {
    for await (const { fragment, rows, hashes: made } of hashes) {
      for (let i = 0; i < rows.length; i++) {
        if (part === undefined) {
          capacity = Math.min(left, maxRows)
          held = HashedRows.bytesFor(capacity) + capacity * 12
          const taken = memory?.take(held)
          if (taken) await taken
          part = newPart(capacity)
        }
        part.fragments.push(fragment)
        part.rows[part.hashed.rows] = rows[i]!
        if (!part.hashed.add(made, i * words)) part.areUnique = false
        if (part.hashed.rows < capacity) continue
        left -= capacity
        yield part
        memory?.give(held)
        held = 0
        part = undefined
      }
    }
  } finally {
    if (held > 0) memory?.give(held)
  }
}

function newPart(capacity: number): RowsPart {
  return {
    hashed: new HashedRows(capacity),
    fragments: [],
    rows: new Uint32Array(capacity),
    areUnique: true,
  }
}
