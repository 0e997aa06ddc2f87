/** Browsers draw nothing beyond some 16 million pixels. A longer list is scrolled in proportion. */
const mostPixels = 8_000_000

/** Rows drawn before and after those in sight, so that scrolling a little shows no gap. */
const beyond = 8

export interface Scrolled {
  readonly count: number
  readonly rowHeight: number
  /** The height of the part in sight. */
  readonly height: number
  readonly scrollTop: number
}

export interface VisibleRows {
  /** The first row to draw, and the one after the last. */
  readonly first: number
  readonly end: number
  /** The height of the whole list. */
  readonly whole: number
  /** Row `i` lies at `i * rowHeight + shift`. */
  readonly shift: number
}

/** Which rows of a list are drawn, and where. Their number depends on the height in sight alone. */
export function visibleRows({ count, rowHeight, height, scrollTop }: Scrolled): VisibleRows {
  const long = count * rowHeight
  const whole = Math.min(long, mostPixels)
  const top = whole === long ? scrollTop : (scrollTop / Math.max(1, whole - height)) * (long - height)
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight)) - beyond)
  const end = Math.max(first, Math.min(count, Math.ceil((top + height) / rowHeight) + beyond))
  return { first, end, whole, shift: scrollTop - top }
}

/** How far to scroll so that a row is in sight. It is as far as now if it is. */
export function scrollTo(row: number, { count, rowHeight, height, scrollTop }: Scrolled): number {
  const long = count * rowHeight
  const whole = Math.min(long, mostPixels)
  const scale = whole === long ? 1 : (long - height) / Math.max(1, whole - height)
  const top = scrollTop * scale
  const wanted = Math.max(Math.min(top, row * rowHeight), (row + 1) * rowHeight - height)
  return Math.max(0, wanted / scale)
}

/** The row that a key leads to from another one; undefined for keys that lead nowhere. */
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
