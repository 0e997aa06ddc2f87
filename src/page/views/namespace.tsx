import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import type { ViewProps } from '../hooks.ts'
import { useLoaded } from '../hooks.ts'
import { Failure } from '../parts/failure.tsx'
import { Path, Properties } from '../parts/text.tsx'
import { get, post, settings } from '../server.ts'
import { CreateNamespace, CreateTable, DropNamespace } from './changes.tsx'

interface Found {
  readonly properties: Readonly<Record<string, string>>
  readonly isEmpty: boolean
}

/** The view of a namespace. */
export function NamespaceView({ id, revision, counters, changed }: ViewProps & { readonly id: Identifier }) {
  const [open, setOpen] = useState<'namespace' | 'table'>()
  /** The namespace as it was when the drop dialog opened. */
  const [dropped, setDropped] = useState<Found>()
  const { value, error, again } = useLoaded((signal) => describe(id, signal), [id], [revision, counters.open])
  const close = () => setOpen(undefined)
  return (
    <article>
      <p class="eyebrow">{id.length === 0 ? 'Catalog' : 'Namespace'}</p>
      <h1>
        <Path id={id} root="All namespaces" />
      </h1>
      {error !== undefined && <Failure error={error} again={again} />}
      {value && (
        <>
          {value.isEmpty && <Empty isRoot={id.length === 0} />}
          {!value.isEmpty && <p>Choose a table on the left.</p>}
          {id.length > 0 && (
            <section>
              <h2>Properties</h2>
              <Properties entries={value.properties} empty="None." />
            </section>
          )}
          {settings.editable && (
            <section class="actions" aria-label="Changes">
              <button type="button" onClick={() => setOpen('table')}>
                New table
              </button>
              <button type="button" onClick={() => setOpen('namespace')}>
                New namespace
              </button>
              {id.length > 0 && (
                <button type="button" class="danger" onClick={() => setDropped(value)}>
                  Drop namespace
                </button>
              )}
            </section>
          )}
        </>
      )}
      {open === 'table' && <CreateTable namespace={id} changed={changed} onClose={close} />}
      {open === 'namespace' && <CreateNamespace parent={id} changed={changed} onClose={close} />}
      {dropped && (
        <DropNamespace
          id={id}
          properties={dropped.properties}
          changed={changed}
          onClose={() => setDropped(undefined)}
        />
      )}
    </article>
  )
}

async function describe(id: Identifier, signal: AbortSignal): Promise<Found> {
  const [{ properties = {} }, { tables }, { namespaces }] = await Promise.all([
    post<{ properties?: Record<string, string> }>('namespace', id, 'describe', { body: {}, signal }),
    get<{ tables: string[] }>('namespace', id, 'table/list', { query: { limit: 1 }, signal }),
    get<{ namespaces: string[] }>('namespace', id, 'list', { query: { limit: 1 }, signal }),
  ])
  return { properties, isEmpty: tables.length === 0 && namespaces.length === 0 }
}

function Empty({ isRoot }: { readonly isRoot: boolean }) {
  return (
    <div class="note">
      <p>
        <strong>{isRoot ? 'This catalog is empty.' : 'This namespace is empty.'}</strong>
      </p>
      <p>
        {settings.editable
          ? 'Create a table here, or from the command line:'
          : 'Create a table from the command line:'}
      </p>
      <pre>tabularium create {location.origin} flights --data flights.csv</pre>
    </div>
  )
}
