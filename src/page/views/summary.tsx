import { useEffect, useRef, useState } from 'preact/hooks'
import type { Identifier } from '../../base/model/identifier.ts'
import { type Count, countTables, type NamespaceFacts, type Running } from '../catalog-facts.ts'
import { shownCount } from '../model/text.ts'

/** The counts at the top of a namespace. */
export function Summary({
  id,
  facts: { tableCount, namespaceCount },
  running,
  dropped,
  upkeep,
}: {
  readonly id: Identifier
  readonly facts: NamespaceFacts
  readonly running: Running | undefined
  readonly dropped: Count | undefined
  readonly upkeep: string | undefined
}) {
  return (
    <dl class="facts">
      <div>
        <dt>Tables</dt>
        <dd>
          <TableCount id={id} counted={tableCount} />
        </dd>
      </div>
      <div>
        <dt>{id.length === 0 ? 'Namespaces at the root' : 'Namespaces inside'}</dt>
        <dd>{countText(namespaceCount)}</dd>
      </div>
      {dropped && dropped.count > 0 && (
        <div>
          <dt>Dropped, held</dt>
          <dd>{countText(dropped)}</dd>
        </div>
      )}
      {running && (
        <div>
          <dt>Transactions under way</dt>
          <dd>
            <a href="#/activity">
              {countText({ count: running.transactions.length, isMore: running.isMore })}
            </a>
          </dd>
        </div>
      )}
      {upkeep && (
        <div>
          <dt>Upkeep</dt>
          <dd class="words">{upkeep}</dd>
        </div>
      )}
    </dl>
  )
}

function countText({ count, isMore }: Count): string {
  return `${shownCount(count)}${isMore ? '+' : ''}`
}

/** A count of tables. Where there are many, all are counted on demand: that reads all of their names. */
function TableCount({ id, counted }: { readonly id: Identifier; readonly counted: Count }) {
  const [whole, setWhole] = useState<Count | 'counting'>()
  const controller = useRef<AbortController>()
  useEffect(() => () => controller.current?.abort(), [])
  if (!counted.isMore) return <>{countText(counted)}</>
  const count = () => {
    controller.current = new AbortController()
    setWhole('counting')
    countTables(id, controller.current.signal).then(setWhole, () => setWhole(undefined))
  }
  return (
    <>
      {countText(typeof whole === 'object' ? whole : counted)}{' '}
      {typeof whole !== 'object' && (
        <button type="button" class="small" disabled={whole === 'counting'} onClick={count}>
          {whole === 'counting' ? 'Counting…' : 'Count all'}
        </button>
      )}
    </>
  )
}
