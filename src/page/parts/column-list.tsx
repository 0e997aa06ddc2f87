import { useRef, useState } from 'preact/hooks'
import {
  type ColumnLayout,
  hidden,
  moved,
  orderedColumns,
  plainLayout,
  shownColumns,
} from '../model/column-layout.ts'
import { plainText, shownCount } from '../model/text.ts'
import { MiddleText } from './middle-text.tsx'
import type { GridColumn } from './row-grid.tsx'

/** The most columns that are listed at once. A search finds the others. */
const maxListed = 200

/** The button Columns, and the list that shows, hides and moves them. */
export function ColumnList({
  columns,
  layout,
  onLayout,
}: {
  readonly columns: readonly GridColumn[]
  readonly layout: ColumnLayout
  readonly onLayout: (layout: ColumnLayout) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const [searched, setSearched] = useState('')
  const button = useRef<HTMLButtonElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const ordered = orderedColumns(columns, layout)
  const isHidden = new Set(layout.hidden)
  const wanted = searched.toLowerCase()
  const found = ordered.filter(({ name }) => name.toLowerCase().includes(wanted))
  const shown = shownColumns(columns, layout).length
  const isPlain = JSON.stringify({ ...layout, keys: [] }) === JSON.stringify(plainLayout)
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <div
      class="column-list"
      onKeyDown={(event) => event.key === 'Escape' && close()}
      onFocusOut={(event) => {
        const next = event.relatedTarget as Node | null
        if (next && !event.currentTarget.contains(next)) setOpen(false)
      }}
    >
      <button ref={button} type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Columns{' '}
        <span class="faint">
          {shown === columns.length
            ? shownCount(shown)
            : `${shownCount(shown)} of ${shownCount(columns.length)}`}
        </span>
      </button>
      {isOpen && (
        <div ref={box} class="panel" role="group" aria-label="Columns to show">
          <input
            type="search"
            aria-label="Search columns"
            placeholder="Search columns"
            value={searched}
            onInput={(event) => setSearched(event.currentTarget.value)}
          />
          <ul>
            {found.slice(0, maxListed).map(({ name, shownType }) => {
              const at = ordered.findIndex((column) => column.name === name)
              return (
                <li key={name}>
                  <label title={plainText(name)}>
                    <input
                      type="checkbox"
                      checked={!isHidden.has(name)}
                      onChange={() => onLayout(hidden(layout, name, !isHidden.has(name)))}
                    />
                    <MiddleText text={name} />
                    <small class="faint">{shownType}</small>
                  </label>
                  <button
                    type="button"
                    class="plain"
                    disabled={at === 0}
                    aria-label={`Move ${plainText(name)} to the front`}
                    title="To the front"
                    onClick={() => onLayout(moved(layout, columns, name, ordered[0]!.name))}
                  >
                    ⇤
                  </button>
                </li>
              )
            })}
          </ul>
          {found.length === 0 && <p class="faint">No column has this in its name.</p>}
          {found.length > maxListed && (
            <p class="faint">{shownCount(found.length - maxListed)} more: search for them.</p>
          )}
          <div class="actions">
            <button
              type="button"
              onClick={() => onLayout({ ...layout, hidden: [] })}
              disabled={layout.hidden.length === 0}
            >
              Show all
            </button>
            <button
              type="button"
              onClick={() => onLayout({ ...layout, hidden: ordered.slice(1).map(({ name }) => name) })}
            >
              Hide all but one
            </button>
            <button
              type="button"
              disabled={isPlain}
              onClick={() => onLayout({ ...plainLayout, keys: layout.keys })}
            >
              As they were
            </button>
          </div>
        </div>
      )}
    </div>
  )
}
