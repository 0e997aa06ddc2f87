import { useLoaded, type ViewProps } from '../hooks.ts'
import { type LatestChange, type ListedTransaction, latestChanges } from '../model/latest.ts'
import { formatRoute } from '../model/route.ts'
import { plainText } from '../model/text.ts'
import { Lines } from '../parts/lines.tsx'
import { Path, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { listTransactions, seenTransactions } from '../server.ts'

/** How many succeeded transactions are requested. */
const maxEnded = 50

/** The latest changes of all callers: from the stream, and older ones from the list of transactions. */
export function useLatest({ revision, counters }: Pick<ViewProps, 'revision' | 'counters'>) {
  const { value, error, again } = useLoaded(
    (signal) =>
      listTransactions<{ readonly transactions: readonly ListedTransaction[] }>(
        { status: ['Succeeded'], limit: maxEnded },
        signal,
      ),
    [],
    [revision, counters.open],
  )
  const changes = latestChanges(counters.latest, value?.transactions ?? [])
  return { changes, error, again, isLoaded: value !== undefined }
}

const columns = [
  { name: 'Time (UTC)' },
  { name: 'Operation' },
  { name: 'Subject' },
  { name: 'Version', isNumber: true },
]

/** A table of changes, latest first. */
export function ChangeTable({
  changes,
  label,
}: {
  readonly changes: readonly LatestChange[]
  /** The id of the heading. */
  readonly label: string
}) {
  const own = new Set(seenTransactions().map(({ id }) => id))
  return (
    <Lines label={label} columns={columns} class="changes">
      {changes.map((change) => (
        <ChangeLine key={change.key} change={change} isOwn={own.has(change.transaction)} />
      ))}
    </Lines>
  )
}

function ChangeLine({ change, isOwn }: { readonly change: LatestChange; readonly isOwn: boolean }) {
  const { millis, transaction, operation, id, route, version, by, further } = change
  return (
    <div role="row" class="line">
      <span role="cell" class="faint">
        <Time millis={millis} />
      </span>
      <span role="cell">
        <a href={formatRoute({ view: 'activity', transaction })}>{plainText(operation)}</a>
        {isOwn ? (
          <span class="faint"> by this page</span>
        ) : (
          by !== undefined && (
            <span class="faint">
              {' '}
              by <Text text={by} />
            </span>
          )
        )}
      </span>
      <span role="cell" class="subject">
        {route ? (
          <a href={formatRoute(route)}>
            <Path id={id} root="Catalog" />
          </a>
        ) : (
          <Path id={id} root="Catalog" />
        )}
        {further > 0 && <span class="faint"> and {further} more</span>}
      </span>
      <span role="cell" class="number">
        {version ?? ''}
      </span>
    </div>
  )
}
