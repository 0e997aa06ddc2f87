import { bitsOf } from '../../arrow/bitmap.ts'
import type { LanceFragment } from './fragments.ts'

/** Positions of a version from `start` up to `end` that are read at once. */
export interface Span {
  readonly start: number
  readonly end: number
  /** How many changed rows are among them, and of which fragments. */
  readonly rows: number
  readonly fragments: readonly LanceFragment[]
}

/** Rows between changed ones that are read with them: a request of its own takes as long. */
const gap = 4_096

/** Most fragments of a span. */
const mostFragments = 10_000

/** The positions of the changed rows. Those that are near to each other are read at once. */
export function* spansOf(fragments: readonly LanceFragment[]): Generator<Span> {
  let open: { start: number; end: number; rows: number; fragments: LanceFragment[] } | undefined
  for (const fragment of fragments) {
    for (const { start, end, rows } of changedWords(fragment)) {
      if (open && start - open.end <= gap && open.fragments.length < mostFragments) {
        open.end = end
        open.rows += rows
        if (open.fragments.at(-1) !== fragment) open.fragments.push(fragment)
      } else {
        if (open) yield open
        open = { start, end, rows, fragments: [fragment] }
      }
    }
  }
  if (open) yield open
}

/** The positions of the changed rows of each word of a bitmap. */
function* changedWords({
  before,
  rows,
  live,
}: LanceFragment): Generator<{ start: number; end: number; rows: number }> {
  let at = before
  for (let q = 0; q < rows.length; q++) {
    const [changed, there] = [rows[q]!, live[q]!]
    if (changed !== 0) {
      const last = 31 - Math.clz32(changed)
      // The lower bits, without the shift by 32 that would do nothing.
      const first = at + bitsOf(there & ((changed & -changed) - 1))
      const end = at + bitsOf(last === 31 ? there : there & ((1 << (last + 1)) - 1))
      yield { start: first, end, rows: bitsOf(changed) }
    }
    at += bitsOf(there)
  }
}
