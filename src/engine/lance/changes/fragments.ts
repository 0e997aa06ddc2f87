import { CatalogError } from '../../../base/errors.ts'
import { addRow, allRows, type Bitmap, isEmpty, noRows, subtract } from '../../arrow/bitmap.ts'
import { ChangedFragment } from '../../table/changes/changed-side.ts'
import type { ComparedColumns } from '../../table/changes/compared-columns.ts'

/** What a manifest says of a version, as far as a comparison of two versions needs it. */
export interface DatasetLayout {
  /** In the order in which their rows are read. */
  readonly fragments: readonly DatasetFragment[]
  /** What identifies each column, by name: two versions with the same have the same values in the same files. */
  readonly columns: ReadonlyMap<string, string>
}

/** A fragment of a version. */
export interface DatasetFragment {
  /** The upper half of the addresses of its rows. */
  readonly id: number
  /** Its rows, with those that were deleted. */
  readonly rows: number
  readonly deleted: number
  /** What identifies the files of its columns. */
  readonly files: string
  /** What identifies its deleted rows. */
  readonly deletions: string
}

/** A fragment of Lance, and its rows that the other version may not have. */
export class LanceFragment extends ChangedFragment {
  readonly id: number
  readonly total: number
  /** How many rows of the version are read before its first one. */
  readonly before: number
  /** The rows that were not deleted. */
  readonly live: Bitmap

  constructor({ fragment, before }: PlacedFragment, live: Bitmap, rows: Bitmap) {
    super(fragment.rows, rows)
    this.id = fragment.id
    this.total = fragment.rows
    this.before = before
    this.live = live
  }
}

/** A fragment, and how many rows of the version are read before it. */
interface PlacedFragment {
  readonly fragment: DatasetFragment
  readonly before: number
}

/** A version, as its fragments are compared. */
export interface ComparedDataset {
  readonly layout: DatasetLayout
  /** What errors call it. */
  readonly shown: string
  /** How many rows Lance counts. */
  readonly rows: number
  /** The addresses of so many rows from a position on, each as its lower and its upper half. */
  addresses(from: number, count: number): AsyncIterable<Uint32Array>
}

/**
 * The rows of each of two versions that the other one may not have. Fragments that both have with the same deletions are
 * not read. Of those with other deletions, the addresses of the rows are read.
 */
export async function changedLanceFragments(
  from: ComparedDataset,
  to: ComparedDataset,
  columns: ComparedColumns,
): Promise<{ readonly from: readonly LanceFragment[]; readonly to: readonly LanceFragment[] }> {
  const [before, after] = [placed(from), placed(to)]
  const shared = haveSameColumns(from, to, columns) ? sharedFragments(before, after) : new Map()
  const removed: LanceFragment[] = []
  const handled = new Set<PlacedFragment>()
  const inserted = new Map<PlacedFragment, LanceFragment>()
  for (const one of before) {
    const same: PlacedFragment | undefined = shared.get(one.fragment.files)
    if (same?.fragment.deletions === one.fragment.deletions) {
      handled.add(same)
      continue
    }
    const then = await liveRows(from, one)
    if (same === undefined) {
      removed.push(new LanceFragment(one, then, then.slice()))
      continue
    }
    const now = await liveRows(to, same)
    const gone = without(then, now, one.fragment.rows)
    if (!isEmpty(gone)) removed.push(new LanceFragment(one, then, gone))
    const come = without(now, then, one.fragment.rows)
    handled.add(same)
    if (!isEmpty(come)) inserted.set(same, new LanceFragment(same, now, come))
  }
  const added: LanceFragment[] = []
  for (const one of after) {
    const known = inserted.get(one)
    if (known) added.push(known)
    if (handled.has(one)) continue
    const live = await liveRows(to, one)
    added.push(new LanceFragment(one, live, live.slice()))
  }
  return { from: removed, to: added }
}

/** The fragments of a version in their order. Fails where the manifest does not tell how many rows there are. */
function placed({ layout, rows, shown }: ComparedDataset): PlacedFragment[] {
  let before = 0
  const all = layout.fragments.map((fragment) => {
    const one = { fragment, before }
    before += fragment.rows - fragment.deleted
    return one
  })
  if (before === rows) return all
  throw new CatalogError(
    'InvalidTableState',
    `The manifest of ${shown} does not tell how many rows each fragment has, as an early release of Lance wrote it. Optimize the table, and compare later versions.`,
  )
}

function haveSameColumns(from: ComparedDataset, to: ComparedDataset, { all }: ComparedColumns): boolean {
  return all.every(({ field, from: index }) => {
    const now = to.layout.columns.get(field.name)
    return index !== undefined && now !== undefined && from.layout.columns.get(field.name) === now
  })
}

/** The fragments of the later version whose files the earlier one has, too, by what identifies the files. */
function sharedFragments(
  before: readonly PlacedFragment[],
  after: readonly PlacedFragment[],
): Map<string, PlacedFragment> {
  const shared = new Map(after.map((one) => [one.fragment.files, one]))
  // If a version has the same files twice, both are read.
  for (const all of [before, after]) {
    const seen = new Set<string>()
    for (const { fragment } of all) {
      if (seen.has(fragment.files)) shared.delete(fragment.files)
      seen.add(fragment.files)
    }
  }
  return shared
}

function without(rows: Bitmap, others: Bitmap, total: number): Bitmap {
  const rest = noRows(total)
  subtract(rows, others, rest, rest.length)
  return rest
}

/** The rows of a fragment that are not deleted. */
async function liveRows(dataset: ComparedDataset, { fragment, before }: PlacedFragment): Promise<Bitmap> {
  if (fragment.deleted === 0) return allRows(fragment.rows)
  const live = noRows(fragment.rows)
  const count = fragment.rows - fragment.deleted
  let found = 0
  if (count > 0) {
    for await (const addresses of dataset.addresses(before, count)) {
      for (let i = 0; i < addresses.length; i += 2) {
        if (addresses[i + 1] !== fragment.id || addresses[i]! >= fragment.rows) throw unlikeManifest(dataset)
        addRow(live, addresses[i]!)
        found++
      }
    }
  }
  if (found !== count) throw unlikeManifest(dataset)
  return live
}

/** The error where Lance reads other rows than the manifest says. */
export function unlikeManifest({ shown }: Pick<ComparedDataset, 'shown'>): CatalogError {
  return new CatalogError(
    'InvalidTableState',
    `Lance reads other rows of ${shown} than its manifest says. Its files are damaged, or newer than the installed package @lancedb/lancedb. Install a newer one, or compare other versions.`,
  )
}
