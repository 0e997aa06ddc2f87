import { useEffect, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { type Fresh, useFresh } from '../fresh.ts'
import { announce } from '../hooks.ts'
import { type Place, readPlace, start, tokenIn, writePlace } from '../model/place.ts'
import { onUnauthenticated, settings, token } from '../server.ts'
import { Activity } from './activity.tsx'
import { NamespaceView } from './namespace.tsx'
import { Sidebar } from './sidebar.tsx'
import { TableView } from './table.tsx'
import { TokenForm } from './token.tsx'

/** Navigates at once. The browser fires `hashchange` later, and a key press before it would act on the old view. */
export function go(place: Place): void {
  location.hash = writePlace(place)
  window.dispatchEvent(new Event('hashchange'))
}

/** The whole page. */
export function App() {
  const [place, setPlace] = useState(() => readPlace(location.hash))
  const [missing, setMissing] = useState(
    settings.token && token.get() === undefined ? 'This server asks for a token.' : undefined,
  )
  /** Counts changes by this page, and new tokens. A higher count triggers a reload. */
  const [revision, setRevision] = useState(0)
  const changed = () => setRevision((before) => before + 1)
  /** The namespace whose tables are listed. It stays when a table in a nested namespace is opened. */
  const [listed, setListed] = useState<Identifier>(() => namespaceOf(place) ?? [])

  useEffect(() => {
    const move = () => {
      const given = tokenIn(location.hash)
      if (given !== undefined) {
        token.set(given)
        history.replaceState(null, '', writePlace(start))
        setMissing(undefined)
        changed()
      }
      const next = readPlace(location.hash)
      setPlace(next)
      if (next.view === 'namespace') setListed(next.id)
    }
    window.addEventListener('hashchange', move)
    const stop = onUnauthenticated(() => {
      if (settings.token) setMissing('The server does not take this token: it is wrong, or has expired.')
    })
    return () => {
      window.removeEventListener('hashchange', move)
      stop()
    }
  }, [])

  const fresh = useFresh(place, listed, missing === undefined ? (token.get() ?? '') : undefined)

  const name = place.view === 'activity' ? 'Activity' : (place.id.at(-1) ?? 'Catalog')
  useEffect(() => {
    document.title = `${name} · Tabularium`
  }, [name])

  const isLocked = missing !== undefined
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header>
        <a class="brand" href="#/namespace">
          <span class="mark" aria-hidden="true" />
          Tabularium
        </a>
        <span class="faint host">{location.host}</span>
        {!settings.editable && <span class="badge">read-only</span>}
        <nav aria-label="Pages">
          <a href="#/namespace" aria-current={place.view === 'activity' ? undefined : 'page'}>
            Catalog
          </a>
          <a href="#/activity" aria-current={place.view === 'activity' ? 'page' : undefined}>
            Activity
          </a>
          <a href="docs">API</a>
        </nav>
        <Theme />
        {settings.token && !isLocked && (
          <button
            type="button"
            onClick={() => {
              token.forget()
              setMissing('The token is forgotten. Give one to go on.')
            }}
          >
            Forget token
          </button>
        )}
      </header>
      {isLocked ? (
        <main id="main" tabIndex={-1}>
          <TokenForm
            message={missing}
            onGiven={(given) => {
              token.set(given)
              setMissing(undefined)
              changed()
              announce('Token taken.')
            }}
          />
        </main>
      ) : (
        <div class="columns">
          <Sidebar place={place} namespace={listed} revision={revision} fresh={fresh} />
          <main id="main" tabIndex={-1}>
            <View place={place} revision={revision} fresh={fresh} changed={changed} />
          </main>
        </div>
      )}
      <div id="status" role="status" class="unseen" />
    </>
  )
}

function namespaceOf(place: Place): Identifier | undefined {
  if (place.view === 'table') return place.id.slice(0, -1)
  return place.view === 'namespace' ? place.id : undefined
}

export interface ViewProps {
  /** Counts changes by this page. A higher count triggers a reload. */
  readonly revision: number
  /** Counts changes from the stream. */
  readonly fresh: Fresh
  readonly changed: () => void
}

function View({ place, ...props }: ViewProps & { readonly place: Place }) {
  if (place.view === 'activity') return <Activity transaction={place.transaction} {...props} />
  if (place.view === 'table') return <TableView key={JSON.stringify(place.id)} place={place} {...props} />
  return <NamespaceView key={JSON.stringify(place.id)} id={place.id} {...props} />
}

/** Moves the focus without changing the fragment, which names the view. */
function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}

const themes = ['auto', 'light', 'dark'] as const

function Theme() {
  const [theme, setTheme] = useState(() => localStorage.getItem('tabularium-theme') ?? 'auto')
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    localStorage.setItem('tabularium-theme', theme)
  }, [theme])
  return (
    <label class="theme">
      <span class="unseen">Colors</span>
      <select value={theme} onChange={(event) => setTheme(event.currentTarget.value)}>
        {themes.map((name) => (
          <option key={name} value={name}>
            {name === 'auto' ? 'as the system' : name}
          </option>
        ))}
      </select>
    </label>
  )
}
