import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { filling, scrollToColumn, visibleColumns } from '../model/visible-columns.ts'
import { visibleRows } from '../model/visible-rows.ts'

export const rowHeight = 28
/** The width of the column with the numbers of rows, in pixels. */
const headWidth = 72

interface Size {
  readonly width: number
  readonly height: number
}

/** A grid that scrolls: its element, and which rows and columns are in sight. */
export function useGrid(
  count: number,
  given: readonly { readonly width: number; readonly isFixed: boolean }[],
  headHeight: number,
) {
  const box = useRef<HTMLDivElement>(null)
  const [scrolled, setScrolled] = useState({ top: 0, left: 0 })
  const size = useSize(box)
  const width = Math.max(0, size.width - headWidth)
  const widths = filling(given, width)
  const rows = visibleRows({
    count,
    rowHeight,
    height: Math.max(0, size.height - headHeight),
    scrollTop: scrolled.top,
  })
  const columns = visibleColumns(widths, scrolled.left, width)
  const showColumn = (column: number) => {
    const { current } = box
    if (current) current.scrollLeft = scrollToColumn(widths, column, current.scrollLeft, width)
  }
  const onScroll = () => {
    const { scrollTop: top = 0, scrollLeft: left = 0 } = box.current ?? {}
    setScrolled((before) => (before.top === top && before.left === left ? before : { top, left }))
  }
  return { box, rows, columns, widths, showColumn, onScroll, headHeight, count }
}

export type GridState = ReturnType<typeof useGrid>

/** The attributes and the content of a cell. */
export interface GridCell {
  readonly class?: string | undefined
  readonly content: ComponentChildren
}

/** Draws the rows and columns of a grid that are in sight. */
export function Grid({
  grid,
  label,
  heads,
  rowHead,
  rowClass,
  cell,
  empty,
}: {
  readonly grid: GridState
  readonly label: string
  /** The rows of the head: a cell for each column, with its attributes. */
  readonly heads: readonly {
    readonly class: string
    readonly first: ComponentChildren
    readonly cell: (column: number) => GridCell & { readonly attributes?: Readonly<Record<string, unknown>> }
  }[]
  readonly rowHead: (row: number) => ComponentChildren
  readonly rowClass?: ((row: number) => string | undefined) | undefined
  readonly cell: (row: number, column: number) => GridCell
  readonly empty: ComponentChildren
}) {
  const { rows, columns, widths, count } = grid
  const shown = Array.from({ length: columns.end - columns.first }, (_, index) => columns.first + index)
  const drawn = Array.from({ length: rows.end - rows.first }, (_, index) => rows.first + index)
  const whole = { width: `${columns.total + headWidth}px` }
  const before = <span role="presentation" class="grid-gap" style={{ width: `${columns.left}px` }} />
  return (
    <div
      ref={grid.box}
      class="grid"
      role="table"
      aria-label={label}
      aria-rowcount={count + heads.length}
      aria-colcount={widths.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
      tabIndex={0}
      onScroll={grid.onScroll}
    >
      <div role="rowgroup" class="grid-head" style={whole}>
        {heads.map(({ class: name, first, cell: headCell }, index) => (
          <div key={index} role="row" class={name} aria-rowindex={index + 1}>
            <span role={index === 0 ? 'columnheader' : 'cell'} class="grid-first" aria-colindex={1}>
              {first}
            </span>
            {before}
            {shown.map((column) => {
              const { attributes, content, class: own } = headCell(column)
              return (
                <span
                  key={column}
                  role={index === 0 ? 'columnheader' : 'cell'}
                  aria-colindex={column + 2}
                  class={own}
                  style={{ width: `${widths[column]}px` }}
                  {...attributes}
                >
                  {content}
                </span>
              )
            })}
          </div>
        ))}
      </div>
      {count === 0 && <div class="faint empty">{empty}</div>}
      <div role="rowgroup" class="grid-whole" style={{ ...whole, height: `${rows.totalHeight}px` }}>
        {drawn.map((row) => (
          <div
            key={row}
            class={`grid-row ${rowClass?.(row) ?? ''}`}
            role="row"
            aria-rowindex={row + 1 + heads.length}
            style={{ top: `${row * rowHeight + rows.shift}px`, height: `${rowHeight}px` }}
          >
            <span role="rowheader" class="grid-first" aria-colindex={1}>
              {rowHead(row)}
            </span>
            {before}
            {shown.map((column) => {
              const { content, class: own } = cell(row, column)
              return (
                <span
                  key={column}
                  role="cell"
                  aria-colindex={column + 2}
                  class={own}
                  style={{ width: `${widths[column]}px` }}
                >
                  {content}
                </span>
              )
            })}
          </div>
        ))}
      </div>
    </div>
  )
}

function useSize(box: { readonly current: HTMLElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return size
}
