import type { DataType } from '@uwdata/flechette'
import { pathIn } from '../../../base/model/relative-path.ts'
import { readCostOf } from '../../../base/scheduling/merge-ranges.ts'
import { canReadRows, valueBuffersOf } from '../../arrow/ipc/row-reader.ts'
import type { ColumnSource } from '../format/column-source.ts'
import { blockBytes } from '../format/file-parts.ts'
import type { FragmentLayout } from '../format/manifest.ts'
import { fileAt, type TableFiles } from '../format/table-schema.ts'
import type { ReadStorage } from '../storage/objects.ts'

/** Rows of a fragment that are read without the others. */
export interface FewRows {
  /** In ascending order. */
  readonly runs: ArrayLike<number>
  readonly rows: number
  /** About the most bytes to read for them. */
  readonly bytes: number
  /** The columns of files of which only these rows are read, by `columnKey`. The others are read as a whole. */
  readonly alone: ReadonlySet<string>
}

/** The key of a column of a file, also in the cache. */
export function columnKey(path: string, index: number): string {
  return `${path}#${index}`
}

/** The file of a fragment that has a column of the table, and where. */
export interface StoredColumn {
  readonly file: ReturnType<typeof fileAt>
  readonly source: ColumnSource
  readonly type: DataType
  /** The key of the column in the cache. */
  readonly key: string
}

/** Where a column of the table is stored in a fragment; undefined for one that is null there. */
export function storedColumn(
  { prefix, schema: { fields, columns } }: TableFiles,
  entry: FragmentLayout,
  index: number,
): StoredColumn | undefined {
  const fits = columns === undefined || columns.fits(entry)
  const location = fits ? { file: 0, source: { index } } : columns.locationsIn(entry)[index]
  if (location === undefined) return undefined
  const { source } = location
  const file = fileAt(entry, location.file)
  const { type } = (fits ? fields : columns.schemaOf(file.layout ?? '').fields)[source.index]!
  return { file, source, type, key: columnKey(pathIn(prefix, file.path), source.index) }
}

/**
 * Selects the columns of a fragment of which only the wanted rows should be read; undefined for none. Cached columns
 * are not read again. Columns that are requested repeatedly are read as a whole and cached, unless `mayLoad` is false.
 */
export function planFewRows(
  storage: ReadStorage,
  table: TableFiles,
  entry: FragmentLayout,
  indices: Iterable<number>,
  { runs, rows }: Pick<FewRows, 'runs' | 'rows'>,
  mayLoad = true,
): FewRows | undefined {
  const alone = new Set<string>()
  let bytes = 0
  for (const index of indices) {
    if (index >= table.schema.fields.length) continue
    const stored = storedColumn(table, entry, index)
    if (stored?.file.blocks === undefined) continue
    const { file, source, type, key } = stored
    const size = file.columns[source.index]![1]
    bytes += size
    if (storage.cache.has(key) || !canReadRows(type)) continue
    const readCost = readCostOf(storage.content)
    const { reads, read } = planReads(size, valueBuffersOf(type), entry.rows, runs, readCost)
    const cost = reads * readCost + read
    if (cost >= size * worthwhile || (mayLoad && storage.cache.shouldLoad(key, size, cost))) continue
    alone.add(key)
    bytes += read - size
  }
  return alone.size === 0 ? undefined : { runs, rows, bytes, alone }
}

/** Part of a column's bytes that reading some rows may cost. It is below 1, since each step takes time, too. */
const worthwhile = 3 / 4

/** About how many reads, and of how many bytes, the rows alone take. Runs near each other are one read. */
function planReads(
  size: number,
  buffers: number,
  rows: number,
  runs: ArrayLike<number>,
  readCost: number,
): { readonly reads: number; readonly read: number } {
  const perRow = size / Math.max(1, rows * buffers)
  const near = readCost / Math.max(perRow, 1 / 8)
  let reads = 0
  let span = 0
  let end = Number.NEGATIVE_INFINITY
  for (let i = 0; i < runs.length; i += 2) {
    if (runs[i]! - end > near) reads++
    else span += runs[i]! - end
    span += runs[i + 1]! - runs[i]!
    end = runs[i + 1]!
  }
  return { reads: buffers * reads, read: buffers * (reads * blockBytes + span * perRow) }
}
