import { useEffect, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { navigate, useLoaded } from '../hooks.ts'
import type { Version } from '../model/history.ts'
import { formatRoute, type TableRoute } from '../model/route.ts'
import { shownCount, shownTime } from '../model/text.ts'
import { get, post } from '../server.ts'
import { Text } from './text.tsx'

interface VersionRange {
  readonly first: number
  readonly last: number
}

/** The first and the last version of a branch. Versions between them may have been deleted. */
async function rangeOf(
  id: Identifier,
  branch: string | undefined,
  signal: AbortSignal,
): Promise<VersionRange | undefined> {
  const end = async (descending: boolean) => {
    const query = { branch, descending, limit: 1 }
    const { versions } = await get<{ versions: Version[] }>('table', id, 'version/list', { query, signal })
    return versions[0]?.version
  }
  const [first, last] = await Promise.all([end(false), end(true)])
  return first === undefined || last === undefined ? undefined : { first, last }
}

/**
 * The version that is shown, with a slider that leads to others, and a time to read at. It stands outside of what a
 * version is shown by: where that one is gone, it leads to others.
 */
export function VersionBar({
  route,
  version,
  branch,
  reloadKeys,
}: {
  readonly route: TableRoute
  /** The version that is shown, if it is known. */
  readonly version: number | undefined
  readonly branch: string | undefined
  readonly reloadKeys: readonly unknown[]
}) {
  const { id, tag, at } = route
  const range = useLoaded((signal) => rangeOf(id, branch, signal), [id, branch], reloadKeys).value
  const isLatest = route.version === undefined && !tag && !at && !route.branch
  const here = version ?? route.version
  const [drafted, setDrafted] = useState<number>()
  useEffect(() => setDrafted(undefined), [here])
  const shown = drafted ?? here
  const made = useLoaded(
    async (signal) => {
      if (shown === undefined) return undefined
      const body = { version: shown, branch }
      const answer = await post<{ version: Version }>('table', id, 'version/describe', { body, signal })
      return answer.version.timestamp_millis
    },
    [id, branch, shown],
  )
  const plain = { ...route, version: undefined, tag: undefined, branch: undefined, at: undefined }
  const show = (next: number) => {
    const isEnd = next === range?.last
    navigate({ ...plain, branch, version: isEnd ? undefined : next })
  }
  const step = (by: number) => {
    if (range && shown !== undefined) show(Math.max(range.first, Math.min(range.last, shown + by)))
  }
  const hasOthers = range !== undefined && range.last > range.first
  return (
    <div class={isLatest ? 'version-bar' : 'version-bar at'}>
      <span class="version-name">
        {shown === undefined && isLatest && '\u00a0'}
        {shown !== undefined && isLatest && drafted === undefined && <>Version {shown}, the latest</>}
        {shown !== undefined && !(isLatest && drafted === undefined) && <strong>Version {shown}</strong>}
        {!isLatest && drafted === undefined && <How route={route} />}
        {made.value !== undefined && <span class="faint"> · {shownTime(made.value)} UTC</span>}
        {!isLatest && (
          <>
            {' '}
            <a href={formatRoute(plain)}>Show the latest</a>
          </>
        )}
      </span>
      {hasOthers && (
        <span class="version-slider">
          <button
            type="button"
            aria-label="The version before"
            disabled={shown === range.first}
            onClick={() => step(-1)}
          >
            ‹
          </button>
          <input
            type="range"
            aria-label="Version"
            aria-valuetext={shown === undefined ? undefined : `version ${shown} of ${range.last}`}
            min={range.first}
            max={range.last}
            value={shown ?? range.last}
            onInput={(event) => setDrafted(Number(event.currentTarget.value))}
            onChange={(event) => show(Number(event.currentTarget.value))}
          />
          <button
            type="button"
            aria-label="The version after"
            disabled={shown === range.last}
            onClick={() => step(1)}
          >
            ›
          </button>
          <small class="faint">of {shownCount(range.last)}</small>
        </span>
      )}
      {hasOthers && <AsOf route={route} />}
    </div>
  )
}

/** By what a version was chosen. */
function How({ route: { tag, branch, at } }: { readonly route: TableRoute }) {
  return (
    <>
      {tag && (
        <>
          {' '}
          by the tag <Text text={tag} />
        </>
      )}
      {branch && (
        <>
          {' '}
          of the branch <Text text={branch} />
        </>
      )}
      {at && (
        <>
          , the newest at <Text text={at.replace('T', ' ').replace(/Z$/, ' UTC')} />
        </>
      )}
    </>
  )
}

/** Chooses a version by a time. */
function AsOf({ route }: { readonly route: TableRoute }) {
  const given = /^\d{4}-\d\d-\d\dT[\d:.]+(?=Z$)/.exec(route.at ?? '')?.[0] ?? ''
  return (
    <label class="as-of">
      <span class="faint">At UTC</span>
      <input
        type="datetime-local"
        step={1}
        value={given}
        onChange={(event) => {
          const { value } = event.currentTarget
          const at = value === '' ? undefined : `${value}${value.length === 16 ? ':00' : ''}Z`
          navigate({ ...route, version: undefined, tag: undefined, at })
        }}
      />
    </label>
  )
}
