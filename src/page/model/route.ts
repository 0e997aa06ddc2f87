import type { Identifier } from '../../base/model/identifier.ts'

export const tabs = ['columns', 'rows', 'versions', 'refs'] as const
export type Tab = (typeof tabs)[number]

/** The selected version of a table. Default: the latest of the main branch. */
export interface VersionSelection {
  readonly version?: number | undefined
  readonly tag?: string | undefined
  readonly branch?: string | undefined
  /** A time: the newest version that was made until then. */
  readonly at?: string | undefined
}

export interface TableRoute extends VersionSelection {
  readonly view: 'table'
  readonly id: Identifier
  readonly tab: Tab
  readonly filter?: string | undefined
}

/** The view of the page. It is in the fragment of the URL, which browsers do not send to servers. */
export type Route =
  | { readonly view: 'namespace'; readonly id: Identifier }
  | TableRoute
  | { readonly view: 'activity'; readonly transaction?: string | undefined }

export const startRoute: Route = { view: 'namespace', id: [] }

/** Parses a fragment. Returns the start view for an invalid one. */
export function parseRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#/, '').split(/\?(.*)/s)
  const [, view, ...segments] = path.split('/')
  const given = new URLSearchParams(query)
  const text = (name: string) => given.get(name) || undefined
  let id: string[]
  try {
    id = segments.map(decodeURIComponent).filter((name) => name !== '')
  } catch {
    return startRoute
  }
  if (view === 'activity') return { view, transaction: text('transaction') }
  if (view !== 'table' || id.length === 0) return { view: 'namespace', id }
  const version = text('version')
  return {
    view,
    id,
    tab: tabs.find((tab) => tab === text('tab')) ?? 'columns',
    filter: text('filter'),
    version: version !== undefined && /^\d{1,15}$/.test(version) ? Number(version) : undefined,
    tag: text('tag'),
    branch: text('branch'),
    at: text('at'),
  }
}

/** The fragment of a view, with its `#`. */
export function formatRoute(route: Route): string {
  if (route.view === 'activity') return `#/activity${queryOf({ transaction: route.transaction })}`
  const path = route.id.map((name) => `/${encodeURIComponent(name)}`).join('')
  if (route.view === 'namespace') return `#/namespace${path}`
  const { tab, filter, version, tag, branch, at } = route
  const shownTab = tab === 'columns' ? undefined : tab
  return `#/table${path}${queryOf({ tab: shownTab, version, tag, branch, at, filter })}`
}

function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return query === '' ? '' : `?${query}`
}

/** The token in a fragment, which `tabularium open` puts there. */
export function tokenIn(fragment: string): string | undefined {
  return new URLSearchParams(fragment.replace(/^#/, '')).get('token') || undefined
}
