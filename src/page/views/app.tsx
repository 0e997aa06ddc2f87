import { useEffect, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import type { ViewProps } from '../hooks.ts'
import { announce } from '../hooks.ts'
import { formatRoute, parseRoute, type Route, startRoute, tokenIn } from '../model/route.ts'
import { useBrowse } from '../parts/browse.tsx'
import { useRefreshCounters } from '../refresh-counters.ts'
import { onUnauthenticated, settings, token } from '../server.ts'
import { Activity } from './activity.tsx'
import { Header } from './header.tsx'
import { NamespaceView } from './namespace.tsx'
import { Sidebar } from './sidebar.tsx'
import { TableView } from './table.tsx'
import { TokenForm } from './token-form.tsx'

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
  const browse = useBrowse('namespaces')

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
  const forget = () => {
    token.forget()
    setMissing('The token is forgotten. Give one to go on.')
  }
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Header
        route={route}
        browse={isLocked ? undefined : browse}
        onForget={settings.token && !isLocked ? forget : undefined}
      />
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
        <div class={browse.isOpen ? 'columns browsing' : 'columns'}>
          <Sidebar
            route={route}
            namespace={listedNamespace}
            revision={revision}
            counters={counters}
            onTable={browse.close}
          />
          {browse.isOpen && (
            // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, too
            <div class="scrim" onClick={browse.close} />
          )}
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
