import { useEffect, useState } from 'preact/hooks'
import { navigate, useLoaded, type ViewProps } from '../hooks.ts'
import { type LatestChange, type ListedTransaction, latestChanges } from '../model/latest.ts'
import { formatRoute } from '../model/route.ts'
import { plainText, shownTime } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Path, Properties, Text } from '../parts/text.tsx'
import { listTransactions, post, seenTransactions, settings } from '../server.ts'
import { CancelTransaction } from './changes.tsx'

interface Transaction {
  readonly status: 'Queued' | 'Running' | 'Succeeded' | 'Failed' | 'Canceled'
  readonly properties: Readonly<Record<string, string>>
}

/** One transaction by id, the running ones, the latest changes, and those of this page. */
export function Activity({
  transaction,
  revision,
  counters,
  changed,
}: ViewProps & { readonly transaction: string | undefined }) {
  const [typed, setTyped] = useState(transaction ?? '')
  useEffect(() => setTyped(transaction ?? ''), [transaction])
  const seen = seenTransactions()
  const failed = seen.filter(({ failure }) => failure !== undefined)
  return (
    <article>
      <p class="eyebrow">Catalog</p>
      <h1>Activity</h1>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault()
          navigate({ view: 'activity', transaction: typed.trim() || undefined })
        }}
      >
        <label class="field">
          <span>Transaction</span>
          <input
            value={typed}
            spellcheck={false}
            autocomplete="off"
            placeholder="its id, such as 01JDZ6Y4M8Q3V0S1T2R3N4P5K6"
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Show
        </button>
      </form>
      {transaction && (
        <TransactionView
          key={transaction}
          transaction={transaction}
          revision={revision}
          counters={counters}
          changed={changed}
        />
      )}
      <RunningTransactions revision={revision} counters={counters} />
      <Latest revision={revision} counters={counters} />
      {failed.length > 0 && (
        <section>
          <h2>What went wrong here</h2>
          <TransactionList entries={failed} />
        </section>
      )}
      <section>
        <h2>Transactions of this page</h2>
        {seen.length === 0 ? (
          <p class="faint">
            None since it was opened. Every change answers with the id of its transaction, and so does every
            failed one; enter an id above to follow it.
          </p>
        ) : (
          <TransactionList entries={seen.filter(({ failure }) => failure === undefined)} />
        )}
      </section>
    </article>
  )
}

interface Listed {
  readonly transactions: readonly ListedTransaction[]
  readonly page_token?: string
}

/** The most pages to read. A page scans some thousand records, and running transactions are usually among the newest. */
const maxPages = 20

async function runningTransactions(signal: AbortSignal): Promise<Listed['transactions']> {
  const found: Listed['transactions'][number][] = []
  let page_token: string | undefined
  for (let pages = 0; pages < maxPages; pages++) {
    const body = { status: ['Queued', 'Running'], limit: 100, page_token }
    const page = await listTransactions<Listed>(body, signal)
    found.push(...page.transactions)
    page_token = page.page_token
    if (!page_token || found.length >= 100) break
  }
  return found
}

/** The running transactions of all callers, with links to view or cancel them. */
function RunningTransactions({ revision, counters }: Pick<ViewProps, 'revision' | 'counters'>) {
  const { value, error, again } = useLoaded(runningTransactions, [], [revision, counters.open])
  return (
    <section>
      <div class="title">
        <h2>Under way</h2>
        <button type="button" onClick={again}>
          Look again
        </button>
      </div>
      {error !== undefined && <Failure error={error} again={again} />}
      {value?.length === 0 && <p class="faint">Nothing is under way.</p>}
      {value && value.length > 0 && (
        <ul>
          {value.map(({ transaction_id, operation, subject, created_at }) => (
            <li key={transaction_id}>
              <a href={`#/activity?transaction=${encodeURIComponent(transaction_id)}`}>
                {plainText(transaction_id)}
              </a>{' '}
              <span class="faint">
                {shownTime(Date.parse(created_at))} <Text text={[operation, subject.join(' / ')].join(' ')} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** How many succeeded transactions are requested. */
const maxEnded = 50

/** The latest changes of all callers: from the stream, and older ones from the list of transactions. */
function Latest({ revision, counters }: Pick<ViewProps, 'revision' | 'counters'>) {
  const { value, error, again } = useLoaded(
    (signal) => listTransactions<Listed>({ status: ['Succeeded'], limit: maxEnded }, signal),
    [],
    [revision, counters.open],
  )
  const changes = latestChanges(counters.latest, value?.transactions ?? [])
  return (
    <section>
      <h2 id="latest">Latest changes</h2>
      {error !== undefined && <Failure error={error} again={again} />}
      {changes.length === 0 && value && <p class="faint">Nothing was changed yet.</p>}
      {changes.length > 0 && (
        <table aria-labelledby="latest">
          <thead>
            <tr>
              <th scope="col">Time (UTC)</th>
              <th scope="col">Operation</th>
              <th scope="col">Subject</th>
              <th scope="col" class="number">
                Version
              </th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <LatestRow key={change.key} change={change} />
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

function LatestRow({ change }: { readonly change: LatestChange }) {
  const { millis, transaction, operation, id, route, version, further } = change
  return (
    <tr>
      <td>{shownTime(millis)}</td>
      <td>
        <a href={formatRoute({ view: 'activity', transaction })}>{plainText(operation)}</a>
      </td>
      <td>
        {route ? (
          <a href={formatRoute(route)}>
            <Path id={id} root="Catalog" />
          </a>
        ) : (
          <Path id={id} root="Catalog" />
        )}
        {further > 0 && <span class="faint"> and {further} more</span>}
      </td>
      <td class="number">{version ?? ''}</td>
    </tr>
  )
}

function TransactionList({ entries }: { readonly entries: ReturnType<typeof seenTransactions> }) {
  return (
    <ul>
      {entries.map(({ id, what, at, failure }) => (
        <li key={id}>
          <a href={`#/activity?transaction=${encodeURIComponent(id)}`}>{plainText(id)}</a>{' '}
          <span class="faint">
            {shownTime(at)} <Text text={what} />
          </span>
          {failure && (
            <div>
              <Text text={failure} />
            </div>
          )}
        </li>
      ))}
    </ul>
  )
}

/** The interval for polling a running transaction, in milliseconds. */
const pollMillis = 2_000

function TransactionView({
  transaction,
  revision,
  counters,
  changed,
}: ViewProps & { readonly transaction: string }) {
  const [canceling, setCanceling] = useState(false)
  const { value, error, again } = useLoaded(
    (signal) => post<Transaction>('transaction', [transaction], 'describe', { body: {}, signal }),
    [transaction],
    [revision, counters.open],
  )
  const isAtWork = value?.status === 'Running' || value?.status === 'Queued'
  useEffect(() => {
    if (!isAtWork || canceling) return undefined
    const timer = setTimeout(again, pollMillis)
    return () => clearTimeout(timer)
  }, [value, canceling])
  return (
    <section>
      {error !== undefined && <Failure error={error} again={again} />}
      {value && (
        <>
          <div class="title">
            <h2>
              <span role="status" class={`state ${value.status.toLowerCase()}`}>
                {value.status}
              </span>{' '}
              {value.properties.operation}
            </h2>
            {isAtWork && settings.editable && (
              <button type="button" class="danger" onClick={() => setCanceling(true)}>
                Cancel transaction
              </button>
            )}
          </div>
          <Properties entries={value.properties} empty="No properties." />
        </>
      )}
      {canceling && (
        <CancelTransaction transaction={transaction} changed={changed} onClose={() => setCanceling(false)} />
      )}
    </section>
  )
}
