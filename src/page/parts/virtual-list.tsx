import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { rowByKey, scrollTo, visibleRows } from '../model/visible-rows.ts'

interface Props {
  readonly id: string
  readonly label: string
  readonly role: 'listbox' | 'tree'
  readonly count: number
  readonly rowHeight: number
  /** A key that is unique and stays with its item when the item moves. */
  readonly keyOf: (row: number) => string
  /** The row with the keyboard focus. */
  readonly active: number
  readonly onActive: (row: number) => void
  readonly onChoose: (row: number) => void
  /** Handles other keys. Returns whether it did. */
  readonly onKey?: (key: string, row: number) => boolean
  /** Called on each render with the last rows visible. */
  readonly onEnd?: () => void
  readonly attributes: (row: number) => Readonly<Record<string, string | number | boolean | undefined>>
  readonly children: (row: number) => ComponentChildren
}

/** A list of any length. Only visible rows are in the document. The keyboard moves one active row. */
export function VirtualList(props: Props) {
  const {
    id,
    label,
    role,
    count,
    rowHeight,
    keyOf,
    active,
    onActive,
    onChoose,
    onKey,
    onEnd,
    attributes,
    children,
  } = props
  const box = useRef<HTMLDivElement>(null)
  const [scrollTop, setScrollTop] = useState(0)
  const height = useHeight(box)
  const scrolled = { count, rowHeight, height, scrollTop }
  const { first, end, totalHeight, shift } = visibleRows(scrolled)

  useEffect(() => {
    if (end >= count) onEnd?.()
  })

  const show = (row: number) => {
    onActive(row)
    const top = scrollTo(row, scrolled)
    if (box.current) box.current.scrollTop = top
    setScrollTop(top)
  }

  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || count === 0) return
    const next = rowByKey(event.key, active, count, Math.max(1, Math.floor(height / rowHeight) - 1))
    if (next !== undefined) show(next)
    else if (event.key === 'Enter' || event.key === ' ') onChoose(active)
    else if (!onKey?.(event.key, active)) return
    event.preventDefault()
  }

  const rows = Array.from({ length: end - first }, (_, index) => first + index)
  return (
    <div
      ref={box}
      id={id}
      class="virtual"
      role={role}
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={count > 0 && active >= first && active < end ? `${id}-${active}` : undefined}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={keyDown}
      onFocus={() => {
        if (count > 0 && (active < first || active >= end)) show(Math.min(active, count - 1))
      }}
    >
      <div class="virtual-whole" role="presentation" style={{ height: `${totalHeight}px` }}>
        {rows.map((row) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys of all its rows
          <div
            key={keyOf(row)}
            id={`${id}-${row}`}
            role={role === 'tree' ? 'treeitem' : 'option'}
            class={row === active ? 'virtual-row active' : 'virtual-row'}
            style={{ top: `${row * rowHeight + shift}px`, height: `${rowHeight}px` }}
            onClick={() => {
              onActive(row)
              onChoose(row)
            }}
            {...attributes(row)}
          >
            {children(row)}
          </div>
        ))}
      </div>
    </div>
  )
}

/** The height of an element, as it changes. */
function useHeight(box: { readonly current: HTMLElement | null }): number {
  const [height, setHeight] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    setHeight(element.clientHeight)
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return height
}
