import type { Identifier } from '../../base/model/identifier.ts'

/** One key of an order of rows. */
export interface SortKey {
  readonly column: string
  readonly descending: boolean
}

/** How a reader has arranged the columns of a table. Names of columns that are gone do no harm. */
export interface ColumnLayout {
  /** Widths in pixels of the columns that were resized. */
  readonly widths: Readonly<Record<string, number>>
  readonly hidden: readonly string[]
  /** All columns in order, if some were moved. */
  readonly order: readonly string[]
  readonly sort: readonly SortKey[]
  /** The columns that tell rows apart where versions are compared. */
  readonly keys: readonly string[]
}

export const plainLayout: ColumnLayout = { widths: {}, hidden: [], order: [], sort: [], keys: [] }

/** The narrowest and the widest column, in pixels. */
export const [minWidth, maxWidth] = [56, 1_600]
/** The most keys of an order. */
const maxSort = 4

/** The columns in the order of a layout, hidden ones too. New columns come last. */
export function orderedColumns<T extends { readonly name: string }>(
  columns: readonly T[],
  { order }: ColumnLayout,
): readonly T[] {
  if (order.length === 0) return columns
  const places = new Map(order.map((name, place) => [name, place]))
  const placeOf = ({ name }: T) => places.get(name) ?? order.length
  return columns
    .map((column, index) => ({ column, index }))
    .sort((a, b) => placeOf(a.column) - placeOf(b.column) || a.index - b.index)
    .map(({ column }) => column)
}

/** The columns to show, in order. At least one is shown. */
export function shownColumns<T extends { readonly name: string }>(
  columns: readonly T[],
  layout: ColumnLayout,
): readonly T[] {
  const hidden = new Set(layout.hidden)
  const ordered = orderedColumns(columns, layout)
  const shown = ordered.filter(({ name }) => !hidden.has(name))
  return shown.length > 0 ? shown : ordered.slice(0, 1)
}

/** Moves a column to the place of another one, behind it if it comes from before. */
export function moved(
  layout: ColumnLayout,
  columns: readonly { readonly name: string }[],
  name: string,
  place: string,
): ColumnLayout {
  const order = orderedColumns(columns, layout).map((column) => column.name)
  const [from, to] = [order.indexOf(name), order.indexOf(place)]
  if (from < 0 || to < 0 || from === to) return layout
  order.splice(from, 1)
  order.splice(to, 0, name)
  return { ...layout, order }
}

/** Gives a column a width in pixels; undefined gives back its own. */
export function resized(layout: ColumnLayout, name: string, width: number | undefined): ColumnLayout {
  const { [name]: _, ...others } = layout.widths
  if (width === undefined) return { ...layout, widths: others }
  // A name such as `__proto__` becomes a member like others.
  return { ...layout, widths: { ...others, [name]: bounded(Math.round(width)) } }
}

/** The width that a column was given, in pixels. */
export function givenWidth({ widths }: ColumnLayout, name: string): number | undefined {
  return Object.hasOwn(widths, name) ? widths[name] : undefined
}

function bounded(width: number): number {
  return Math.min(maxWidth, Math.max(minWidth, width))
}

export function hidden(layout: ColumnLayout, name: string, isHidden: boolean): ColumnLayout {
  const rest = layout.hidden.filter((other) => other !== name)
  return { ...layout, hidden: isHidden ? [...rest, name] : rest }
}

/** The direction of a column: undefined for none. */
export function directionOf({ sort }: ColumnLayout, name: string): 'ascending' | 'descending' | undefined {
  const key = sort.find(({ column }) => column === name)
  return key && (key.descending ? 'descending' : 'ascending')
}

/** Sorts by a column, alone or after others; `undefined` takes it away. */
export function sorted(
  layout: ColumnLayout,
  column: string,
  direction: 'ascending' | 'descending' | undefined,
  isFurther = false,
): ColumnLayout {
  const key = direction && { column, descending: direction === 'descending' }
  const at = layout.sort.findIndex((other) => other.column === column)
  if (!isFurther) return { ...layout, sort: key ? [key] : layout.sort.filter((_, index) => index !== at) }
  const sort = [...layout.sort]
  if (at >= 0) sort.splice(at, 1, ...(key ? [key] : []))
  else if (key) sort.push(key)
  return { ...layout, sort: sort.slice(0, maxSort) }
}

/** The next direction when a header is chosen again: ascending, descending, none. */
export function nextDirection(direction: ReturnType<typeof directionOf>): ReturnType<typeof directionOf> {
  return direction === undefined ? 'ascending' : direction === 'ascending' ? 'descending' : undefined
}

/** The most tables whose layouts are kept, and the most characters of them all. */
const [maxTables, maxCharacters] = [50, 200_000]

type Entry = readonly [table: string, layout: ColumnLayout]

/** Reads kept layouts, latest first. What is broken is left out. */
function entriesOf(text: string | null): Entry[] {
  if (text === null || text.length > maxCharacters) return []
  try {
    const parsed: unknown = JSON.parse(text)
    if (!Array.isArray(parsed)) return []
    return parsed.flatMap((entry: unknown): Entry[] => {
      const [table, layout] = Array.isArray(entry) ? (entry as unknown[]) : []
      return typeof table === 'string' ? [[table, layoutOf(layout)]] : []
    })
  } catch {
    return []
  }
}

/** A layout of what was kept, whatever that is. */
function layoutOf(given: unknown): ColumnLayout {
  const { widths, hidden, order, sort, keys } = record(given)
  const kept = Object.entries(record(widths)).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
  )
  return {
    widths: Object.fromEntries(kept.map(([name, width]) => [name, bounded(width)])),
    hidden: texts(hidden),
    order: texts(order),
    sort: list(sort)
      .map(record)
      .filter(({ column }) => typeof column === 'string')
      .map(({ column, descending }) => ({ column: column as string, descending: descending === true }))
      .slice(0, maxSort),
    keys: texts(keys),
  }
}

function record(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : {}
}

function list(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : []
}

function texts(given: unknown): readonly string[] {
  return [...new Set(list(given).filter((item) => typeof item === 'string'))]
}

/** The kept layout of a table. */
export function keptLayout(kept: string | null, id: Identifier): ColumnLayout {
  const table = JSON.stringify(id)
  return entriesOf(kept).find(([name]) => name === table)?.[1] ?? plainLayout
}

/** What to keep after a layout changed. The tables that were arranged longest ago make room. */
export function withLayout(kept: string | null, id: Identifier, layout: ColumnLayout): string {
  const table = JSON.stringify(id)
  const others = entriesOf(kept).filter(([name]) => name !== table)
  const isPlain = JSON.stringify(layout) === JSON.stringify(plainLayout)
  const entries: Entry[] = [...(isPlain ? [] : [[table, layout] as const]), ...others].slice(0, maxTables)
  let text = JSON.stringify(entries)
  while (text.length > maxCharacters) {
    entries.pop()
    text = JSON.stringify(entries)
  }
  return text
}
