import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { announce, navigate, useLoaded } from '../hooks.ts'
import { type ColumnFilter, readPredicate, writePredicate } from '../model/column-filter.ts'
import { type Description, selectionOf } from '../model/description.ts'
import { errorOffset, splitAt } from '../model/predicate-error.ts'
import type { TableRoute, VersionSelection } from '../model/route.ts'
import { typeText } from '../model/schema.ts'
import { rowsText } from '../model/text.ts'
import { useColumnLayout } from '../parts/column-layout.ts'
import { ColumnList } from '../parts/column-list.tsx'
import { Failure } from '../parts/failure.tsx'
import { RowGrid } from '../parts/row-grid.tsx'
import { Text } from '../parts/text.tsx'
import { post, ServerError } from '../server.ts'

/** The rows of a table, all or those that match a predicate. */
export function RowsView({
  route,
  description,
  revision,
}: {
  readonly route: TableRoute
  readonly description: Description
  readonly revision: number
}) {
  const { id, filter } = route
  const fields = description.schema?.fields
  const [layout, setLayout] = useColumnLayout(id)
  // Pins the version, so that rows do not change while the user reads them.
  const selection: VersionSelection =
    description.version === undefined
      ? selectionOf(route)
      : { version: description.version, branch: description.branch }
  const what = [id, selectionOf(route), filter, description.location]
  const count = useLoaded(
    async (signal) => {
      if (!fields) return undefined
      const rows = await post<number>('table', id, 'count_rows', {
        body: { ...selection, predicate: filter },
        signal,
      })
      if (filter) announce(`${matchText(rows)}.`)
      return rows
    },
    what,
    [description.version, revision],
  )
  const [lastCount, setLastCount] = useState(0)
  useEffect(() => {
    if (count.value !== undefined) setLastCount(count.value)
  }, [count.value])
  if (!fields) return <Unreadable id={id} description={description} />
  const columns = fields.map(({ name, type }) => ({ name, type: type.type, shownType: typeText(type) }))
  const filterRow = readPredicate(filter ?? '', columns)
  const filterBy = (text: string) => navigate({ ...route, filter: text.trim() === '' ? undefined : text })
  const filterColumn = (name: string, columnFilter: ColumnFilter | undefined) => {
    const filters = new Map(filterRow.filters)
    if (columnFilter) filters.set(name, columnFilter)
    else filters.delete(name)
    filterBy(writePredicate({ ...filterRow, filters }, columns))
  }
  const isRefused = filter !== undefined && count.error instanceof ServerError && count.error.status === 400
  const shown = count.value ?? (count.loading ? lastCount : 0)
  return (
    <div class="rows">
      <Filter
        filter={filter ?? ''}
        error={isRefused ? (count.error as ServerError).message : undefined}
        onFilter={filterBy}
      />
      {count.error !== undefined && !isRefused && <Failure error={count.error} again={count.again} />}
      <div class="list-head">
        <span>
          {count.value === undefined ? (
            <span class="faint">{count.loading ? 'Counting rows…' : 'No rows to show'}</span>
          ) : (
            <>
              {filter ? matchText(count.value) : rowsText(count.value)}
              {count.loading && <span class="faint"> · counting…</span>}
            </>
          )}
        </span>
        <ColumnList columns={columns} layout={layout} onLayout={setLayout} />
      </div>
      <RowGrid
        key={JSON.stringify([id, description.location, fields.map(({ name }) => name)])}
        id={id}
        count={shown}
        columns={columns}
        layout={layout}
        onLayout={setLayout}
        query={{ ...selection, filter }}
        filterRow={filterRow}
        onFilter={filterColumn}
      />
    </div>
  )
}

function matchText(count: number): string {
  return `${rowsText(count)} ${count === 1 ? 'matches' : 'match'}`
}

/** Says why the rows of a table cannot be read, and with what they can. */
export function Unreadable({
  id,
  description,
}: {
  readonly id: Identifier
  readonly description: Description
}) {
  const { is_only_declared, version, branch, properties = {}, location } = description
  const kind = properties.table_type
  // The server knows best why it does not read them.
  const reason = useLoaded(
    async (signal) => {
      if (is_only_declared || kind !== undefined) return undefined
      await post('table', id, 'count_rows', { body: { version, branch }, signal })
      return undefined
    },
    [id, location, version, branch],
  ).error
  if (is_only_declared)
    return <p class="note">This table is declared only: it has a name and a location, and no rows yet.</p>
  return (
    <div class="note">
      {kind === 'ICEBERG' ? (
        <p>
          This is a table of Iceberg. Its rows are in files of its engine, which this server does not read.
          Read them with Spark, Trino, DuckDB or PyIceberg, which find the table at this server’s{' '}
          <code>/iceberg</code>.
        </p>
      ) : kind === 'ICEBERG_VIEW' ? (
        <p>This is a view of Iceberg: a query that its engines run. It has no rows of its own.</p>
      ) : (
        <p>Another engine wrote this table. The catalog knows its versions, and not its columns and rows.</p>
      )}
      {reason instanceof Error && (
        <p>
          <Text text={reason.message} />
        </p>
      )}
      <p>
        <code>
          <Text text={location} />
        </code>
      </p>
    </div>
  )
}

/** The input for the predicate, with its error marked. */
function Filter({
  filter,
  error,
  onFilter,
}: {
  readonly filter: string
  readonly error: string | undefined
  readonly onFilter: (text: string) => void
}) {
  const [text, setText] = useState(filter)
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => setText(filter), [filter])
  const offset = error === undefined ? undefined : errorOffset(error)
  useLayoutEffect(() => {
    const { current } = field
    if (error === undefined || !current) return
    // Skipped if the user typed on or moved the focus: further typing would overwrite the selection.
    const { activeElement } = document
    const isElsewhere = activeElement !== document.body && !current.form?.contains(activeElement)
    if (isElsewhere || current.value !== filter) return
    current.focus()
    if (offset === undefined) return
    const { before, at } = splitAt(filter, offset)
    current.setSelectionRange(before.length, before.length + at.length)
  }, [error])
  const marked = error !== undefined && offset !== undefined ? splitAt(filter, offset) : undefined
  return (
    <form
      class="filter"
      onSubmit={(event) => {
        event.preventDefault()
        onFilter(text.trim() === '' ? '' : text)
      }}
    >
      <label class="field">
        <span>Rows where</span>
        <textarea
          ref={field}
          rows={Math.min(6, text.split('\n').length)}
          value={text}
          spellcheck={false}
          placeholder="delay > 60 AND origin = 'SFO'"
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : 'filter-error'}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
            event.preventDefault()
            event.currentTarget.form?.requestSubmit()
          }}
        />
      </label>
      <button type="submit" class="primary">
        Filter
      </button>
      {filter !== '' && (
        <button type="button" onClick={() => onFilter('')}>
          All rows
        </button>
      )}
      {error !== undefined && (
        <div id="filter-error" class="failure" role="alert">
          {marked && (
            <pre>
              {marked.before}
              <mark>{marked.at || '\u00a0'}</mark>
              {marked.after}
            </pre>
          )}
          <p>{error}</p>
        </div>
      )}
    </form>
  )
}
