import type { Identifier } from '../../base/model/identifier.ts'
import { tableFacts } from '../catalog-facts.ts'
import { useLoaded } from '../hooks.ts'
import type { RecentTable } from '../model/recent-tables.ts'
import { formatRoute } from '../model/route.ts'
import { plainText, rowsText, shownBytes } from '../model/text.ts'
import { Lines } from '../parts/lines.tsx'
import { Path, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'

interface Props {
  readonly tables: readonly RecentTable[]
  /** The namespace of the view: names are shown below it. */
  readonly below: Identifier
  readonly revision: number
}

const columns = [
  { name: 'Name' },
  { name: 'Version', isNumber: true },
  { name: 'Rows', isNumber: true },
  { name: 'Size', isNumber: true },
  { name: 'Changed (UTC)' },
]

/** Tables with their latest versions and sizes, each fetched by itself, and again when it changes. */
export function RecentTables({ tables, below, revision }: Props) {
  return (
    <section class="recent">
      <h2 id="recent">Tables, the last changed first</h2>
      <Lines label="recent" columns={columns} class="tables-of">
        {tables.map((table) => (
          <TableLine key={JSON.stringify(table.id)} table={table} below={below} revision={revision} />
        ))}
      </Lines>
    </section>
  )
}

function TableLine({
  table: { id, change },
  below,
  revision,
}: {
  readonly table: RecentTable
  readonly below: Identifier
  readonly revision: number
}) {
  const { value, error, loading } = useLoaded((signal) => tableFacts(id, signal), [id], [revision, change])
  if (value === undefined && !loading && error === undefined) return null
  const { kind, version, millis, operation, rows, bytes } = value ?? {}
  const namespace = id.slice(below.length, -1)
  return (
    <div role="row" class="line">
      <span role="cell" class="subject">
        <a href={formatRoute({ view: 'table', id, tab: 'columns' })} title={id.map(plainText).join(' › ')}>
          {namespace.length > 0 && (
            <>
              <Path id={namespace} />
              {' › '}
            </>
          )}
          <Text text={id.at(-1)!} />
        </a>
        {kind !== undefined && kind !== 'Table' && <span class="badge">{kind}</span>}
        {error !== undefined && <span class="faint"> (not read)</span>}
      </span>
      <span role="cell" class="number">
        {version !== undefined && <span class="unit">version </span>}
        {version ?? ''}
      </span>
      <span role="cell" class="number">
        {rows !== undefined && rowsText(rows)}
      </span>
      <span role="cell" class="number">
        {bytes !== undefined && shownBytes(bytes)}
      </span>
      <span role="cell" class="faint">
        {millis !== undefined ? <Time millis={millis} /> : value && 'no version yet'}
        {operation && ` ${plainText(operation)}`}
      </span>
    </div>
  )
}
