import { useState } from 'preact/hooks'
import { type Identifier, isWithin } from '../../base/model/identifier.ts'
import {
  droppedTables,
  type NamespaceFacts,
  namespaceFacts,
  runningTransactions,
  serverMetrics,
} from '../catalog-facts.ts'
import type { ViewProps } from '../hooks.ts'
import { useLoaded } from '../hooks.ts'
import { recentTables } from '../model/recent-tables.ts'
import { formatRoute } from '../model/route.ts'
import { shownCount } from '../model/text.ts'
import { upkeepText } from '../model/upkeep.ts'
import { Failure } from '../parts/failure.tsx'
import { Path, Properties, Text } from '../parts/text.tsx'
import { settings } from '../server.ts'
import { Begin } from './begin.tsx'
import { CreateNamespace, CreateTable, DropNamespace } from './changes.tsx'
import { DroppedTables } from './dropped.tsx'
import { ChangeTable, useLatest } from './latest.tsx'
import { RecentTables } from './recent-tables.tsx'
import { Summary } from './summary.tsx'

/** The most tables, changes and namespaces that a view of a namespace shows. */
const [maxTables, maxChanges, maxNamespaces] = [8, 10, 24]

/** The view of a namespace, or of the catalog: what is here, and what changed. */
export function NamespaceView({ id, revision, counters, changed }: ViewProps & { readonly id: Identifier }) {
  const isRoot = id.length === 0
  const last = counters.latest[0]?.transaction_id
  const facts = useLoaded((signal) => namespaceFacts(id, signal), [id], [revision, counters.open])
  const dropped = useLoaded((signal) => droppedTables(id, signal), [id], [revision, counters.open])
  const running = useLoaded((signal) => runningTransactions(1, signal), [], [revision, last])
  const metrics = useLoaded((signal) => serverMetrics(signal), [], [revision, last])
  const latest = useLatest({ revision, counters })
  const { value, error, again } = facts
  const changes = latest.changes.filter((change) => isWithin(change.id, id))
  const tables = recentTables(changes, value?.tables ?? [], id, maxTables)
  const isEmpty = value !== undefined && value.tableCount.count === 0 && value.namespaceCount.count === 0
  const held = dropped.value
  return (
    <article class="home">
      <p class="eyebrow">
        {isRoot ? 'Catalog' : <a href={formatRoute({ view: 'namespace', id: id.slice(0, -1) })}>Namespace</a>}
      </p>
      <div class="title">
        <h1>
          <Path id={id} root="All namespaces" />
        </h1>
        {settings.editable && value && <Changes id={id} facts={value} changed={changed} />}
      </div>
      {error !== undefined && <Failure error={error} again={again} />}
      {value && (
        <>
          <Summary
            id={id}
            facts={value}
            running={isRoot ? running.value : undefined}
            dropped={held && { count: held.tables.length, isMore: held.isMore }}
            upkeep={isRoot && metrics.value !== undefined ? upkeepText(metrics.value) : undefined}
          />
          {isEmpty && <Begin id={id} />}
          {value.namespaces.length > 0 && <Namespaces id={id} facts={value} />}
          <div class="beside">
            {!isEmpty && tables.length > 0 && <RecentTables tables={tables} below={id} revision={revision} />}
            {(changes.length > 0 || latest.error !== undefined) && (
              <section>
                <div class="title">
                  <h2 id="latest">Latest changes</h2>
                  <a href="#/activity">All activity</a>
                </div>
                {latest.error !== undefined && <Failure error={latest.error} again={latest.again} />}
                {changes.length > 0 && <ChangeTable changes={changes.slice(0, maxChanges)} label="latest" />}
              </section>
            )}
          </div>
          {held && held.tables.length > 0 && <DroppedTables dropped={held} changed={changed} />}
          {!isRoot && (
            <section>
              <h2>Properties</h2>
              <Properties entries={value.properties} empty="None." />
            </section>
          )}
        </>
      )}
    </article>
  )
}

/** Links to the namespaces inside. */
function Namespaces({ id, facts }: { readonly id: Identifier; readonly facts: NamespaceFacts }) {
  const { namespaces, namespaceCount } = facts
  const shown = namespaces.slice(0, maxNamespaces)
  const more = namespaces.length - shown.length
  return (
    <nav class="chips" aria-label="Namespaces inside">
      {shown.map((name) => (
        <a key={name} href={formatRoute({ view: 'namespace', id: [...id, name] })}>
          <Text text={name} />
        </a>
      ))}
      {more > 0 && (
        <span class="faint">
          and {shownCount(more)}
          {namespaceCount.isMore && '+'} more in the tree
        </span>
      )}
    </nav>
  )
}

function Changes({
  id,
  facts,
  changed,
}: {
  readonly id: Identifier
  readonly facts: NamespaceFacts
  readonly changed: () => void
}) {
  const [open, setOpen] = useState<'namespace' | 'table'>()
  /** The namespace as it was when the drop dialog opened. */
  const [dropped, setDropped] = useState<NamespaceFacts>()
  const close = () => setOpen(undefined)
  return (
    <div class="actions" role="group" aria-label="Changes">
      <button type="button" onClick={() => setOpen('table')}>
        New table
      </button>
      <button type="button" onClick={() => setOpen('namespace')}>
        New namespace
      </button>
      {id.length > 0 && (
        <button type="button" class="danger" onClick={() => setDropped(facts)}>
          Drop namespace
        </button>
      )}
      {open === 'table' && <CreateTable namespace={id} changed={changed} onClose={close} />}
      {open === 'namespace' && <CreateNamespace parent={id} changed={changed} onClose={close} />}
      {dropped && (
        <DropNamespace
          id={id}
          properties={dropped.properties}
          changed={changed}
          onClose={() => setDropped(undefined)}
        />
      )}
    </div>
  )
}
