import { useState } from 'preact/hooks'
import type { Dropped, DroppedTable } from '../catalog-facts.ts'
import { navigate } from '../hooks.ts'
import { Dialog, Field } from '../parts/dialog.tsx'
import { Path } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { post, settings } from '../server.ts'

/** The dropped tables that are held, each with a button to bring it back. */
export function DroppedTables({
  dropped: { tables, isMore },
  changed,
}: {
  readonly dropped: Dropped
  readonly changed: () => void
}) {
  const [chosen, setChosen] = useState<DroppedTable>()
  return (
    <section>
      <h2 id="dropped">Dropped tables that can be brought back</h2>
      <div role="table" class="lines dropped" aria-labelledby="dropped">
        <div role="row" class="line head">
          <span role="columnheader">Name</span>
          <span role="columnheader">Dropped (UTC)</span>
          <span role="columnheader">Held until (UTC)</span>
          {settings.editable && (
            <span role="columnheader">
              <span class="unseen">Change</span>
            </span>
          )}
        </div>
        {tables.map((table) => (
          <div role="row" class="line" key={table.table_id}>
            <span role="cell" class="subject">
              <Path id={table.id} />
            </span>
            <span role="cell" class="faint">
              <span class="unit">dropped </span>
              <Time millis={Date.parse(table.dropped_at)} />
            </span>
            <span role="cell" class="faint">
              <span class="unit">held until </span>
              <Time millis={Date.parse(table.retained_until)} />
            </span>
            {settings.editable && (
              <span role="cell">
                <button type="button" onClick={() => setChosen(table)}>
                  Bring back
                </button>
              </span>
            )}
          </div>
        ))}
      </div>
      {isMore && <p class="faint">And more: tabularium dropped lists all.</p>}
      {chosen && <Undrop table={chosen} changed={changed} onClose={() => setChosen(undefined)} />}
    </section>
  )
}

function Undrop({
  table: { id, table_id },
  changed,
  onClose,
}: {
  readonly table: DroppedTable
  readonly changed: () => void
  readonly onClose: () => void
}) {
  const [name, setName] = useState(id.at(-1)!)
  const isSame = name === id.at(-1)
  const run = () =>
    post('table', id, 'undrop', { body: { table_id, ...(isSame ? {} : { new_table_name: name }) } })
  return (
    <Dialog
      title="Bring back table"
      act="Bring back"
      isReady={name !== ''}
      run={run}
      changed={changed}
      onClose={onClose}
      done="The table is back."
      onDone={() => navigate({ view: 'table', id: [...id.slice(0, -1), name], tab: 'columns' })}
    >
      <p>
        <Path id={id} /> comes back with its rows, versions, tags and branches. If another table has its name
        by now, give it a new one.
      </p>
      <Field label="Name" value={name} onInput={setName} />
    </Dialog>
  )
}
