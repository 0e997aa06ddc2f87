import { useEffect, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { useActiveRow, useLoaded, usePaged } from '../hooks.ts'
import type { Description } from '../model/description.ts'
import { changeText, type Difference, differenceOf, type VersionFacts } from '../model/difference.ts'
import { formatRoute, type TableRoute } from '../model/route.ts'
import { plainText, rowsText, shownBytes, shownCount, shownTime, signed } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { get, post } from '../server.ts'

interface Version {
  readonly version: number
  readonly timestamp_millis?: number
  readonly manifest_size?: number
  /** The transaction that made it, if it is still recorded. */
  readonly transaction_id?: string
  readonly operation?: string
}

/** The versions of a table, latest first, and the difference between two of them. */
export function Versions({
  route,
  description: { location, branch },
  revision,
  reloadKey,
}: {
  readonly route: TableRoute
  readonly description: Description
  readonly revision: number
  readonly reloadKey: number
}) {
  const { id } = route
  const [pair, setPair] = useState<{ readonly from: number | undefined; readonly to: Version }>()
  const listed = usePaged<Version>(
    async (token, signal) => {
      const query = { branch, descending: true, limit: 100, page_token: token, with_transactions: true }
      const { versions, page_token } = await get<{ versions: Version[]; page_token?: string }>(
        'table',
        id,
        'version/list',
        { query, signal },
      )
      return { items: versions, token: page_token || undefined }
    },
    [id, branch, revision],
    reloadKey,
  )
  const { items } = listed
  const [active, setActive] = useActiveRow(items, ({ version }) => String(version))
  const history: History = { id, location, branch }
  const choose = (row: number) => {
    const to = items[row]
    if (to !== undefined) setPair({ from: items[row + 1]?.version, to })
  }
  return (
    <div class="versions">
      {listed.error !== undefined && <Failure error={listed.error} again={listed.again} />}
      <div class="version-row version-head" aria-hidden="true">
        <span class="number">Version</span>
        <span>Time (UTC)</span>
        <span class="number">Rows</span>
        <span>Change</span>
        <span>Made by</span>
        <span class="number">Manifest</span>
      </div>
      <VirtualList
        id="versions"
        label="Versions, latest first"
        role="listbox"
        count={items.length}
        rowHeight={30}
        keyOf={(row) => String(items[row]!.version)}
        active={active}
        onActive={setActive}
        onChoose={choose}
        onEnd={listed.more}
        attributes={(row) => ({
          'aria-selected': items[row]?.version === pair?.to.version,
          'aria-setsize': listed.hasMore ? -1 : items.length,
          'aria-posinset': row + 1,
        })}
      >
        {(row) => <VersionRow history={history} version={items[row]!} before={items[row + 1]?.version} />}
      </VirtualList>
      {items.length === 0 && !listed.loading && listed.error === undefined && (
        <p class="faint">No versions.</p>
      )}
      {pair ? (
        <VersionComparison key={`${pair.to.version}`} history={history} route={route} given={pair} />
      ) : (
        items.length > 0 && <p class="faint">Choose a version to see what it changed.</p>
      )}
    </div>
  )
}

/** A branch of a table, which has versions. The location identifies the table among those of the same name. */
interface History {
  readonly id: Identifier
  readonly location: string
  readonly branch: string | undefined
}

function VersionRow({
  history,
  version,
  before,
}: {
  readonly history: History
  readonly version: Version
  readonly before: number | undefined
}) {
  const [state, setState] = useState<{ facts: VersionFacts; difference: Difference | undefined }>()
  useEffect(() => {
    const controller = new AbortController()
    // Debounced: rows that are only scrolled past are not fetched.
    const timer = setTimeout(() => {
      Promise.all([
        factsOf(history, version.version),
        before === undefined ? undefined : factsOf(history, before),
      ]).then(
        ([facts, earlier]) =>
          !controller.signal.aborted &&
          setState({ facts, difference: earlier && differenceOf(earlier, facts) }),
        () => {},
      )
    }, 80)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [JSON.stringify(history), version.version, before])
  const { timestamp_millis: time, manifest_size: size } = version
  return (
    <span class="version-row">
      <span class="number">{version.version}</span>
      <span>{time === undefined ? '' : shownTime(time)}</span>
      <span class="number">
        {state === undefined
          ? '…'
          : state.facts.rows === undefined
            ? 'not known'
            : state.facts.rows.toLocaleString('en')}
      </span>
      <span>
        {state?.difference
          ? changeText(state.difference)
          : before === undefined && version.version === 1
            ? 'creation'
            : ''}
      </span>
      <span>{version.operation === undefined ? '' : <Text text={version.operation} />}</span>
      <span class="number faint">{size === undefined ? '' : shownBytes(size)}</span>
    </span>
  )
}

/** A cache of versions, which are immutable. Drops the oldest entries. */
const known = new Map<string, Promise<VersionFacts>>()
const maxKnown = 1_000
let activeFetches = 0
const waiting: (() => void)[] = []

function factsOf(history: History, version: number): Promise<VersionFacts> {
  const key = JSON.stringify([history, version])
  let facts = known.get(key)
  if (facts === undefined) {
    facts = fetchFacts(history, version)
    facts.catch(() => known.delete(key))
    known.set(key, facts)
    const [oldest] = known.keys()
    if (known.size > maxKnown) known.delete(oldest!)
  }
  return facts
}

async function fetchFacts({ id, branch }: History, version: number): Promise<VersionFacts> {
  if (activeFetches >= 4) await new Promise<void>((resolve) => waiting.push(resolve))
  activeFetches++
  try {
    const body = { version, branch }
    const { schema, stats, metadata } = await post<Description>('table', id, 'describe', {
      query: { load_detailed_metadata: true },
      body,
    })
    const rows = schema && (await post<number>('table', id, 'count_rows', { body }))
    return { version, rows, deletedRows: stats?.num_deleted_rows, fields: schema?.fields, metadata }
  } finally {
    activeFetches--
    waiting.shift()?.()
  }
}

/** A comparison of two versions. */
function VersionComparison({
  history,
  route,
  given,
}: {
  readonly history: History
  readonly route: TableRoute
  readonly given: { readonly from: number | undefined; readonly to: Version }
}) {
  const [from, setFrom] = useState(String(given.from ?? ''))
  const { version: to, transaction_id: transaction, operation } = given.to
  const before = /^\d+$/.test(from) ? Number(from) : undefined
  const { value, error } = useLoaded(async () => {
    const [earlier, later] = await Promise.all([
      before === undefined ? undefined : factsOf(history, before),
      factsOf(history, to),
    ])
    return { earlier, later, difference: earlier && differenceOf(earlier, later) }
  }, [history, before, to])
  const rowsOf = (version: number) =>
    formatRoute({ ...route, tab: 'rows', version, tag: undefined, branch: history.branch })
  return (
    <section class="compared" aria-label={`What changed up to version ${to}`}>
      <h2>
        <label>
          From version{' '}
          <input
            class="small"
            inputMode="numeric"
            value={from}
            onInput={(event) => setFrom(event.currentTarget.value)}
          />
        </label>{' '}
        to version {to}
      </h2>
      {transaction !== undefined && (
        <p>
          Made by{' '}
          <a href={formatRoute({ view: 'activity', transaction })}>
            {operation === undefined ? 'a transaction that is not recorded any more' : plainText(operation)}
          </a>
        </p>
      )}
      {error !== undefined && <Failure error={error} />}
      {value && (
        <div aria-live="polite">
          {value.earlier && value.difference ? (
            <Changes before={value.earlier} after={value.later} difference={value.difference} />
          ) : (
            <p>
              This is the first version.{' '}
              {value.later.rows === undefined ? '' : `It has ${rowsText(value.later.rows)}.`}
            </p>
          )}
          <p>
            <a href={rowsOf(to)}>Rows of version {to}</a>
            {before !== undefined && (
              <>
                {' · '}
                <a href={rowsOf(before)}>Rows of version {before}</a>
              </>
            )}
          </p>
        </div>
      )}
    </section>
  )
}

function Changes({
  before,
  after,
  difference,
}: {
  readonly before: VersionFacts
  readonly after: VersionFacts
  readonly difference: Difference
}) {
  const { rows, deletedRows, columnsAdded, columnsRemoved, columnsChanged, metadataChanged } = difference
  return (
    <ul>
      {rows === undefined ? (
        <li>The catalog does not know how many rows these versions have.</li>
      ) : (
        <li>
          {rowsText(before.rows ?? 0)}, then {rowsText(after.rows ?? 0)}: {signed(rows)}
        </li>
      )}
      {!!deletedRows && (
        <li>
          Deleted rows that are still stored: {shownCount(before.deletedRows ?? 0)}, then{' '}
          {shownCount(after.deletedRows ?? 0)}
        </li>
      )}
      <Names label="Columns added" names={columnsAdded} />
      <Names label="Columns removed" names={columnsRemoved} />
      <Names label="Columns of another type" names={columnsChanged} />
      <Names label="Metadata changed" names={metadataChanged} />
    </ul>
  )
}

function Names({ label, names }: { readonly label: string; readonly names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <li>
      {label}:{' '}
      {names.slice(0, 100).map((name, index) => (
        <>
          {index > 0 && ', '}
          <Text text={name} />
        </>
      ))}
    </li>
  )
}
