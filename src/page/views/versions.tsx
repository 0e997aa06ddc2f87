import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { useActiveRow, useLoaded } from '../hooks.ts'
import type { Description, Tag } from '../model/description.ts'
import { changeText, type Difference, differenceOf, type VersionFacts } from '../model/difference.ts'
import { type Branch, drawnBranches, type HistoryRow, originOf } from '../model/history.ts'
import type { TableRoute } from '../model/route.ts'
import { shownBytes, shownCount, shownTime } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { graphRowHeight, graphWidth, HistoryGraph } from '../parts/history-graph.tsx'
import { Text } from '../parts/text.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { get } from '../server.ts'
import { factsOf, type History } from '../version-facts.ts'
import { type Compared, Comparison } from './comparison.tsx'
import { useHistory } from './history-pages.ts'

/** The most branches that are drawn beside the main one, and the most tags and branches that are asked for. */
const [maxDrawn, maxNamed] = [12, 1_000]

interface Names {
  readonly branches: readonly Branch[]
  readonly tags: readonly Tag[]
}

/** The tags and branches of a table, as far as the graph names them. */
async function namesOf(id: Identifier, signal: AbortSignal): Promise<Names> {
  const query = { limit: maxNamed }
  const [{ branches }, { tags }] = await Promise.all([
    get<{ branches: Record<string, Omit<Branch, 'name'>> }>('table', id, 'branches/list', { query, signal }),
    get<{ tags: Record<string, Omit<Tag, 'name'>> }>('table', id, 'tags/list', { query, signal }),
  ])
  return {
    // The rest of a branch changes with each of its versions.
    branches: Object.entries(branches).map(([name, { parentBranch, parentVersion }]) => ({
      name,
      ...(parentBranch !== undefined && { parentBranch }),
      ...(parentVersion !== undefined && { parentVersion }),
    })),
    tags: Object.entries(tags).map(([name, rest]) => ({ name, ...rest })),
  }
}

/** The versions of a table and its branches, latest first, and the difference between two of them. */
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
  const names = useLoaded((signal) => namesOf(id, signal), [id, location], [revision, reloadKey])
  return (
    <div class="versions">
      {names.error !== undefined && <Failure error={names.error} again={names.again} />}
      {names.value && (
        <Graph
          route={route}
          location={location}
          branch={branch}
          names={names.value}
          revision={revision}
          reloadKey={reloadKey}
        />
      )}
      {names.loading && <p class="faint">Loading…</p>}
    </div>
  )
}

function Graph({
  route,
  location,
  branch,
  names: { branches, tags },
  revision,
  reloadKey,
}: {
  readonly route: TableRoute
  readonly location: string
  readonly branch: string | undefined
  readonly names: Names
  readonly revision: number
  readonly reloadKey: number
}) {
  const { id } = route
  const [pair, setPair] = useState<Compared>()
  const drawn = drawnBranches(branches, branch, maxDrawn)
  const listed = useHistory(id, drawn, [location, revision], reloadKey)
  const { rows } = listed
  const tagsAt = useMemo(() => namesAt(tags, branches), [tags, branches])
  const [active, setActive] = useActiveRow(rows, keyOf)
  const choose = (at: number) => {
    const row = rows[at]
    if (row !== undefined) setPair({ from: row.before, to: row.version, branch: row.branch || undefined })
  }
  useShown(route, branch, rows, setPair)
  const width = useMemo(() => graphWidth(rows.reduce((most, row) => Math.max(most, row.lane + 1), 1)), [rows])
  const isChosen = (row: HistoryRow | undefined) =>
    row?.version.version === pair?.to.version && (row?.branch || undefined) === pair?.branch
  return (
    <>
      {listed.error !== undefined && <Failure error={listed.error} again={listed.again} />}
      <div class="version-row version-head" aria-hidden="true">
        <span style={{ width: `${width}px` }} />
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
        count={rows.length}
        rowHeight={graphRowHeight}
        keyOf={(row) => keyOf(rows[row]!)}
        active={active}
        onActive={setActive}
        onChoose={choose}
        onEnd={listed.more}
        attributes={(row) => ({
          'aria-selected': isChosen(rows[row]),
          'aria-setsize': listed.hasMore ? -1 : rows.length,
          'aria-posinset': row + 1,
        })}
      >
        {(at) => {
          const row = rows[at]!
          return (
            <VersionRow
              history={{ id, location, branch: row.branch || undefined }}
              row={row}
              tags={tagsAt.get(keyOf(row)) ?? []}
              width={width}
              isChosen={isChosen(row)}
            />
          )
        }}
      </VirtualList>
      {rows.length === 0 && !listed.loading && listed.error === undefined && (
        <p class="faint">No versions.</p>
      )}
      {drawn.length <= branches.length && (
        <p class="faint">
          {shownCount(drawn.length - 1)} of {shownCount(branches.length)} branches are drawn. The tab Tags and
          branches leads to the others.
        </p>
      )}
      {pair ? (
        <Comparison key={JSON.stringify(pair)} location={location} route={route} given={pair} />
      ) : (
        rows.length > 0 && <p class="faint">Choose a version to see what it changed.</p>
      )}
    </>
  )
}

function keyOf({ branch, version }: HistoryRow): string {
  return JSON.stringify([branch, version.version])
}

/** The names of tags by the keys of their versions. */
function namesAt(tags: readonly Tag[], branches: readonly Branch[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const { name, branch = '', version } of tags) {
    const { parentBranch = '' } = originOf(branch, version, branches)
    const key = JSON.stringify([parentBranch, version])
    found.set(key, [...(found.get(key) ?? []), name])
  }
  return found
}

/** Compares the version that the route names, when it moves there. */
function useShown(
  { version }: TableRoute,
  branch: string | undefined,
  rows: readonly HistoryRow[],
  show: (pair: Compared) => void,
): void {
  const latest = useRef(rows)
  latest.current = rows
  useEffect(() => {
    if (version === undefined) return
    const row = latest.current.find(
      (each) => each.version.version === version && (each.branch || undefined) === branch,
    )
    const from = row ? row.before : version > 1 ? version - 1 : undefined
    show({ from, to: row?.version ?? { version }, branch })
  }, [version, branch])
}

function VersionRow({
  history,
  row,
  tags,
  width,
  isChosen,
}: {
  readonly history: History
  readonly row: HistoryRow
  readonly tags: readonly string[]
  readonly width: number
  readonly isChosen: boolean
}) {
  const { version, before, heads } = row
  const state = useFacts(history, version.version, before)
  const { timestamp_millis: time, manifest_size: size } = version
  return (
    <span class="version-row">
      <HistoryGraph row={row} width={width} isChosen={isChosen} />
      <span class="number">{version.version}</span>
      <span>{time === undefined ? '' : shownTime(time)}</span>
      <span class="number">
        {state === undefined
          ? '…'
          : state.facts.rows === undefined
            ? 'not known'
            : shownCount(state.facts.rows)}
      </span>
      <span class="version-change">
        <Labels heads={heads} tags={tags} isOfBranch={row.branch} />
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

/** The most names that a row shows. */
const maxLabels = 4

/** The branches that end at a version, and its tags. */
function Labels({
  heads,
  tags,
  isOfBranch,
}: {
  readonly heads: readonly string[]
  readonly tags: readonly string[]
  readonly isOfBranch: string
}) {
  const labels = [
    ...heads.map((name) => ({ kind: 'branch', name })),
    ...tags.map((name) => ({ kind: 'tag', name })),
  ]
  return (
    <>
      {isOfBranch !== '' && heads.length === 0 && (
        <span class="unseen">
          of the branch <Text text={isOfBranch} />
        </span>
      )}
      {labels.slice(0, maxLabels).map(({ kind, name }) => (
        <span key={`${kind} ${name}`} class={`label ${kind}`} title={kind}>
          <span class="unseen">{kind} </span>
          {kind === 'branch' && name === '' ? 'main' : <Text text={name} />}
        </span>
      ))}
      {labels.length > maxLabels && <span class="faint">+{labels.length - maxLabels}</span>}
    </>
  )
}

function useFacts(history: History, version: number, before: number | undefined) {
  const [state, setState] = useState<{ facts: VersionFacts; difference: Difference | undefined }>()
  useEffect(() => {
    const controller = new AbortController()
    // Debounced: rows that are only scrolled past are not fetched.
    const timer = setTimeout(() => {
      Promise.all([
        factsOf(history, version),
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
  }, [JSON.stringify(history), version, before])
  return state
}
