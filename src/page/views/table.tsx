import { useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { latestOf, type NamedTable } from '../checked-changes.ts'
import { navigate, useLoaded, type ViewProps } from '../hooks.ts'
import { type Description, type Opened, selectionOf } from '../model/description.ts'
import { kindOf, nounOf } from '../model/kind.ts'
import { formatRoute, type Tab, type TableRoute, tabs, type VersionSelection } from '../model/route.ts'
import { rowsText, shownCount } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Path, Properties, Text } from '../parts/text.tsx'
import { VersionBar } from '../parts/version-bar.tsx'
import { post, settings } from '../server.ts'
import { DeleteTag, DropTable, PutTag, RenameTable } from './changes.tsx'
import { Columns } from './columns.tsx'
import { Refs } from './refs.tsx'
import { RowsView, Unreadable } from './rows.tsx'
import { Versions } from './versions.tsx'

/** A description with the identity of the table. */
interface Found extends Description {
  readonly named: NamedTable
}

const titles: Readonly<Record<Tab, string>> = {
  columns: 'Columns',
  rows: 'Rows',
  versions: 'Versions',
  refs: 'Tags and branches',
}

/** Describes the selected version. Resolves a tag first: its version number alone would refer to the main branch. */
async function describe(id: Identifier, selection: VersionSelection, signal: AbortSignal): Promise<Found> {
  const { tag } = selection
  const body = tag
    ? await post<VersionSelection>('table', id, 'tags/version', { body: { tag }, signal })
    : selection
  const query = { load_detailed_metadata: true }
  const [description, latest] = await Promise.all([
    post<Description>('table', id, 'describe', { query, body, signal }),
    settings.editable ? latestOf(id, signal) : undefined,
  ])
  const noun = nounOf(kindOf(description.properties))
  const named = { id, noun, location: description.location, latest }
  return { ...description, branch: body.branch, named }
}

/** A table, at a version or at its latest. */
export function TableView({
  route,
  revision,
  counters,
  changed,
}: ViewProps & { readonly route: TableRoute }) {
  const { id, tab } = route
  const [open, setOpen] = useState<Opened>()
  const selection = selectionOf(route)
  const description = useLoaded(
    (signal) => describe(id, selection, signal),
    [id, selection],
    [revision, counters.open],
  )
  const { value, error } = description
  const kind = kindOf(value?.properties)
  /** Identifies the version numbers: a table that replaces another one has another location. */
  const history = JSON.stringify([value?.location, value?.branch])
  return (
    <article class={tab === 'rows' || tab === 'versions' ? 'fills' : undefined}>
      <p class="eyebrow">
        <a href={formatRoute({ view: 'namespace', id: id.slice(0, -1) })}>
          <Path id={id.slice(0, -1)} root="Catalog" />
        </a>
        {kind !== 'Table' && <span class="badge kind">{kind}</span>}
      </p>
      <div class="title">
        <h1>
          <Text text={id.at(-1)!} />
        </h1>
        {settings.editable && (
          <div class="actions">
            <button
              type="button"
              disabled={value === undefined}
              onClick={() => value && setOpen({ act: 'rename', table: value.named })}
            >
              Rename
            </button>
            <button
              type="button"
              class="danger"
              disabled={value === undefined}
              onClick={() => value && setOpen({ act: 'drop', table: value.named })}
            >
              Drop
            </button>
          </div>
        )}
      </div>
      <VersionBar
        route={route}
        version={value?.version}
        branch={value ? value.branch : route.branch}
        reloadKeys={[revision, counters.open]}
      />
      {error !== undefined && <Failure error={error} again={description.again} />}
      {error === undefined && (
        <>
          <Tabs route={route} />
          <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
            {value === undefined ? (
              <p class="faint">Loading…</p>
            ) : tab === 'columns' ? (
              <>
                <Facts id={id} description={value} revision={revision} reloadKey={counters.open} />
                <Columns key={`${history} ${value.version}`} id={id} description={value} />
              </>
            ) : tab === 'rows' ? (
              <RowsView route={route} description={value} revision={revision} />
            ) : tab === 'versions' ? (
              <Versions
                key={history}
                route={route}
                description={value}
                revision={revision}
                reloadKey={counters.open}
              />
            ) : (
              <Refs
                route={route}
                table={value.named}
                revision={revision}
                counters={counters}
                open={setOpen}
              />
            )}
          </div>
        </>
      )}
      {open && (
        <TableDialog opened={open} route={route} changed={changed} onClose={() => setOpen(undefined)} />
      )}
    </article>
  )
}

/** The tabs of a table, by mouse or by arrow keys. */
function Tabs({ route }: { readonly route: TableRoute }) {
  const { tab } = route
  const list = useRef<HTMLDivElement>(null)
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!
    navigate({ ...route, tab: next })
    list.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus()
  }
  return (
    <div ref={list} role="tablist" aria-label="About the table" onKeyDown={onKey}>
      {tabs.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === tab}
          aria-controls="panel"
          tabIndex={name === tab ? 0 : -1}
          onClick={() => navigate({ ...route, tab: name })}
        >
          {titles[name]}
        </button>
      ))}
    </div>
  )
}

/** Lies outside of what is reloaded: a table that cannot be read for a moment closes no dialog and loses no input. */
function TableDialog({
  opened: { act, table, tag },
  route,
  ...rest
}: {
  readonly opened: Opened
  readonly route: TableRoute
  readonly changed: () => void
  readonly onClose: () => void
}) {
  if (act === 'rename') return <RenameTable table={table} {...rest} />
  if (act === 'drop') return <DropTable table={table} {...rest} />
  if (act === 'delete tag' && tag) return <DeleteTag table={table} tag={tag} {...rest} />
  const { version, branch } = tag ?? route
  return <PutTag table={table} tag={tag} version={version} branch={branch} {...rest} />
}

function Facts({
  id,
  description,
  revision,
  reloadKey,
}: {
  readonly id: Identifier
  readonly description: Description
  readonly revision: number
  readonly reloadKey: number
}) {
  const { location, properties = {}, metadata = {}, stats, schema, is_only_declared } = description
  const { version, branch } = description
  const rows = useLoaded(
    async (signal) =>
      schema && (await post<number>('table', id, 'count_rows', { body: { version, branch }, signal })),
    [id, location, branch],
    [version, revision, reloadKey],
  )
  return (
    <>
      <dl class="facts">
        <Fact
          name="Rows"
          value={rows.value === undefined ? (schema ? '…' : 'not known') : shownCount(rows.value)}
        />
        <Fact name="Columns" value={schema ? shownCount(schema.fields.length) : 'not known'} />
        {stats && <Fact name="Fragments" value={shownCount(stats.num_fragments)} />}
        {stats && <Fact name="Deleted, still stored" value={rowsText(stats.num_deleted_rows)} />}
      </dl>
      {is_only_declared && (
        <p class="note">This table is declared only: it has a name and a location, and no content yet.</p>
      )}
      {!is_only_declared && !schema && <Unreadable id={id} description={description} />}
      <p class="location">
        <span class="faint">Location</span>{' '}
        <code>
          <Text text={location} />
        </code>
      </p>
      {Object.keys(properties).length > 0 && (
        <section>
          <h2>Properties</h2>
          <Properties entries={properties} empty="" />
        </section>
      )}
      {Object.keys(metadata).length > 0 && (
        <section>
          <h2>Metadata</h2>
          <Properties entries={metadata} empty="" />
        </section>
      )}
    </>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}
