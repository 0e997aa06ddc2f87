import { useMemo } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { usePaged } from '../hooks.ts'
import type { Page } from '../listing.ts'
import {
  type Branch,
  type BranchVersions,
  type HistoryRow,
  historyOf,
  type Version,
} from '../model/history.ts'
import { get } from '../server.ts'

/** The versions of the first page of a branch, and of further ones. */
const [firstPage, furtherPage] = [100, 500]

/** The most tokens that are known. Two are in use at a time: that of the list, and that of a refresh. */
const maxKnown = 16
let tokens = 0

/** A part of the versions of a branch, and where to go on. */
interface Part {
  readonly branch: string
  readonly versions: readonly Version[]
  readonly next: string | undefined
}

/** The versions of branches as rows of a graph, fetched as they come in sight. */
export function useHistory(
  id: Identifier,
  branches: readonly Branch[],
  what: readonly unknown[],
  reloadKey: number,
) {
  const part = async (branch: string, token: string | undefined, signal: AbortSignal): Promise<Part> => {
    const limit = token === undefined ? firstPage : furtherPage
    const query = {
      branch: branch || undefined,
      descending: true,
      limit,
      page_token: token,
      with_transactions: true,
    }
    const { versions, page_token } = await get<{ versions: Version[]; page_token?: string }>(
      'table',
      id,
      'version/list',
      { query, signal },
    )
    return { branch, versions, next: page_token || undefined }
  }
  // What a token stands for: the parts until there. A refresh begins anew, while the list that is shown may go on.
  const known = useMemo(() => new Map<string, readonly Part[]>(), [])
  // A page of the listing begins all branches, or goes on with the one whose versions come next.
  const load = async (token: string | undefined, signal: AbortSignal): Promise<Page<Part>> => {
    const before = token === undefined ? [] : known.get(token)!
    const wanted = token === undefined ? undefined : historyOf(joined(branches, before)).wants
    const items =
      wanted === undefined
        ? await Promise.all(branches.map(({ name }) => part(name, undefined, signal)))
        : [await part(wanted, before.findLast(({ branch }) => branch === wanted)?.next, signal)]
    const parts = [...before, ...items]
    if (historyOf(joined(branches, parts)).wants === undefined) return { items }
    const next = String(++tokens)
    known.set(next, parts)
    const [oldest] = known.keys()
    if (known.size > maxKnown) known.delete(oldest!)
    return { items, token: next }
  }
  const listed = usePaged<Part>(load, [id, branches, ...what], reloadKey)
  const { items } = listed
  const rows: readonly HistoryRow[] = useMemo(
    () => (items.length === 0 ? [] : historyOf(joined(branches, items)).rows),
    [items],
  )
  return { ...listed, rows }
}

function joined(branches: readonly Branch[], parts: readonly Part[]): readonly BranchVersions[] {
  return branches.map((branch) => {
    const own = parts.filter((part) => part.branch === branch.name)
    return {
      ...branch,
      versions: own.flatMap(({ versions }) => versions),
      ended: own.length > 0 && own.at(-1)!.next === undefined,
    }
  })
}
