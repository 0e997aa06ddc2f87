import { useState } from 'preact/hooks'
import { useLoaded } from '../hooks.ts'
import { type Difference, differenceOf, type VersionFacts } from '../model/difference.ts'
import type { Version } from '../model/history.ts'
import { formatRoute, type TableRoute } from '../model/route.ts'
import { plainText, rowsText, shownCount, signed } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { factsOf } from '../version-facts.ts'
import { RowChangesView } from './row-changes.tsx'

/** Two versions of a branch that are compared. */
export interface Compared {
  readonly from: number | undefined
  readonly to: Version
  readonly branch: string | undefined
}

/** A comparison of two versions: their numbers of rows, columns and metadata, and the rows that differ. */
export function Comparison({
  location,
  route,
  given,
}: {
  readonly location: string
  readonly route: TableRoute
  readonly given: Compared
}) {
  const [from, setFrom] = useState(String(given.from ?? ''))
  const { branch } = given
  const { version: to, transaction_id: transaction, operation } = given.to
  const history = { id: route.id, location, branch }
  const before = /^\d{1,15}$/.test(from) ? Number(from) : undefined
  const { value, error } = useLoaded(async () => {
    const [earlier, later] = await Promise.all([
      before === undefined ? undefined : factsOf(history, before),
      factsOf(history, to),
    ])
    return { earlier, later, difference: earlier && differenceOf(earlier, later) }
  }, [history, before, to])
  const rowsOf = (version: number) =>
    formatRoute({ ...route, tab: 'rows', version, tag: undefined, at: undefined, branch })
  return (
    <section class="compared" aria-label={`What changed up to version ${to}`}>
      <div class="compared-head">
        <h2>
          <label>
            From version{' '}
            <input
              class="small"
              inputMode="numeric"
              value={from}
              onInput={(event) => setFrom(event.currentTarget.value)}
            />
          </label>{' '}
          to version {to}
          {branch && (
            <>
              {' '}
              of <Text text={branch} />
            </>
          )}
        </h2>
        <p>
          {transaction !== undefined && (
            <>
              Made by{' '}
              <a href={formatRoute({ view: 'activity', transaction })}>
                {operation === undefined
                  ? 'a transaction that is not recorded any more'
                  : plainText(operation)}
              </a>
              {' · '}
            </>
          )}
          <a href={rowsOf(to)}>Rows of version {to}</a>
          {before !== undefined && (
            <>
              {' · '}
              <a href={rowsOf(before)}>Rows of version {before}</a>
            </>
          )}
        </p>
      </div>
      {error !== undefined && <Failure error={error} />}
      {value && (
        <div aria-live="polite">
          {value.earlier && value.difference ? (
            <Changes before={value.earlier} after={value.later} difference={value.difference} />
          ) : (
            <p>
              {given.from === undefined ? 'This is the first version. ' : ''}
              {value.later.rows === undefined ? '' : `It has ${rowsText(value.later.rows)}.`}
            </p>
          )}
        </div>
      )}
      {value?.later.fields && before !== undefined && before !== to && (
        <RowChangesView
          key={`${before} ${to}`}
          id={route.id}
          branch={branch}
          from={before}
          to={to}
          fields={value.later.fields}
        />
      )}
    </section>
  )
}

function Changes({
  before,
  after,
  difference,
}: {
  readonly before: VersionFacts
  readonly after: VersionFacts
  readonly difference: Difference
}) {
  const { rows, deletedRows, columnsAdded, columnsRemoved, columnsChanged, metadataChanged } = difference
  return (
    <ul>
      {rows === undefined ? (
        <li>The catalog does not know how many rows these versions have.</li>
      ) : (
        <li>
          {rowsText(before.rows ?? 0)}, then {rowsText(after.rows ?? 0)}: {signed(rows)}
        </li>
      )}
      {!!deletedRows && (
        <li>
          Deleted rows that are still stored: {shownCount(before.deletedRows ?? 0)}, then{' '}
          {shownCount(after.deletedRows ?? 0)}
        </li>
      )}
      <Names label="Columns added" names={columnsAdded} />
      <Names label="Columns removed" names={columnsRemoved} />
      <Names label="Columns of another type" names={columnsChanged} />
      <Names label="Metadata changed" names={metadataChanged} />
    </ul>
  )
}

function Names({ label, names }: { readonly label: string; readonly names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <li>
      {label}:{' '}
      {names.slice(0, 100).map((name, index) => (
        <>
          {index > 0 && ', '}
          <Text text={name} />
        </>
      ))}
    </li>
  )
}
