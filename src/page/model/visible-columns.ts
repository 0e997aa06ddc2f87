/** Extra pixels of columns at both sides of the visible ones, so that scrolling a little shows no gap. */
const overscan = 300

export interface VisibleColumns {
  /** The first column to render, and the one after the last. */
  readonly first: number
  readonly end: number
  /** Where the first one begins, and how wide all are together, in pixels. */
  readonly left: number
  readonly total: number
}

/** Which columns are rendered. Their number depends on the visible width only. */
export function visibleColumns(widths: readonly number[], scrollLeft: number, width: number): VisibleColumns {
  const [from, to] = [scrollLeft - overscan, scrollLeft + width + overscan]
  let [first, end, left, total] = [0, 0, 0, 0]
  for (const [index, own] of widths.entries()) {
    const right = total + own
    if (right <= from) {
      first = index + 1
      left = right
    }
    if (total < to) end = index + 1
    total = right
  }
  return { first: Math.min(first, end), end, left, total }
}

/** Widens the columns that were not resized, each by the same part, until all fill `available`. */
export function filling(
  columns: readonly { readonly width: number; readonly isFixed: boolean }[],
  available: number,
): number[] {
  const total = columns.reduce((sum, { width }) => sum + width, 0)
  const free = columns.reduce((sum, { width, isFixed }) => sum + (isFixed ? 0 : width), 0)
  const factor = free > 0 && total < available ? 1 + (available - total) / free : 1
  return columns.map(({ width, isFixed }) => (isFixed ? width : Math.floor(width * factor)))
}

/** The scroll position at which a column is visible. Unchanged if it is visible already. */
export function scrollToColumn(
  widths: readonly number[],
  column: number,
  scrollLeft: number,
  width: number,
): number {
  const left = widths.slice(0, column).reduce((sum, own) => sum + own, 0)
  return Math.max(0, Math.max(Math.min(scrollLeft, left), left + (widths[column] ?? 0) - width))
}

/** The width of a column that was not resized, in pixels: its values and the most of its name have room. */
export function ownWidth(name: string, type: string, shownType: string): number {
  const forName = Math.min(220, 62 + Math.min(name.length, 24) * 7.6)
  const forType = Math.min(180, 30 + shownType.length * 6)
  return Math.ceil(Math.max(valueWidth(type), forName, forType))
}

/** How many digits a moment has behind the second. */
function momentDigits(type: string): number {
  return /:s:/.test(type) ? 0 : /:ms:/.test(type) ? 3 : /:us:/.test(type) ? 6 : 9
}

function valueWidth(type: string): number {
  if (/^timestamp:/.test(type)) return 196 + momentDigits(type) * 9.5
  if (/^(?:u?int(?:8|16|32)|float|halffloat|bool|date32)/.test(type)) return 116
  if (/^(?:u?int64|double|date64|time|duration)/.test(type)) return 140
  return /^(?:string|large_string|dict|decimal)/.test(type) ? 190 : 260
}
