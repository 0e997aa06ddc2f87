import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { plainText } from '../model/text.ts'
import { MiddleText } from './middle-text.tsx'

/** What a reader does to a column. */
export interface ColumnActs {
  readonly sort: (direction: Direction | undefined, isFurther: boolean) => void
  /** Sorts the other way, or no longer. */
  readonly turn: (isFurther: boolean) => void
  /** Moves the column by so many places. */
  readonly step: (places: number) => void
  /** Moves the column to the place of the one with this index. */
  readonly moveTo: (index: number) => void
  readonly resize: (width: number | undefined) => void
  readonly hide: () => void
}

export type Direction = 'ascending' | 'descending'

interface Props extends ColumnActs {
  readonly name: string
  readonly shownType: string
  readonly index: number
  readonly width: number
  readonly direction: Direction | undefined
  /** The place among several keys of an order, from 1. */
  readonly place: number | undefined
}

/** How far a key widens a column, and how far a pointer moves before it drags, in pixels. */
const [keyStep, dragFrom] = [24, 6]

/** The head of a column: it sorts, and is dragged to move or resize the column. Its menu does the same. */
export function ColumnHead(props: Props) {
  const { name, shownType, index, width, direction, place, turn, step, resize } = props
  const drag = useDrag(props)
  const onKeyDown = (event: KeyboardEvent) => {
    const side = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (side === 0 || event.altKey === event.shiftKey) return
    event.preventDefault()
    if (event.altKey) step(side)
    else resize(width + side * keyStep)
  }
  return (
    <span class="column-head" data-column={index} onPointerDown={drag.onPointerDown}>
      <button
        type="button"
        class="column-name"
        title={`${plainText(name)}\n${plainText(shownType)}`}
        onClick={(event) => !drag.isOver() && turn(event.shiftKey)}
        onKeyDown={onKeyDown}
      >
        <MiddleText text={name} />
        {direction && (
          <span class="sort-mark" aria-hidden="true">
            {direction === 'ascending' ? '▲' : '▼'}
            {place !== undefined && <small>{place}</small>}
          </span>
        )}
        <small class="faint">{shownType}</small>
      </button>
      <ColumnMenu {...props} />
      <span
        class="column-edge"
        aria-hidden="true"
        onPointerDown={(event) => dragWidth(event, width, resize)}
        onDblClick={() => resize(undefined)}
      />
    </span>
  )
}

/** Follows a pointer from a press to its release. */
function follow(event: PointerEvent, move: (moved: PointerEvent) => void, end: () => void): void {
  const target = event.currentTarget as HTMLElement
  const controller = new AbortController()
  const { signal } = controller
  const stop = () => {
    controller.abort()
    end()
  }
  target.setPointerCapture(event.pointerId)
  target.addEventListener('pointermove', move, { signal })
  target.addEventListener('pointerup', stop, { signal })
  target.addEventListener('pointercancel', stop, { signal })
}

function dragWidth(event: PointerEvent, width: number, resize: (width: number) => void): void {
  if (event.button !== 0) return
  event.preventDefault()
  event.stopPropagation()
  const from = event.clientX
  follow(
    event,
    (moved) => resize(width + moved.clientX - from),
    () => {},
  )
}

/** Drags a head to the place of another one. */
function useDrag({ moveTo, index }: Props) {
  const over = useRef(false)
  const onPointerDown = (event: PointerEvent) => {
    over.current = false
    // A finger scrolls; the menu moves columns there.
    if (event.button !== 0 || event.pointerType === 'touch') return
    if ((event.target as HTMLElement).closest('.column-menu, .column-edge')) return
    const head = event.currentTarget as HTMLElement
    const from = event.clientX
    let place = index
    const begin = (moved: PointerEvent) => {
      if (!over.current && Math.abs(moved.clientX - from) < dragFrom) return
      over.current = true
      head.classList.add('dragged')
      const found = document.elementFromPoint(moved.clientX, moved.clientY)?.closest('[data-column]')
      place = Number((found as HTMLElement | null)?.dataset.column ?? place)
      markPlace(head, place)
    }
    const controller = new AbortController()
    const { signal } = controller
    const end = () => {
      controller.abort()
      head.classList.remove('dragged')
      markPlace(head, undefined)
      if (over.current && place !== index) moveTo(place)
    }
    window.addEventListener('pointermove', begin, { signal })
    window.addEventListener('pointerup', end, { signal })
    window.addEventListener('pointercancel', end, { signal })
  }
  return { onPointerDown, isOver: () => over.current }
}

/** Marks the head whose place a dragged one would take. */
function markPlace(head: HTMLElement, place: number | undefined): void {
  for (const other of head.closest('.grid-head')?.querySelectorAll<HTMLElement>('[data-column]') ?? [])
    other.classList.toggle('target', other !== head && other.dataset.column === String(place))
}

/** The menu of a column. It does by keyboard and finger what dragging does. */
function ColumnMenu({ name, width, direction, sort, step, resize, hide }: Props) {
  const [at, setAt] = useState<{ readonly top: number; readonly left: number }>()
  const button = useRef<HTMLButtonElement>(null)
  const menu = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => menu.current?.querySelector<HTMLElement>('button')?.focus(), [at !== undefined])
  const acts: readonly (readonly [string, () => void])[] = [
    ['Sort ascending', () => sort('ascending', false)],
    ['Sort descending', () => sort('descending', false)],
    ['Then by this, ascending', () => sort('ascending', true)],
    ['Then by this, descending', () => sort('descending', true)],
    ...(direction ? [['Do not sort by this', () => sort(undefined, true)] as const] : []),
    ['Move to the left', () => step(-1)],
    ['Move to the right', () => step(1)],
    ['Wider', () => resize(width + 2 * keyStep)],
    ['Narrower', () => resize(width - 2 * keyStep)],
    ['Its own width', () => resize(undefined)],
    ['Hide', hide],
  ]
  const close = () => {
    setAt(undefined)
    button.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' || event.key === 'Tab') close()
    const items = [...(menu.current?.querySelectorAll<HTMLElement>('button') ?? [])]
    const side = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (side === 0) return
    event.preventDefault()
    const from = items.indexOf(document.activeElement as HTMLElement)
    items[(from + side + items.length) % items.length]?.focus()
  }
  return (
    <span class="column-menu">
      <button
        ref={button}
        type="button"
        aria-haspopup="menu"
        aria-expanded={at !== undefined}
        aria-label={`What to do with ${plainText(name)}`}
        onClick={() => setAt(at ? undefined : placeBelow(button.current!))}
      >
        ⋮
      </button>
      {at && (
        <div
          ref={menu}
          role="menu"
          tabIndex={-1}
          aria-label={plainText(name)}
          class="menu"
          style={{ top: `${at.top}px`, left: `${at.left}px` }}
          onKeyDown={onKeyDown}
          onFocusOut={(event) => {
            if (!menu.current?.contains(event.relatedTarget as Node | null)) setAt(undefined)
          }}
        >
          {acts.map(([text, act]) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                close()
                act()
              }}
            >
              {text}
            </button>
          ))}
        </div>
      )}
    </span>
  )
}

/** The size that a menu takes at most, in pixels. */
const menuSize = { width: 200, height: 350 }

function placeBelow(button: HTMLElement): { top: number; left: number } {
  const { bottom, right } = button.getBoundingClientRect()
  return {
    top: Math.max(0, Math.min(bottom, window.innerHeight - menuSize.height)),
    left: Math.max(4, right - menuSize.width),
  }
}
