import type { ComponentChildren } from 'preact'

interface Column {
  readonly name: string
  readonly isNumber?: boolean
  /** Only for those who hear the page, as that of buttons. */
  readonly isUnseen?: boolean
}

/** A table of lines below the heading with the id `label`. On narrow screens, each line takes several. */
export function Lines({
  label,
  columns,
  class: look,
  children,
}: {
  readonly label: string
  readonly columns: readonly Column[]
  readonly class: string
  readonly children: ComponentChildren
}) {
  return (
    <div role="table" class={`lines ${look}`} aria-labelledby={label}>
      <div role="row" class="line head">
        {columns.map(({ name, isNumber, isUnseen }) => (
          <span key={name} role="columnheader" class={isNumber ? 'number' : undefined}>
            {isUnseen ? <span class="unseen">{name}</span> : name}
          </span>
        ))}
      </div>
      {children}
    </div>
  )
}
