import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { announce } from '../hooks.ts'
import type { Description } from '../model/description.ts'
import { columnPath, typeText } from '../model/schema.ts'
import { shownCount } from '../model/text.ts'
import { Failure } from '../parts/failure.tsx'
import { Text } from '../parts/text.tsx'
import { post } from '../server.ts'

const maxColumns = 500

/** The columns of one version with their types. Nulls are counted on demand, since that reads the column. */
export function Columns({ id, description }: { readonly id: Identifier; readonly description: Description }) {
  const { version, branch } = description
  const fields = description.schema?.fields ?? []
  const [nulls, setNulls] = useState<ReadonlyMap<string, number>>()
  const [error, setError] = useState<unknown>()
  const [running, setRunning] = useState(false)
  const controller = useRef<AbortController>()
  useEffect(() => () => controller.current?.abort(), [])
  if (fields.length === 0) return null
  const shown = fields.slice(0, maxColumns)

  const count = async () => {
    controller.current = new AbortController()
    const { signal } = controller.current
    setRunning(true)
    setError(undefined)
    const found = new Map<string, number>()
    try {
      for (const { name } of shown) {
        const body = { predicate: `${columnPath(name)} IS NULL`, version, branch }
        found.set(name, await post<number>('table', id, 'count_rows', { body, signal }))
        setNulls(new Map(found))
      }
      announce('Rows without a value are counted.')
    } catch (failure) {
      if (!signal.aborted) setError(failure)
    }
    if (!signal.aborted) setRunning(false)
  }

  return (
    <section>
      <div class="title">
        <h2>Columns</h2>
        <button type="button" disabled={running} onClick={count}>
          {running ? 'Counting…' : 'Count nulls'}
        </button>
      </div>
      {error !== undefined && <Failure error={error} />}
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Type</th>
            <th scope="col">May be null</th>
            {nulls && (
              <th scope="col" class="number">
                Nulls
              </th>
            )}
            <th scope="col">Metadata</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ name, type, nullable, metadata = {} }, index) => (
            <tr key={index}>
              <th scope="row">
                <Text text={name} />
              </th>
              <td>
                <code>
                  <Text text={typeText(type)} />
                </code>
              </td>
              <td>{nullable ? 'yes' : 'no'}</td>
              {nulls && <td class="number">{nulls.has(name) ? shownCount(nulls.get(name)!) : '…'}</td>}
              <td class="faint">
                {Object.entries(metadata).map(([key, value]) => (
                  <div key={key}>
                    <Text text={`${key} = ${value.slice(0, 200)}`} />
                  </div>
                ))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {fields.length > maxColumns && (
        <p class="faint">
          The first {maxColumns} of {shownCount(fields.length)} columns.
        </p>
      )}
    </section>
  )
}
