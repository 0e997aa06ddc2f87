import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { cellText, decodeRows, maxCharacters } from '../model/rows.ts'
import { shownCount } from '../model/text.ts'
import { visibleRows } from '../model/visible-rows.ts'
import { postForBytes } from '../server.ts'
import { Failure } from './failure.tsx'
import { Text } from './text.tsx'
import { useHeight } from './virtual-list.tsx'

export interface GridColumn {
  readonly name: string
  /** The type without its nested types. */
  readonly type: string
  readonly shownType: string
}

interface Props {
  readonly id: Identifier
  readonly count: number
  readonly columns: readonly GridColumn[]
  /** The query without offset and limit. */
  readonly query: Readonly<Record<string, unknown>>
}

type Row = readonly unknown[]

/** The width of a column, in rem. */
function widthOf(type: string): number {
  if (/^(u?int|float|double|halffloat|bool|date)/.test(type)) return 9
  return /^(string|large_string|timestamp|time|dict|decimal)/.test(type) ? 13 : 18
}

/** The rows of a block, which is one request, and how many blocks are kept. */
const blockRows = 100
const maxBlocks = 30
const rowHeight = 28

/** A grid of rows, which are fetched when they become visible. */
export function RowGrid({ id, count, columns, query }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [scrollTop, setScrollTop] = useState(0)
  const [openedRow, setOpenedRow] = useState<number>()
  const height = useHeight(box)
  const { first, end, totalHeight, shift } = visibleRows({
    count,
    rowHeight,
    height: Math.max(0, height - rowHeight),
    scrollTop,
  })
  const { rowAt, error, again } = useBlocks(id, query, first, end)
  // Widths do not depend on values, so all rows and the header have the same.
  const widths = columns.map(({ type }) => widthOf(type))
  const layout = {
    gridTemplateColumns: `4.5rem ${widths.map((width) => `minmax(${width}rem, ${width}fr)`).join(' ')}`,
    minWidth: `${widths.reduce((sum, width) => sum + width, 4.5)}rem`,
  }
  const drawn = Array.from({ length: end - first }, (_, index) => first + index)
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      <div
        ref={box}
        class="grid"
        role="table"
        aria-label="Rows"
        aria-rowcount={count + 1}
        aria-colcount={columns.length + 1}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        tabIndex={0}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <div class="grid-head" role="row" aria-rowindex={1} style={layout}>
          <span role="columnheader">Row</span>
          {columns.map(({ name, shownType }, index) => (
            <span key={index} role="columnheader" title={shownType}>
              <Text text={name} /> <small class="faint">{shownType}</small>
            </span>
          ))}
        </div>
        {count === 0 && <p class="faint empty">No rows.</p>}
        <div role="rowgroup" class="grid-whole" style={{ height: `${totalHeight}px` }}>
          {drawn.map((row) => (
            <div
              key={row}
              class="grid-row"
              role="row"
              aria-rowindex={row + 2}
              style={{ ...layout, top: `${row * rowHeight + shift}px`, height: `${rowHeight}px` }}
            >
              <span role="rowheader">
                <button
                  type="button"
                  class="plain"
                  onClick={() => setOpenedRow(row)}
                  aria-label={`Row ${row + 1}, show whole`}
                >
                  {shownCount(row + 1)}
                </button>
              </span>
              {columns.map((column, index) => (
                <Cell key={index} row={rowAt(row)} index={index} column={column} />
              ))}
            </div>
          ))}
        </div>
      </div>
      {openedRow !== undefined && (
        <RowDialog
          row={openedRow}
          values={rowAt(openedRow)}
          columns={columns}
          onClose={() => setOpenedRow(undefined)}
        />
      )}
    </>
  )
}

function Cell({
  row,
  index,
  column,
}: {
  readonly row: Row | undefined
  readonly index: number
  readonly column: GridColumn
}) {
  if (row === undefined)
    return (
      <span role="cell" class="faint">
        …
      </span>
    )
  const text = cellText(row[index], column.type)
  if (text === undefined)
    return (
      <span role="cell" class="null">
        null
      </span>
    )
  const isNumber = typeof row[index] === 'number' || typeof row[index] === 'bigint'
  return (
    <span role="cell" class={isNumber ? 'number' : undefined}>
      <Text text={text} />
    </span>
  )
}

function RowDialog({
  row,
  values,
  columns,
  onClose,
}: {
  readonly row: number
  readonly values: Row | undefined
  readonly columns: readonly GridColumn[]
  readonly onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  /** The row when the dialog opened. Another one may have its number by now. */
  const kept = useRef(values)
  kept.current ??= values
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => before?.focus()
  }, [])
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="row-title" onClose={onClose}>
      <h2 id="row-title">Row {shownCount(row + 1)}</h2>
      <dl class="properties">
        {columns.map(({ name, type, shownType }, index) => {
          const text = cellText(kept.current?.[index], type, maxCharacters)
          return (
            <div key={index}>
              <dt>
                <Text text={name} /> <small class="faint">{shownType}</small>
              </dt>
              <dd class="value">
                {kept.current === undefined ? (
                  '…'
                ) : text === undefined ? (
                  <span class="null">null</span>
                ) : (
                  <Text text={text} />
                )}
              </dd>
            </div>
          )
        })}
      </dl>
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  )
}

interface BlockCache {
  /** The query of `blocks`. */
  readonly what: string
  readonly blocks: Map<number, readonly Row[]>
  readonly older: Map<number, readonly Row[]>
}

/** The visible blocks of rows, and some recent ones. */
function useBlocks(id: Identifier, query: Readonly<Record<string, unknown>>, first: number, end: number) {
  const what = JSON.stringify(query)
  const cache = useRef<BlockCache>({ what, blocks: new Map(), older: new Map() })
  // After a change of the query, the old rows stay visible until the new ones are there.
  if (cache.current.what !== what) {
    const { blocks, older } = cache.current
    cache.current = { what, blocks: new Map(), older: blocks.size > 0 ? blocks : older }
  }
  const [error, setError] = useState<unknown>()
  const [round, draw] = useState(0)
  const from = Math.floor(first / blockRows)
  const to = Math.floor(Math.max(first, end - 1) / blockRows)
  useEffect(() => {
    if (end === first) return undefined
    const controller = new AbortController()
    const { signal } = controller
    const { blocks, older } = cache.current
    // Debounced: rows that are only scrolled past are not fetched.
    const timer = setTimeout(async () => {
      try {
        for (let block = from; block <= to; block++) {
          if (blocks.has(block)) continue
          const body = { ...query, offset: block * blockRows, limit: blockRows }
          const { rows } = decodeRows(await postForBytes(id, 'query', { body, signal }))
          blocks.set(block, rows)
          older.delete(block)
          const [oldest] = blocks.keys()
          if (blocks.size > maxBlocks) blocks.delete(oldest!)
          setError(undefined)
          draw((times) => times + 1)
        }
      } catch (failure) {
        if (!signal.aborted) setError(failure)
      }
    }, 60)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [what, from, to, end === first, error === undefined ? 0 : round])
  return {
    rowAt: (row: number): Row | undefined => {
      const { blocks, older } = cache.current
      const block = Math.floor(row / blockRows)
      return (blocks.get(block) ?? older.get(block))?.[row % blockRows]
    },
    error,
    again: () => draw((times) => times + 1),
  }
}
