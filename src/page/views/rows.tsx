import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { announce, navigate, useLoaded } from '../hooks.ts'
import { type Description, selectionOf } from '../model/description.ts'
import { errorOffset, splitAt } from '../model/predicate-error.ts'
import type { TableRoute, VersionSelection } from '../model/route.ts'
import { columnPath, typeText } from '../model/schema.ts'
import { rowsText, shownCount } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { RowGrid } from '../parts/row-grid.tsx'
import { post, ServerError } from '../server.ts'

/** The most columns that are fetched and shown at once. */
const columnsAtOnce = 40

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
  const [firstColumn, setFirstColumn] = useState(0)
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
      if (filter) announce(`${rowsText(rows)} match.`)
      return rows
    },
    what,
    [description.version, revision],
  )
  if (!fields) return <p class="note">The catalog does not know the rows of this table.</p>
  const columns = fields.slice(firstColumn, firstColumn + columnsAtOnce)
  const isRefused = filter !== undefined && count.error instanceof ServerError && count.error.status === 400
  return (
    <div class="rows">
      <Filter
        filter={filter ?? ''}
        error={isRefused ? (count.error as ServerError).message : undefined}
        onFilter={(text) => navigate({ ...route, filter: text === '' ? undefined : text })}
      />
      {count.error !== undefined && !isRefused && <Failure error={count.error} again={count.again} />}
      {count.value !== undefined && count.error === undefined && (
        <>
          <div class="list-head">
            <span>
              {rowsText(count.value)}
              {filter ? ' match' : ''}
              {count.loading && <span class="faint"> · counting…</span>}
            </span>
            {fields.length > columnsAtOnce && (
              <span class="faint">
                columns {firstColumn + 1} to {firstColumn + columns.length} of {shownCount(fields.length)}{' '}
                <button
                  type="button"
                  disabled={firstColumn === 0}
                  onClick={() => setFirstColumn(firstColumn - columnsAtOnce)}
                >
                  Before
                </button>{' '}
                <button
                  type="button"
                  disabled={firstColumn + columnsAtOnce >= fields.length}
                  onClick={() => setFirstColumn(firstColumn + columnsAtOnce)}
                >
                  Further
                </button>
              </span>
            )}
          </div>
          <RowGrid
            key={JSON.stringify([what, columns.map(({ name }) => name)])}
            id={id}
            count={count.value}
            columns={columns.map(({ name, type }) => ({ name, type: type.type, shownType: typeText(type) }))}
            query={{ ...selection, filter, columns: columns.map(({ name }) => columnPath(name)) }}
          />
        </>
      )}
      {count.value === undefined && count.loading && <p class="faint">Counting rows…</p>}
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
