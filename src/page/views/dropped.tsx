import { useState } from 'preact/hooks'
import type { Dropped, DroppedTable } from '../catalog-facts.ts'
import { Lines } from '../parts/lines.tsx'
import { Path } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { settings } from '../server.ts'
import { UndropTable } from './changes.tsx'

const columns = [{ name: 'Name' }, { name: 'Dropped (UTC)' }, { name: 'Held until (UTC)' }]
const change = { name: 'Change', isUnseen: true }

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
      <Lines label="dropped" columns={settings.editable ? [...columns, change] : columns} class="dropped">
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
      </Lines>
      {isMore && <p class="faint">And more: tabularium dropped lists all.</p>}
      {chosen && <UndropTable table={chosen} changed={changed} onClose={() => setChosen(undefined)} />}
    </section>
  )
}
