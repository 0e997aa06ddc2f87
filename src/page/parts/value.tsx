import type { DataType } from '@uwdata/flechette'
import { cellText, isNumeric } from '../model/values.ts'
import type { GridCell } from './grid.tsx'
import { Text } from './text.tsx'

/** How a value is shown. Null and the empty text are marked, so that no text looks like them. */
export function Value({
  value,
  type,
  most,
}: {
  readonly value: unknown
  readonly type: DataType
  readonly most?: number
}) {
  const text = cellText(value, type, most)
  if (text === undefined) return <span class="null">null</span>
  if (text === '') return <span class="null">empty</span>
  return <Text text={text} />
}

/** The cell of a value; that of a row which is not there yet without one. */
export function valueCell(row: readonly unknown[] | undefined, index: number, type?: DataType): GridCell {
  if (row === undefined || type === undefined) return { class: 'faint', content: '…' }
  const value = row[index]
  return { class: isNumeric(type) ? 'number' : undefined, content: <Value value={value} type={type} /> }
}
