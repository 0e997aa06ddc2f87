import { useEffect, useState } from 'preact/hooks'
import { runningTransactions } from '../catalog-facts.ts'
import { navigate, useLoaded, type ViewProps } from '../hooks.ts'
import { formatRoute } from '../model/route.ts'
import { plainText } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Properties, Text } from '../parts/text.tsx'
import { Time } from '../parts/time.tsx'
import { post, seenTransactions, settings } from '../server.ts'
import { CancelTransaction } from './changes.tsx'
import { ChangeTable, useLatest } from './latest.tsx'

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

/** The most pages of transactions to read. */
const maxPages = 20

/** The running transactions of all callers, with links to view or cancel them. */
function RunningTransactions({ revision, counters }: Pick<ViewProps, 'revision' | 'counters'>) {
  const { value, error, again } = useLoaded(
    (signal) => runningTransactions(maxPages, signal),
    [],
    [revision, counters.open],
  )
  return (
    <section>
      <div class="title">
        <h2>Under way</h2>
        <button type="button" onClick={again}>
          Look again
        </button>
      </div>
      {error !== undefined && <Failure error={error} again={again} />}
      {value?.transactions.length === 0 && <p class="faint">Nothing is under way.</p>}
      {value && value.transactions.length > 0 && (
        <ul class="entries">
          {value.transactions.map(({ transaction_id, operation, subject, created_at }) => (
            <li key={transaction_id}>
              <a href={formatRoute({ view: 'activity', transaction: transaction_id })}>
                {plainText(transaction_id)}
              </a>{' '}
              <span class="faint">
                <Time millis={Date.parse(created_at)} />{' '}
                <Text text={[operation, subject.join(' / ')].join(' ')} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** The latest changes of all callers. */
function Latest(props: Pick<ViewProps, 'revision' | 'counters'>) {
  const { changes, error, again, isLoaded } = useLatest(props)
  return (
    <section>
      <h2 id="latest">Latest changes</h2>
      {error !== undefined && <Failure error={error} again={again} />}
      {changes.length === 0 && isLoaded && <p class="faint">Nothing was changed yet.</p>}
      {changes.length > 0 && <ChangeTable changes={changes} label="latest" />}
    </section>
  )
}

function TransactionList({ entries }: { readonly entries: ReturnType<typeof seenTransactions> }) {
  return (
    <ul class="entries">
      {entries.map(({ id, what, at, failure }) => (
        <li key={id}>
          <a href={formatRoute({ view: 'activity', transaction: id })}>{plainText(id)}</a>{' '}
          <span class="faint">
            <Time millis={at} /> <Text text={what} />
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
