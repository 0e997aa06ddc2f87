import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import type { ViewProps } from '../hooks.ts'
import { announce } from '../hooks.ts'
import { formatRoute, parseRoute, type Route, startRoute, tokenIn } from '../model/route.ts'
import { useRefreshCounters } from '../refresh-counters.ts'
import { onUnauthenticated, settings, token } from '../server.ts'
import { Activity } from './activity.tsx'
import { NamespaceView } from './namespace.tsx'
import { Sidebar } from './sidebar.tsx'
import { TableView } from './table.tsx'

/** The whole page. */
export function App() {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  const [missing, setMissing] = useState(
    settings.token && token.get() === undefined ? 'This server asks for a token.' : undefined,
  )
  /** Counts changes by this page, and new tokens. A higher count triggers a reload. */
  const [revision, setRevision] = useState(0)
  const changed = () => setRevision((before) => before + 1)
  /** The namespace whose tables are listed. It stays when a table in a nested namespace is opened. */
  const [listedNamespace, setListedNamespace] = useState<Identifier>(() => namespaceOf(route) ?? [])

  useEffect(() => {
    const move = () => {
      const given = tokenIn(location.hash)
      if (given !== undefined) {
        token.set(given)
        history.replaceState(null, '', formatRoute(startRoute))
        setMissing(undefined)
        changed()
      }
      const next = parseRoute(location.hash)
      setRoute(next)
      if (next.view === 'namespace') setListedNamespace(next.id)
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

  const counters = useRefreshCounters(
    route,
    listedNamespace,
    missing === undefined ? (token.get() ?? '') : undefined,
  )

  const name = route.view === 'activity' ? 'Activity' : (route.id.at(-1) ?? 'Catalog')
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
          <a href="#/namespace" aria-current={route.view === 'activity' ? undefined : 'page'}>
            Catalog
          </a>
          <a href="#/activity" aria-current={route.view === 'activity' ? 'page' : undefined}>
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
          <Sidebar route={route} namespace={listedNamespace} revision={revision} counters={counters} />
          <main id="main" tabIndex={-1}>
            <View route={route} revision={revision} counters={counters} changed={changed} />
          </main>
        </div>
      )}
      <div id="status" role="status" class="unseen" />
    </>
  )
}

function namespaceOf(route: Route): Identifier | undefined {
  if (route.view === 'table') return route.id.slice(0, -1)
  return route.view === 'namespace' ? route.id : undefined
}

function View({ route, ...props }: ViewProps & { readonly route: Route }) {
  if (route.view === 'activity') return <Activity transaction={route.transaction} {...props} />
  if (route.view === 'table') return <TableView key={JSON.stringify(route.id)} route={route} {...props} />
  return <NamespaceView key={JSON.stringify(route.id)} id={route.id} {...props} />
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

/** A form for a token, which is kept in this tab only. */
function TokenForm({
  message,
  onGiven,
}: {
  readonly message: string
  readonly onGiven: (token: string) => void
}) {
  const [given, setGiven] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault()
        if (given.trim() !== '') onGiven(given.trim())
      }}
    >
      <h1>Token</h1>
      <p role="alert">{message}</p>
      <label class="field">
        <span>Token or key</span>
        <input
          ref={field}
          type="password"
          autocomplete="off"
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <p class="faint">
        It is kept for this tab until you close it, and sent to this server only. Whoever runs the server
        gives it to you; <code>tabularium open</code> brings one of its own.
      </p>
      <button type="submit" class="primary">
        Go on
      </button>
    </form>
  )
}
