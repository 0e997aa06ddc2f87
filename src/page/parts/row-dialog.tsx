import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { useLoaded } from '../hooks.ts'
import { decodeRows } from '../model/rows.ts'
import { columnPath } from '../model/schema.ts'
import { shownCount } from '../model/text.ts'
import { maxCharacters } from '../model/values.ts'
import { postForBytes } from '../server.ts'
import { Failure } from './failure.tsx'
import { Text } from './text.tsx'
import { Value } from './value.tsx'

/** The most columns that a row is shown with. */
const maxColumns = 500

/** A row with all its columns, those too that the grid hides. */
export function RowDialog({
  id,
  row,
  query,
  columns,
  onClose,
}: {
  readonly id: Identifier
  readonly row: number
  readonly query: Readonly<Record<string, unknown>>
  readonly columns: readonly { readonly name: string; readonly shownType: string }[]
  readonly onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  /** The query when the dialog opened. Another row may have its number by now. */
  const kept = useRef({ query, shown: columns.slice(0, maxColumns) })
  const { shown } = kept.current
  const { value, error, again } = useLoaded(
    async (signal) => {
      const paths = shown.map(({ name }) => columnPath(name))
      const body = { ...kept.current.query, columns: paths, offset: row, limit: 1 }
      return decodeRows(await postForBytes(id, 'query', { body, signal }))
    },
    [row],
  )
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null
    dialog.current?.showModal()
    return () => before?.focus()
  }, [])
  const values = value?.rows[0]
  return (
    <dialog ref={dialog} class="wide" aria-labelledby="row-title" onClose={onClose}>
      <h2 id="row-title">Row {shownCount(row + 1)}</h2>
      {error !== undefined && <Failure error={error} again={again} />}
      <dl class="properties">
        {shown.map(({ name, shownType }, index) => (
          <div key={index}>
            <dt>
              <Text text={name} /> <small class="faint">{shownType}</small>
            </dt>
            <dd class="value">
              {values === undefined ? (
                '…'
              ) : (
                <Value value={values[index]} type={value!.types[index]!} most={maxCharacters} />
              )}
            </dd>
          </div>
        ))}
      </dl>
      {columns.length > maxColumns && (
        <p class="faint">
          The first {maxColumns} of {shownCount(columns.length)} columns.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  )
}
