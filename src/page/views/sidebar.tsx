import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { idOf } from '../catalog-facts.ts'
import { navigate, useActiveRow, usePaged } from '../hooks.ts'
import type { Page } from '../listing.ts'
import type { Route } from '../model/route.ts'
import { plainText, shownCount } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Path, Text } from '../parts/text.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import type { RefreshCounters } from '../refresh-counters.ts'
import { get } from '../server.ts'
import { NamespaceTree } from './namespace-tree.tsx'

interface Props {
  readonly route: Route
  /** The namespace whose tables are listed. */
  readonly namespace: Identifier
  readonly revision: number
  readonly counters: RefreshCounters
  /** Called when a table is chosen. */
  readonly onTable: () => void
}

/** The navigation: the tree of namespaces, and the tables in the chosen one. */
export function Sidebar(props: Props) {
  const { namespace, revision, counters } = props
  return (
    <aside id="browse" aria-label="Tables">
      <NamespaceTree
        chosen={namespace}
        revision={revision}
        reloadKey={counters.namespaces}
        onChoose={(id) => navigate({ view: 'namespace', id })}
      />
      <Tables {...props} />
    </aside>
  )
}

function Tables({ namespace, route, revision, counters, onTable }: Props) {
  const [typed, setTyped] = useState('')
  const search = typed.trim().toLowerCase()
  const scope = JSON.stringify(namespace)
  const tables = usePaged(
    (token, signal) => readTables(namespace, search, token, signal),
    [scope, search, revision],
    counters.tables,
  )
  const [active, setActive] = useActiveRow(tables.items, JSON.stringify, JSON.stringify([scope, search]))
  const { items, hasMore, loading, error } = tables
  const chosen = route.view === 'table' ? JSON.stringify(route.id) : undefined
  const found = `${shownCount(items.length)}${hasMore ? '+' : ''} ${search ? 'found' : items.length === 1 && !hasMore ? 'table' : 'tables'}`
  return (
    <section class="tables">
      <div class="list-head">
        <h2>
          Tables of <Path id={namespace} root="all namespaces" />
        </h2>
        <span class="faint" role="status">
          {loading && items.length === 0 ? (search ? 'Searching…' : 'Loading…') : found}
        </span>
      </div>
      <label class="search">
        <span class="unseen">Search tables by name</span>
        <input
          type="search"
          placeholder="Search tables"
          value={typed}
          spellcheck={false}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      {error !== undefined && <Failure error={error} again={tables.again} />}
      {items.length === 0 && !loading && error === undefined && (
        <p class="faint empty">{search ? 'No table has this in its name.' : 'No tables yet.'}</p>
      )}
      <VirtualList
        id="tables"
        label="Tables"
        role="listbox"
        count={items.length}
        rowHeight={28}
        keyOf={(row) => JSON.stringify(items[row])}
        active={active}
        onActive={setActive}
        onChoose={(row) => {
          const id = items[row]
          if (id === undefined) return
          navigate({ view: 'table', id, tab: 'columns' })
          onTable()
        }}
        onEnd={tables.more}
        attributes={(row) => ({
          'aria-selected': JSON.stringify(items[row]) === chosen,
          'aria-setsize': hasMore ? -1 : items.length,
          'aria-posinset': row + 1,
          title: items[row]?.map(plainText).join(' › '),
        })}
      >
        {(row) => <TableName id={items[row] ?? []} below={namespace} />}
      </VirtualList>
    </section>
  )
}

function TableName({ id, below }: { readonly id: Identifier; readonly below: Identifier }) {
  const namespace = id.slice(below.length, -1)
  return (
    <span class="table-name">
      {namespace.length > 0 && (
        <span class="faint">
          <Path id={namespace} />
          {' › '}
        </span>
      )}
      <Text text={id.at(-1) ?? ''} />
    </span>
  )
}

interface Listed {
  readonly tables: readonly string[]
  readonly page_token?: string
}

/** The page sizes for showing and for searching tables. */
const shownPage = 1_000
const searchedPage = 10_000
/** The debounce of the search, in milliseconds. */
const typingMillis = 200

/** A page of tables. A search continues over pages until it finds a table or reaches the end. */
async function readTables(
  namespace: Identifier,
  search: string,
  start: string | undefined,
  signal: AbortSignal,
): Promise<Page<Identifier>> {
  let token = start
  if (search && start === undefined) {
    await new Promise((resolve) => setTimeout(resolve, typingMillis))
    signal.throwIfAborted()
  }
  for (;;) {
    const limit = search ? searchedPage : shownPage
    const query = { limit, page_token: token }
    const answer = await get<Listed>('namespace', namespace, 'table/list', { query, signal })
    const ids = answer.tables.map((table) => idOf(namespace, table))
    const items = search
      ? ids.filter((id) => id.slice(namespace.length).join(' › ').toLowerCase().includes(search))
      : ids
    token = answer.page_token || undefined
    if (!search || items.length > 0 || token === undefined) return { items, token }
  }
}
