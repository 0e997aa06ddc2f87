import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { announce, useChanged } from '../hooks.ts'
import type { ColumnFilter, FilterRow } from '../model/column-filter.ts'
import {
  type ColumnLayout,
  directionOf,
  givenWidth,
  hidden,
  moved,
  nextDirection,
  resized,
  shownColumns,
  sorted,
} from '../model/column-layout.ts'
import { columnPath } from '../model/schema.ts'
import { plainText, shownCount } from '../model/text.ts'
import { ownWidth } from '../model/visible-columns.ts'
import { type ColumnActs, ColumnHead } from './column-head.tsx'
import { Failure } from './failure.tsx'
import { FilterCell } from './filter-cell.tsx'
import { Grid, useGrid } from './grid.tsx'
import { useBlocks } from './row-blocks.ts'
import { RowDialog } from './row-dialog.tsx'
import { valueCell } from './value.tsx'

export interface GridColumn {
  readonly name: string
  /** The type without its nested types. */
  readonly type: string
  readonly shownType: string
}

interface Props {
  readonly id: Identifier
  readonly count: number
  /** All columns of the table. */
  readonly columns: readonly GridColumn[]
  readonly layout: ColumnLayout
  readonly onLayout: (layout: ColumnLayout) => void
  /** The query without columns, order, offset and limit. */
  readonly query: Readonly<Record<string, unknown>>
  readonly filterRow: FilterRow
  readonly onFilter: (name: string, filter: ColumnFilter | undefined) => void
}

/** The height of the head with its filters, in pixels. */
const headHeight = 76

/** A grid of rows, which are fetched when they become visible. */
export function RowGrid(props: Props) {
  const { id, count, columns: all, layout, query: given, filterRow, onFilter } = props
  const [openedRow, setOpenedRow] = useState<number>()
  const columns = shownColumns(all, layout)
  const grid = useGrid(
    count,
    columns.map(({ name, type, shownType }) => {
      const width = givenWidth(layout, name)
      return { width: width ?? ownWidth(name, type, shownType), isFixed: width !== undefined }
    }),
    headHeight,
  )
  const query = { ...given, order_by: orderBy(layout, all) }
  const { at, error, again } = useBlocks(id, query, columns, grid)
  // Other rows begin at their first one.
  useChanged(JSON.stringify([given.filter, query.order_by]), () => grid.box.current?.scrollTo({ top: 0 }))
  const acts = (index: number) => actsOf(props, columns, index, grid.showColumn)
  return (
    <>
      {error !== undefined && <Failure error={error} again={again} />}
      <Grid
        grid={grid}
        label="Rows"
        empty={filterRow.rest || filterRow.filters.size > 0 ? 'No rows match.' : 'No rows.'}
        heads={[
          {
            class: 'grid-names',
            first: 'Row',
            cell: (index) => {
              const { name, shownType } = columns[index]!
              const direction = directionOf(layout, name)
              const place = layout.sort.findIndex(({ column }) => column === name)
              return {
                attributes: { 'aria-sort': direction },
                content: (
                  <ColumnHead
                    name={name}
                    shownType={shownType}
                    index={index}
                    width={grid.widths[index]!}
                    direction={direction}
                    place={layout.sort.length > 1 && place >= 0 ? place + 1 : undefined}
                    {...acts(index)}
                  />
                ),
              }
            },
          },
          {
            class: 'grid-filters',
            first: <span class="unseen">Filters</span>,
            cell: (index) => {
              const { name, type } = columns[index]!
              const filter = filterRow.filters.get(name)
              return {
                content: (
                  <FilterCell
                    key={name}
                    name={name}
                    type={type}
                    filter={filter}
                    onFilter={(next) => onFilter(name, next)}
                  />
                ),
              }
            },
          },
        ]}
        rowHead={(row) => (
          <button
            type="button"
            class="plain"
            onClick={() => setOpenedRow(row)}
            aria-label={`Row ${row + 1}, show whole`}
          >
            {shownCount(row + 1)}
          </button>
        )}
        cell={(row, column) => {
          const found = at(row, column)
          return valueCell(found.row, found.index, found.type)
        }}
      />
      {openedRow !== undefined && (
        <RowDialog
          id={id}
          row={openedRow}
          query={query}
          columns={all}
          onClose={() => setOpenedRow(undefined)}
        />
      )}
    </>
  )
}

/** The order that a query asks for. Columns that the table lacks now are left out. */
function orderBy({ sort }: ColumnLayout, columns: readonly GridColumn[]) {
  const names = new Set(columns.map(({ name }) => name))
  const keys = sort.filter(({ column }) => names.has(column))
  if (keys.length === 0) return undefined
  return keys.map(({ column, descending }) => ({ column_name: columnPath(column), ascending: !descending }))
}

/** What can be done to a column. Each act says what it did, for those who do not see it. */
function actsOf(
  { columns: all, layout, onLayout }: Props,
  columns: readonly GridColumn[],
  index: number,
  show: (column: number) => void,
): ColumnActs {
  const { name } = columns[index]!
  const shown = plainText(name)
  const moveTo = (place: number) => {
    const other = columns[place]
    if (other === undefined) return
    onLayout(moved(layout, all, name, other.name))
    announce(`${shown} is column ${place + 1} now.`)
    show(place)
    focusHead(place)
  }
  const sort: ColumnActs['sort'] = (direction, isFurther) => {
    onLayout(sorted(layout, name, direction, isFurther))
    announce(direction ? `Sorted by ${shown}, ${direction}.` : `Not sorted by ${shown}.`)
  }
  return {
    sort,
    turn: (isFurther) => sort(nextDirection(directionOf(layout, name)), isFurther),
    moveTo,
    step: (places) => moveTo(index + places),
    resize: (width) => onLayout(resized(layout, name, width)),
    hide: () => {
      onLayout(hidden(layout, name, true))
      announce(`${shown} is hidden. The button Columns shows it again.`)
    },
  }
}

/** Keeps the focus at a head that has moved. */
function focusHead(index: number): void {
  requestAnimationFrame(() =>
    document.querySelector<HTMLElement>(`[data-column="${index}"] .column-name`)?.focus(),
  )
}
