/** Browsers render nothing beyond about 16 million pixels. The scroll position of a longer list is scaled. */
const maxPixels = 8_000_000

/** Extra rows before and after the visible ones, so that scrolling a little shows no gap. */
const overscan = 8

export interface Viewport {
  readonly count: number
  readonly rowHeight: number
  /** The height of the visible part. */
  readonly height: number
  readonly scrollTop: number
}

export interface VisibleRows {
  /** The first row to render, and the one after the last. */
  readonly first: number
  readonly end: number
  /** The height of the whole list. */
  readonly totalHeight: number
  /** Row `i` lies at `i * rowHeight + shift`. */
  readonly shift: number
}

/** Which rows of a list are rendered, and where. Their number depends only on the visible height. */
export function visibleRows({ count, rowHeight, height, scrollTop }: Viewport): VisibleRows {
  const long = count * rowHeight
  const totalHeight = Math.min(long, maxPixels)
  const top =
    totalHeight === long ? scrollTop : (scrollTop / Math.max(1, totalHeight - height)) * (long - height)
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - overscan)
  const end = Math.max(first, Math.min(count, Math.ceil((top + height) / rowHeight) + overscan))
  return { first, end, totalHeight, shift: scrollTop - top }
}

/** The scroll position at which a row is visible. Unchanged if it is visible already. */
export function scrollTo(row: number, { count, rowHeight, height, scrollTop }: Viewport): number {
  const long = count * rowHeight
  const totalHeight = Math.min(long, maxPixels)
  const scale = totalHeight === long ? 1 : (long - height) / Math.max(1, totalHeight - height)
  const top = scrollTop * scale
  const wanted = Math.max(Math.min(top, row * rowHeight), (row + 1) * rowHeight - height)
  return Math.max(0, wanted / scale)
}

/** The row that a key moves to; undefined for other keys. */
export function rowByKey(key: string, row: number, count: number, inSight: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: inSight,
    PageUp: -inSight,
    Home: -count,
    End: count,
  }
  const step = Object.hasOwn(steps, key) ? steps[key] : undefined
  return step === undefined ? undefined : Math.max(0, Math.min(count - 1, row + step))
}
