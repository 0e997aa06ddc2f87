import type { DataType } from '@uwdata/flechette'
import { useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { announce, useLoaded } from '../hooks.ts'
import { kindOf } from '../model/column-kind.ts'
import { givenWidth } from '../model/column-layout.ts'
import {
  type ChangeKind,
  countsOf,
  type RowChange,
  type RowChanges,
  rowChangesOf,
} from '../model/row-changes.ts'
import { decodeRows } from '../model/rows.ts'
import { type SchemaField, typeText } from '../model/schema.ts'
import { plainText, shownCount } from '../model/text.ts'
import { ownWidth } from '../model/visible-columns.ts'
import { useColumnLayout } from '../parts/column-layout.ts'
import { Failure } from '../parts/failure.tsx'
import { Grid, type GridCell, useGrid } from '../parts/grid.tsx'
import { MiddleText } from '../parts/middle-text.tsx'
import { Value, valueCell } from '../parts/value.tsx'
import { postForBytes } from '../server.ts'

/** How many rows that differ are read at first, of how many values at most, and at most at all. */
const firstRows = 200
const maxValues = 200_000
const mostRows = 10_000
/** The most columns that may tell rows apart. */
const maxKeys = 4

interface Asked {
  readonly id: Identifier
  readonly branch: string | undefined
  readonly from: number
  readonly to: number
}

/** Reads the first rows that differ. Where there are more, both versions have their first ones. */
async function changesOf(
  { id, branch, from, to }: Asked,
  keys: readonly string[],
  limit: number,
  signal: AbortSignal,
): Promise<RowChanges> {
  const nameOf = (version: number) => (branch === undefined ? version : `${branch}@${version}`)
  const ask = async (one: number, other: number) => {
    const on = keys.length > 0 ? keys : undefined
    const body = { from: nameOf(one), to: nameOf(other), on, limit: limit + 1 }
    return decodeRows(await postForBytes(id, 'changes', { body, signal }))
  }
  const answer = await ask(from, to)
  const other = answer.rows.length > limit ? await ask(to, from) : undefined
  return rowChangesOf(answer, other, keys, limit)
}

/** The rows that differ between two versions of a branch. */
export function RowChangesView({
  id,
  branch,
  from,
  to,
  fields,
}: Asked & { readonly fields: readonly SchemaField[] }) {
  const [layout, setLayout] = useColumnLayout(id)
  const names = new Set(fields.map(({ name }) => name))
  const keys = layout.keys.filter((key) => names.has(key))
  const [rounds, setRounds] = useState(0)
  const room = Math.max(10, Math.floor(maxValues / Math.max(1, fields.length)))
  const limit = Math.min(firstRows * 4 ** rounds, room, mostRows)
  const { value, error, loading, again } = useLoaded(
    async (signal) => {
      const changes = await changesOf({ id, branch, from, to }, keys, limit, signal)
      announce(countsText(changes))
      return changes
    },
    [id, branch, from, to, keys, limit],
  )
  const [kind, setKind] = useState<ChangeKind>()
  const canMore = value?.isCut && limit < Math.min(room, mostRows)
  return (
    <div class="row-changes">
      <div class="row-changes-head">
        <Keys fields={fields} keys={keys} onKeys={(chosen) => setLayout({ ...layout, keys: chosen })} />
        {value && <Counts changes={value} kind={kind} onKind={setKind} />}
        {loading && <span class="faint">Comparing rows…</span>}
        {value?.isCut && (
          <span class="faint">
            There are more: the first {shownCount(limit)} of each version are read.{' '}
            {canMore && (
              <button type="button" onClick={() => setRounds(rounds + 1)}>
                Read more
              </button>
            )}
          </span>
        )}
      </div>
      {error !== undefined && <Failure error={error} again={again} />}
      {value && (
        <ChangesGrid
          changes={value}
          shown={value.changes.filter((change) => kind === undefined || change.kind === kind)}
          fields={fields}
          widthOf={(name) => givenWidth(layout, name)}
        />
      )}
    </div>
  )
}

function countsText(changes: RowChanges): string {
  const { updated, inserted, deleted } = countsOf(changes)
  return `${updated} updated, ${inserted} inserted, ${deleted} deleted${changes.isCut ? ', and more' : ''}.`
}

const signs: Readonly<Record<ChangeKind, string>> = { updated: '~', inserted: '+', deleted: '−' }
const kinds = ['updated', 'inserted', 'deleted'] as const

/** How many rows changed in which way. Each count shows its rows alone. */
function Counts({
  changes,
  kind: chosen,
  onKind,
}: {
  readonly changes: RowChanges
  readonly kind: ChangeKind | undefined
  readonly onKind: (kind: ChangeKind | undefined) => void
}) {
  const counts = countsOf(changes)
  return (
    <span role="group" aria-label="Changes to show" class="counts">
      {kinds.map((kind) => (
        <button
          key={kind}
          type="button"
          class={`count ${kind}`}
          aria-pressed={chosen === kind}
          onClick={() => onKind(chosen === kind ? undefined : kind)}
        >
          {signs[kind]} {shownCount(counts[kind])}
          {changes.isCut ? ' or more' : ''} {kind}
        </button>
      ))}
    </span>
  )
}

/** Which columns tell rows apart. Without one, no row is known to be updated. */
function Keys({
  fields,
  keys,
  onKeys,
}: {
  readonly fields: readonly SchemaField[]
  readonly keys: readonly string[]
  readonly onKeys: (keys: readonly string[]) => void
}) {
  const offered = fields.filter(({ type }) => kindOf(type.type) !== 'other').slice(0, 1_000)
  const places = [...keys, ''].slice(0, maxKeys)
  return (
    <span class="keys">
      <span class="faint">Rows are the same by</span>
      {places.map((key, index) => (
        <select
          key={index}
          aria-label={index === 0 ? 'Rows are the same by' : 'And by'}
          value={key}
          onChange={(event) => {
            const chosen = [...keys]
            chosen.splice(index, 1, ...(event.currentTarget.value === '' ? [] : [event.currentTarget.value]))
            onKeys([...new Set(chosen)])
          }}
        >
          <option value="">{index === 0 ? 'all values' : 'and…'}</option>
          {offered.map(({ name }) => (
            <option key={name} value={name}>
              {plainText(name)}
            </option>
          ))}
        </select>
      ))}
    </span>
  )
}

/** The height of the head, in pixels. */
const headHeight = 43

function ChangesGrid({
  changes: { columns, types },
  shown,
  fields,
  widthOf,
}: {
  readonly changes: RowChanges
  readonly shown: readonly RowChange[]
  readonly fields: readonly SchemaField[]
  readonly widthOf: (name: string) => number | undefined
}) {
  const known = new Map(fields.map(({ name, type }) => [name, type]))
  const typeOf = (name: string) => (known.has(name) ? typeText(known.get(name)!) : '')
  const grid = useGrid(
    shown.length,
    columns.map((name) => {
      const width = widthOf(name)
      const own = ownWidth(name, known.get(name)?.type ?? '', typeOf(name))
      return { width: width ?? own, isFixed: width !== undefined }
    }),
    headHeight,
  )
  return (
    <Grid
      grid={grid}
      label="Rows that differ"
      empty="No rows differ."
      heads={[
        {
          class: 'grid-names',
          first: <span class="unseen">Change</span>,
          cell: (index) => ({
            content: (
              <span class="column-head" title={plainText(columns[index]!)}>
                <span class="column-name">
                  <MiddleText text={columns[index]!} />
                  <small class="faint">{typeOf(columns[index]!)}</small>
                </span>
              </span>
            ),
          }),
        },
      ]}
      rowClass={(row) => shown[row]!.kind}
      rowHead={(row) => (
        <>
          <span aria-hidden="true">{signs[shown[row]!.kind]}</span>
          <span class="unseen">{shown[row]!.kind}</span>
        </>
      )}
      cell={(row, column) => changeCell(shown[row]!, column, types[column]!)}
    />
  )
}

/** A value, or how it was and how it is. */
function changeCell({ before, after, changed }: RowChange, column: number, type: DataType): GridCell {
  if (!changed[column]) return valueCell(after ?? before, column, type)
  return {
    class: `${valueCell(after, column, type).class ?? ''} changed`,
    content: (
      <>
        <del>
          <Value value={before![column]} type={type} />
        </del>{' '}
        <ins>
          <Value value={after![column]} type={type} />
        </ins>
      </>
    ),
  }
}
