import { useState } from 'preact/hooks'
import type { Route } from '../model/route.ts'
import { settings } from '../server.ts'
import { chooseTheme, chosenTheme, type Theme, themeNames, themes } from '../theme.ts'

/** The header: where one is, the pages, and the theme. */
export function Header({
  route,
  browse,
  onForget,
}: {
  readonly route: Route
  /** Opens and closes the navigation on small screens; undefined while there is none. */
  readonly browse?: { readonly isOpen: boolean; readonly toggle: () => void } | undefined
  /** Forgets the token; undefined while there is none. */
  readonly onForget?: (() => void) | undefined
}) {
  return (
    <header>
      {browse && (
        <button
          type="button"
          class="browse"
          aria-expanded={browse.isOpen}
          aria-controls="browse"
          onClick={browse.toggle}
        >
          Browse
        </button>
      )}
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

function ThemeChoice() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <label class="theme">
      <span class="unseen">Colors</span>
      <select
        value={theme}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Theme
          setTheme(chosen)
          chooseTheme(chosen)
        }}
      >
        {themes.map((name) => (
          <option key={name} value={name}>
            {themeNames[name]}
          </option>
        ))}
      </select>
    </label>
  )
}
