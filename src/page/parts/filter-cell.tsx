import { useEffect, useState } from 'preact/hooks'
import { announce } from '../hooks.ts'
import {
  type ColumnFilter,
  type Operator,
  operatorSigns,
  operators,
  operatorsOf,
  takesValue,
  writeClause,
} from '../model/column-filter.ts'
import { plainText } from '../model/text.ts'

const hints: Readonly<Partial<Record<Operator, string>>> = { between: '1..5' }

/** What a column is filtered by. It takes effect at Enter, and when the focus leaves it. */
export function FilterCell({
  name,
  type,
  filter,
  onFilter,
}: {
  readonly name: string
  readonly type: string
  readonly filter: ColumnFilter | undefined
  readonly onFilter: (filter: ColumnFilter | undefined) => void
}) {
  const offered = operatorsOf(type)
  const known = JSON.stringify(filter)
  const [draft, setDraft] = useState<ColumnFilter | undefined>(filter)
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    setDraft(filter)
    setProblem(undefined)
  }, [known])
  const operator = draft?.operator ?? (takesValue(offered[0]!) ? offered[0]! : undefined)
  const apply = (next: ColumnFilter | undefined) => {
    setDraft(next)
    setProblem(undefined)
    const wanted = next && takesValue(next.operator) && next.value.trim() === '' ? undefined : next
    try {
      if (wanted) writeClause(name, type, wanted)
    } catch (error) {
      setProblem((error as Error).message)
      announce(`${name}: ${(error as Error).message}`)
      return
    }
    if (JSON.stringify(wanted) !== known) onFilter(wanted)
  }
  const shown = plainText(name)
  return (
    <span class={filter ? 'filter-cell on' : 'filter-cell'}>
      <select
        aria-label={`How to filter ${shown}`}
        title={operator && operators[operator]}
        value={operator ?? ''}
        onChange={(event) => {
          const chosen = event.currentTarget.value as Operator | ''
          apply(
            chosen === ''
              ? undefined
              : { operator: chosen, value: takesValue(chosen) ? (draft?.value ?? '') : '' },
          )
        }}
      >
        {!takesValue(offered[0]!) && <option value="">all</option>}
        {offered.map((each) => (
          <option key={each} value={each}>
            {operatorSigns[each]}
          </option>
        ))}
      </select>
      {operator !== undefined && takesValue(operator) ? (
        <input
          aria-label={`Filter ${shown}`}
          aria-invalid={problem !== undefined}
          title={problem ?? `${shown} ${operators[operator]}`}
          placeholder={hints[operator] ?? ''}
          spellcheck={false}
          autocomplete="off"
          value={draft?.value ?? ''}
          onInput={(event) => setDraft({ operator, value: event.currentTarget.value })}
          onChange={() => apply(draft)}
          onKeyDown={(event) => event.key === 'Enter' && !event.isComposing && apply(draft)}
        />
      ) : (
        filter && (
          <button
            type="button"
            class="plain"
            aria-label={`Do not filter ${shown}`}
            onClick={() => apply(undefined)}
          >
            ×
          </button>
        )
      )}
      {problem !== undefined && (
        <span class="filter-problem" role="alert">
          {problem}
        </span>
      )}
    </span>
  )
}
