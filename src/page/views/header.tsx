import type { Route } from '../model/route.ts'
import { type Browse, BrowseButton } from '../parts/browse.tsx'
import { ThemeChoice } from '../parts/theme-choice.tsx'
import { settings } from '../server.ts'

/** The header: where one is, the pages, and the theme. */
export function Header({
  route,
  browse,
  onForget,
}: {
  readonly route: Route
  /** Opens and closes the navigation on small screens; undefined while there is none. */
  readonly browse?: Browse | undefined
  /** Forgets the token; undefined while there is none. */
  readonly onForget?: (() => void) | undefined
}) {
  return (
    <header>
      {browse && <BrowseButton {...browse} />}
      <a class="brand" href="#/namespace">
        <span class="mark" aria-hidden="true" />
        Tabularium
      </a>
      <span class="faint host">{location.host}</span>
      {!settings.editable && <span class="badge">read-only</span>}
      <nav aria-label="Pages">
        <a href="#/namespace" aria-current={route.view === 'activity' ? undefined : 'page'}>
          Catalog
        </a>
        <a href="#/activity" aria-current={route.view === 'activity' ? 'page' : undefined}>
          Activity
        </a>
        <a href="docs">API</a>
      </nav>
      <ThemeChoice />
      {onForget && (
        <button type="button" class="forget" onClick={onForget}>
          Forget token
        </button>
      )}
    </header>
  )
}
